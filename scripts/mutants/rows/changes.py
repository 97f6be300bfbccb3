"""What people and commands change: archives."""

from table import Drop, Mutation, Swap

ARCHIVE = "tests/store/test_archive.py"

MUTATIONS = (
    Mutation(
        "archive deletes a run that was retried and ended again",
        "jobrunner/store/changes/archive.py:_DELETABLE",
        Drop(".where(_ENDED.c.finished_at == job_runs.c.finished_at)"),
        [f"{ARCHIVE}::test_archived_run_that_is_needed_stays_in_the_database"],
    ),
    Mutation(
        "archive takes runs whose attempts are not counted",
        "jobrunner/store/changes/archive.py:read",
        Swap("all((attempt['id'] <= counted_to for attempt in attempts[run['id']]))", "True"),
        [f"{ARCHIVE}::test_run_whose_attempts_are_not_counted_yet_is_in_no_archive"],
    ),
)
