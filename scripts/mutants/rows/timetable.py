"""Replacing, pruning, slots."""

from table import Drop, Mutation, Swap

from rows.names import AT_ONCE, MEANWHILE, STATEMENTS

SLOT_TWICE = f"{AT_ONCE}::test_a_slot_that_is_expanded_again_makes_no_second_run"
RETENTION = "tests/store/test_retention.py"

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
        [f"{RETENTION}::test_a_run_that_is_not_finished_is_never_deleted"],
    ),
    Mutation(
        "no pruning after the runs",
        "jobrunner/worker/pruning.py:prune_on",
        Swap("clock.elapsed() + _SECONDS_AFTER", "0.0"),
        [f"{RETENTION}::test_tick_prunes_after_many_runs_what_a_later_tick_has_left"],
    ),
    Mutation(
        "pruning after the runs beside another tick's",
        "jobrunner/worker/pruning.py:prune_on",
        Swap("_take_turn(context)", "True"),
        [f"{RETENTION}::test_tick_prunes_after_many_runs_what_a_later_tick_has_left"],
    ),
    Mutation(
        "the next turn to prune after ten minutes where much is old",
        "jobrunner/worker/pruning.py:_end_turn",
        Swap('context.counts["pruned"] >= _MOST_PRUNED', "False"),
        [f"{RETENTION}::test_where_much_was_old_a_tick_of_the_next_minute_prunes_again"],
    ),
    Mutation(
        "no unique index on slots",
        "jobrunner/store/schema/migrations/versions/0001_core.sqlite.sql",
        Swap("CREATE UNIQUE INDEX job_runs_slot ", "CREATE INDEX job_runs_slot "),
        [SLOT_TWICE],
    ),
)
