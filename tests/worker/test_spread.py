"""The spread: the ticks of many hosts do not begin in the same second."""

from collections import Counter
from datetime import timedelta

import pytest

from harness import App, Commands, Database
from harness.handlers_rows import queue
from harness.idle_ticks import quiet_hour, tick
from jobrunner.cli import spread

TEN = timedelta(seconds=10)


def test_two_hundred_hosts_with_similar_names_begin_in_all_parts_of_the_spread() -> None:
    for form in ("web-%d", "app%03d.example.com", "ip-10-0-0-%d"):
        seconds = Counter(int(spread.delay_seconds(form % number, TEN)) for number in range(200))
        assert set(seconds) == set(range(10)), form
        assert max(seconds.values()) <= 40, (form, seconds)


@pytest.mark.parametrize("is_due", [False, True])
def test_tick_waits_once_for_the_turn_of_its_host(
    is_due: bool, jobrunner: Commands, database: Database, app: App
) -> None:
    """An idle tick takes a short way; one that finds something due has waited there, and goes on with the long way."""
    quiet_hour(database)
    # The clock of the process is stopped: what it waits is what it says, and no test has to.
    app.write(
        "sitecustomize",
        "import sys\nif 'tick' in sys.argv:\n    from jobrunner import clock\n    wait = clock.sleep\n"
        "    def sleep(seconds):\n"
        "        if not 1.9 < seconds < 2.1:\n            return wait(seconds)\n"
        "        print('waits', round(seconds, 3), file=sys.stderr)\n    clock.sleep = sleep\n",
    )
    host = next(f"h{n}" for n in range(10_000) if spread.delay_seconds(f"h{n}", timedelta(seconds=2)) > 1.99)
    if is_due:
        queue(database, "echo")
    env = {"PYTHONPATH": str(app.folder), "JOBRUNNER_HOST": host, "JOBRUNNER_SPREAD": "2s"}
    found = tick(jobrunner, env=env)
    assert found.said.count("waits") == 1, found.said
    assert found.was_short is not is_due
