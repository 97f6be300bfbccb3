"""A command forked from the warm starter behaves like the installed script, except for its start."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import execnet
import pytest

from harness import App, Commands, SQLiteDatabase, sqlite_only, starter, wait_for
from harness.calls import CALLS
from harness.long import draw
from harness.pages import without_peaks
from harness.warm import WarmProcess, connect, pytest_xdist_setupnodes

# A call of every command, and others; the ids, instants and places that differ are taken out.
TABLE = [
    "--version",
    "no-such-command",
    "enqueue echo --payload {}",
    "enqueue fail --key f --max-attempts 1",
    *((call.warm or call.words).format(run=1, schedule="nightly") for call in CALLS.values()),
    "logs 2",
    "retry 2",
]
CHANGING = re.compile(
    r"""(\d{4}-\d\d-\d\d[T ])?\d\d:\d\d[\d:.]*(Z|\+00:00)?  # instants
    | seconds=[\d.]+ | (\d+(\.\d+)?[ ]?([dhm]|m?s))+\b | "\w+_at":[ ][^,}]+
    | [\w-]+:\d+:[0-9a-f]{8}  # workers
    | "?(peak_memory_bytes|processor_seconds)"?:?[ ]+[\w.-]+
    """,
    re.VERBOSE,
)


def told(done: "subprocess.CompletedProcess[str]", *places: Path) -> tuple[str, int, str, str]:
    """The output of a command, without the parts that differ at each call."""

    def lasting(text: str) -> str:
        for place in places:
            text = text.replace(str(place), "PLACE")
        # Sorted: whose run ends first is chance.
        return "\n".join(sorted(CHANGING.sub("…", without_peaks(text)).splitlines()))

    return (" ".join(done.args[1:]), done.returncode, lasting(done.stdout), lasting(done.stderr))


@sqlite_only
@pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.long, id="all"), pytest.param(0.15, id="drawn")])
def test_warm_command_and_script_print_the_same(
    jobrunner: Commands, database: SQLiteDatabase, tmp_path: Path, share: float
) -> None:
    """The script starts those that are drawn; the others are warm in both rows, and make what these work on."""
    drawn = set(draw("warm").sample(TABLE, round(share * len(TABLE))))
    answers = []
    for cold in (True, False):
        copy, state = tmp_path / f"{cold}.db", tmp_path / f"{cold}.state"
        shutil.copy(database.path, copy)
        # With a state folder each: it knows of the last ticks, also on other databases.
        env = {"JOBRUNNER_DATABASE_URL": f"sqlite:///{copy}", "JOBRUNNER_STATE_DIR": str(state)}
        calls = [
            jobrunner(*line.split(), env=env, stdin="{}", check=False, cold=cold and line in drawn) for line in TABLE
        ]
        answers.append([told(done, copy, state, tmp_path) for done in calls])
    for script, warm in zip(*answers, strict=True):
        assert warm == script


def test_starter_goes_on_after_a_worker_has_hung_up(jobrunner: Commands) -> None:
    """A worker that a test killed would take the commands of all others with it."""
    hung_up = connect()
    report, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = {"words": [jobrunner.command, "--version"], "environment": jobrunner.environment(), "folder": "/"}
    with theirs, open(os.devnull, "r+b") as null:
        report.close()
        socket.send_fds(hung_up, [json.dumps(request).encode()], [theirs.fileno(), *[null.fileno()] * 3])
    hung_up.close()
    # Asked after it, and answered by the same one.
    assert jobrunner("--version").stdout.startswith("jobrunner")


def facts(process: "subprocess.Popen[str]") -> dict[str, object]:
    """What the kernel knows of a process."""
    place = Path(f"/proc/{process.pid}")
    status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
    # Which signals are blocked, ignored and caught; who it is; what it may.
    wanted = ["Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "SigCgt", "CapEff", "NoNewPrivs", "Threads"]
    return {
        **{name: status[name] for name in wanted},
        "arguments": (place / "cmdline").read_bytes().rstrip(b"\0"),
        "environment": set((place / "environ").read_bytes().rstrip(b"\0").split(b"\0")),
        "folder": os.readlink(place / "cwd"),
        "program": os.readlink(place / "exe"),
        "limits": (place / "limits").read_text(),
        "oom": (place / "oom_score_adj").read_text(),
        "nice": os.getpriority(os.PRIO_PROCESS, process.pid),
        "streams": [os.readlink(place / f"fd/{number}").partition(":")[0] for number in range(3)],
        # A fork has one more, through which it asks for its children.
        "descriptors": len(list((place / "fd").iterdir())) - isinstance(process, WarmProcess),
        "is_session_leader": os.getsid(process.pid) == process.pid == os.getpgid(process.pid),
    }


def test_warm_tick_has_the_same_process_attributes_as_the_script(jobrunner: Commands, app: App) -> None:
    found = []
    for cold in (True, False):
        run_id = jobrunner.enqueue("wait_for", {"path": str(app.path(f"go {cold}"))})
        tick = jobrunner.start("tick", cold=cold)
        assert isinstance(tick, WarmProcess) is not cold
        wait_for(lambda: any(line.run_id == run_id for line in app.trace()))  # noqa: B023 - called at once
        found.append(facts(tick))
        app.release(f"go {cold}")
        assert tick.communicate(timeout=30) == ("", "")
        assert tick.returncode == 0
    script, warm = found
    assert warm == script


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_signal_ends_a_warm_command_as_it_ends_the_script(
    jobrunner: Commands, app: App, number: signal.Signals
) -> None:
    app.add('@job("held", kill_after="100ms")\ndef held(ctx: Context):\n    wait_for(ctx, "/no such file")\n')
    ends = []
    for cold in (True, False):
        run_id = jobrunner.enqueue("held")
        tick = jobrunner.start("tick", "--grace", "0s", cold=cold)
        wait_for(lambda: any(line.run_id == run_id for line in app.trace()))  # noqa: B023 - called at once
        tick.send_signal(number)
        tick.communicate(timeout=30)
        ends.append((tick.returncode, tick.poll()))
        assert not Path(f"/proc/{tick.pid}/cwd").exists()
        jobrunner.database.execute("DELETE FROM job_runs WHERE status = 'queued'")
    assert ends[0] == ends[1]


def test_worker_of_xdist_is_a_fork_that_has_imported_the_libraries_and_ends_with_its_gateway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Python of its own for each worker was a third of what the tests of one file cost."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        monkeypatch.delenv(name)
    spec = execnet.XSpec("popen")
    pytest_xdist_setupnodes([spec])
    group = execnet.Group()
    worker = group.makegateway(spec)
    asked = worker.remote_exec(
        "import os, sys\n"
        "channel.send((os.getpid(), os.getppid(), 'sqlalchemy' in sys.modules, 'harness' in sys.modules))"
    )
    pid, parent, knows_libraries, knows_harness = asked.receive(20)
    assert Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")[2] == starter.__file__.encode()
    assert knows_libraries
    assert not knows_harness, "it must be imported with its assertions rewritten"
    group.terminate(10)
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), 10, "the worker has ended")
