"""Ticks without cron: `jobrunner loop`."""

from table import Drop, Mutation, Swap

TICKER = "jobrunner/ticker/ticker.py:Ticker"
LOOP = "tests/worker/test_loop.py"
READY = "tests/worker/test_loop_ready.py"
PACE = "tests/unit/test_pace.py"

MUTATIONS = (
    Mutation(
        "loop that keeps the second stop to itself",
        f"{TICKER}._pass_on",
        Swap("self._stops_passed_on == self._stops", "self._stops_passed_on >= min(self._stops, 1)"),
        [f"{LOOP}::test_second_signal_ends_the_grace_period_and_the_run_is_returned"],
    ),
    Mutation(
        "loop whose ticks hear Ctrl-C twice",
        f"{TICKER}._start",
        Drop("setpgroup=0"),
        [f"{LOOP}::test_ctrl_c_reaches_each_tick_once_and_leaves_the_grace_period"],
    ),
    Mutation(
        "loop that ends when the database is away at its start",
        f"{TICKER}._check",
        Drop("codes[0] != DatabaseUnavailable.exit_code"),
        [f"{READY}::test_loop_is_ready_when_the_database_has_come"],
    ),
    Mutation(
        "loop that says of each tick that it fails",
        f"{TICKER}._judge",
        Drop("code == self._last_code"),
        [f"{READY}::test_failing_ticks_are_said_once_and_end_nothing"],
    ),
    Mutation(
        "loop that leaves its children to the process table",
        f"{TICKER}._wait",
        Drop("self._reap()"),
        [f"{LOOP}::test_loop_starts_tick_after_tick_each_a_process_that_ends"],
    ),
    Mutation(
        "loop that makes up for each minute in which its host slept",
        "jobrunner/ticker/pace.py:Pace.go_on",
        Swap(
            "now - now % self._every_seconds + self._every_seconds",
            "(self._next_at or now - now % self._every_seconds) + self._every_seconds",
        ),
        [PACE],
    ),
    Mutation(
        "loop that stands still after its clock was set back",
        "jobrunner/ticker/pace.py:Pace.seconds_left",
        Swap("left > self._every_seconds", "False"),
        [PACE],
    ),
    Mutation(
        "handlers that speak to the service manager of the loop",
        "jobrunner/ticker/readiness.py:Readiness.__init__",
        Swap('environ.pop("NOTIFY_SOCKET", "")', 'environ.get("NOTIFY_SOCKET", "")'),
        [f"{READY}::test_variables_of_the_service_manager_are_not_passed_on"],
    ),
    Mutation(
        "loop that removes a file of somebody else",
        "jobrunner/ticker/readiness.py:_remove_old",
        Swap("os.path.getsize(file)", "False"),
        [f"{READY}::test_file_that_somebody_has_written_is_not_taken_for_a_ready_file"],
    ),
)
