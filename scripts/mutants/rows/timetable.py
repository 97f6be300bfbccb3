"""Replacing, pruning, slots."""

from table import Drop, Mutation, Swap

from rows.names import AT_ONCE, MEANWHILE, STATEMENTS

SLOT_TWICE = f"{AT_ONCE}::test_a_slot_that_is_expanded_again_makes_no_second_run"

MUTATIONS = (
    Mutation(
        "replace_older without its lock",
        f"{STATEMENTS}/timetable/overlap.py:older",
        Drop(".with_for_update"),
        [f"{AT_ONCE}::test_run_being_replaced_is_not_claimed"],
    ),
    Mutation(
        "prune without its lock",
        f"{STATEMENTS}/ticks/retention.py:old_runs",
        Drop(".with_for_update"),
        [MEANWHILE, f"{AT_ONCE}::test_run_is_not_pruned_after_its_retry_was_confirmed"],
    ),
    Mutation(
        "prune of runs that are not finished",
        f"{STATEMENTS}/ticks/retention.py:old_runs",
        (
            Swap(
                'columns.status == bindparam("its_status", type_=columns.status.type)', 'bindparam("its_status") != ""'
            ),
            Drop("columns.finished_at.is_not(None)"),
            Swap("columns.finished_at < _before()", "columns.created_at < _before()"),
        ),
        ["tests/store/test_retention.py::test_a_run_that_is_not_finished_is_never_deleted"],
    ),
    Mutation(
        "no unique index on slots",
        "jobrunner/store/schema/migrations/versions/0001_core.sqlite.sql",
        Swap("CREATE UNIQUE INDEX job_runs_slot ", "CREATE INDEX job_runs_slot "),
        [SLOT_TWICE],
    ),
)
