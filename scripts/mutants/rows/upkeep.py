"""Migrations beside ticks at work, and the rules of each migration."""

from table import Drop, Mutation, Swap

BESIDE = "jobrunner/store/upkeep/beside_ticks.py"
TESTS = "tests/store/test_migrate_beside_ticks.py"
AT_WORK = (
    f"{TESTS}::test_migration_that_waits_for_a_table_lets_ticks_claim_meanwhile_and_is_done_when_the_table_is_free"
)
INDEX = f"{TESTS}::test_index_is_made_beside_writers_and_one_that_a_crash_left_half_made_is_made_again"
SLICES = f"{TESTS}::test_rows_are_changed_in_slices_after_the_migration_and_the_next_one_finishes_what_was_begun"
FROZEN = "tests/store/test_frozen_migrations.py"
VERSIONS = "jobrunner/store/schema/migrations/versions"

MUTATIONS = (
    Mutation(
        "migration that gives up when a table is in use",
        f"{BESIDE}:soon",
        Swap("clock.elapsed() > give_up_at", "True"),
        [AT_WORK],
    ),
    Mutation(
        "migration that never gives up",
        f"{BESIDE}:soon",
        Swap("clock.elapsed() > give_up_at", "False"),
        [f"{TESTS}::test_migration_that_never_gets_its_lock_names_who_holds_it_and_changes_nothing"],
    ),
    Mutation(
        "index whose making stops all writers",
        f"{BESIDE}:_concurrently",
        Swap('" INDEX CONCURRENTLY "', '" INDEX "'),
        [INDEX],
    ),
    Mutation(
        "index that a crash left half made stays",
        f"{BESIDE}:_make_on_server",
        Swap(
            "(f'DROP INDEX CONCURRENTLY IF EXISTS {MARK}.{each.name}', _concurrently(each))",
            "(_concurrently(each),)",
        ),
        [INDEX],
    ),
    Mutation(
        "slices that are forgotten after an error",
        f"{BESIDE}:note_begin",
        Swap("version in revisions.slices(connection.database)", "False"),
        [SLICES],
    ),
    Mutation(
        "only the first slice is changed",
        f"{BESIDE}:finish",
        Swap(
            "while soon(database, partial(_change_unfinished, version, statement)): pass",
            "soon(database, partial(_change_unfinished, version, statement))",
        ),
        [SLICES],
    ),
    Mutation(
        "migrations that do not keep each other out",
        f"{BESIDE}:lock",
        Drop("locks.lock_migrations(connection)"),
        ["tests/store/test_migrations.py::test_six_migrators_at_once_on_an_empty_database"],
    ),
    Mutation(
        "released migration that is changed",
        f"{VERSIONS}/0001_core.py",
        Swap("from alembic import op\n", "from alembic import op  # \n"),
        [f"{FROZEN}::test_each_file_of_a_migration_is_the_one_that_was_released"],
    ),
    Mutation(
        "migration that depends on code that changes",
        f"{VERSIONS}/0002_checkpoints_and_costs.py",
        Swap("from alembic import op\n", "from alembic import op\n\nfrom jobrunner import model\n"),
        [f"{FROZEN}::test_migration_imports_nothing_of_ours"],
    ),
)
