"""Numbers in a payload, which the two databases store differently."""

from harness import App, Commands, Database


def test_a_number_arrives_as_the_same_number_from_both_databases(
    jobrunner: Commands, app: App, database: Database
) -> None:
    """1e22 was an int from PostgreSQL, and a float from an SQLite file."""
    app.add("""
        @job("kinds")
        def kinds(ctx: Context, numbers: list):
            return [type(each).__name__ for each in numbers]
    """)
    numbers = [1e22, -1e16, 1e15, 1.0, 0.1, 10**22, 1e-9]
    run_id = jobrunner.enqueue("kinds", {"numbers": numbers})
    jobrunner.tick()
    assert jobrunner.show(run_id)["result"] == ["int", "int", "float", "float", "float", "int", "float"]
    assert jobrunner.show(run_id)["payload"] == {"numbers": numbers}
