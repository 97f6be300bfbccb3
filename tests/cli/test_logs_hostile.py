"""Hostile texts and concurrent ticks leave one event on each line of the log."""

from harness import Commands
from harness.log_file import LogFile

HOSTILE = [
    'a\nb\r\nc{"event": "succeeded", "run_id": 999}',
    "\x1b[2J\x1b]0;owned\x07\x08\x7f\x85",
    "\u2028\u2029\u202e\ufeff",
    "x" * 100_000 + "\n" * 1000,
    '"}\n{"event": "tick", "result": "forged"}\n',
]


def test_hostile_texts_never_add_a_second_log_line(jobrunner: Commands, log: LogFile) -> None:
    for message in HOSTILE:
        jobrunner.enqueue("fail", {"message": message}, max_attempts=1)
    jobrunner.tick("--log", log.path)
    assert len(log.lines("claimed")) == len(log.lines("dead")) == len(HOSTILE)
    assert len(log.lines()) == 2 * len(HOSTILE) + 1
    assert max(len(line) for line in log.path.read_text().splitlines()) < 5000
    raw = log.path.read_bytes()
    assert not [byte for byte in raw if (byte < 32 and byte != 10) or byte > 126]


def test_hostile_texts_never_add_a_second_line_on_standard_error(jobrunner: Commands) -> None:
    for message in HOSTILE:
        jobrunner.enqueue("fail", {"message": message}, max_attempts=1)
    lines = jobrunner.tick("-v").stderr.split("\n")[:-1]
    assert len(lines) == 2 * len(HOSTILE) + 1
    assert not [character for line in lines for character in line if not character.isprintable()]


def test_concurrent_ticks_write_whole_log_lines(jobrunner: Commands, log: LogFile) -> None:
    ids = {jobrunner.enqueue("fail", {"message": "y" * 450}, max_attempts=1) for _ in range(10)}
    env = {"JOBRUNNER_LOG": str(log.path), "JOBRUNNER_CONCURRENCY": "2"}
    ticks = [jobrunner.start("tick", env={**env, "JOBRUNNER_HOST": f"host{number}"}) for number in range(4)]
    assert [tick.wait(60) for tick in ticks] == [0] * 4
    for event in ("claimed", "dead"):
        lines = log.lines(event)
        assert {line["run_id"] for line in lines} == ids
        assert len(lines) == len(ids)
    assert len(log.lines("tick")) == 4
