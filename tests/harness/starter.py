"""The warm starter: a process that has imported all of jobrunner, and forks a command whenever a test wants one.

To start Python and import everything costs ten times what most commands do. So each run of the tests has one starter
(`harness.warm`), and a command is a copy of it: a process of its own, with the session, environment, arguments, working
folder, standard streams, signals and exit status that the installed script would have had. The children in which a
command runs its handlers are copies, too (`harness.siblings`), and so are the workers of xdist (`harness.worker`). What
a copy hides is the start itself, and what is or is not imported; for that, tests run the script (`Commands.cold`).

Started as `python -P starter.py LIFELINE LISTENER PADDING`. It ends when the other side of the lifeline is closed. Each
process with tests connects to the listener. A request is one message of JSON with four descriptors: where
the pid and the exit code are to be written, and the three standard streams.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

sys.path.append(str(Path(__file__).parents[1]))
from harness import fork_setup, forked_memory, siblings

sys.path.pop()

LONGEST_REQUEST_BYTES = 1 << 20
# No command imports these.
_OF_APPLICATIONS = (
    "jobrunner.contrib",
    "jobrunner.testing",
    "jobrunner.web.django",
    "jobrunner.web.flask",
)
# It imports OpenTelemetry, by which a process traces what it does.
_OF_AGENTS = ("jobrunner.cli.agents.server",)
# Each does what it is for as soon as it is imported.
_PROGRAMS = ("jobrunner.__main__", "jobrunner.children.inside.exec_command")
# Commands that run handlers or ask for them. The others need no helper of `harness.siblings`.
_WITH_CHILDREN = {"apply", "dev", "doctor", "enqueue", "run", "schedule", "status", "tick", "types"}


def main() -> None:
    lifeline, listener = (socket.socket(fileno=int(word)) for word in sys.argv[1:3])
    fork_setup.die_with_parent()
    _import_all()
    _compile_statements()
    gc.collect()
    gc.freeze()
    forked_memory.prepare()
    words = _serve(lifeline, listener)
    # From here on this process is a command, or `python -c`.
    try:
        if words[0] == sys.executable:
            _forget_harness()
            exec(compile(words[2], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as request:
        if request.code is not None and not isinstance(request.code, int):
            raise
        _leave(request.code or 0)
    _leave(0)


def _forget_harness() -> None:
    """A worker of the tests imports it anew, with its assertions rewritten."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "harness"]:
        del sys.modules[name]


def _leave(code: int) -> NoReturn:
    """End as Python does, but for the taking apart of all modules: that would copy all the memory of the starter."""
    threading._shutdown()  # type: ignore[attr-defined] # CPython's own, in no stub
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            sys.exit(code)  # Python complains in its own way
    os._exit(code)


def _import_all() -> None:
    """Whatever a command may import while it works."""
    import jobrunner

    left_out = {*_PROGRAMS, *_OF_APPLICATIONS, *_OF_AGENTS}
    for room in pkgutil.iter_modules(jobrunner.__path__, "jobrunner."):
        if room.name in left_out:
            continue
        found = importlib.import_module(room.name)
        for module in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{room.name}."):
            if module.name not in left_out:
                importlib.import_module(module.name)
    for name in ("alembic.command", "sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql.psycopg"):
        importlib.import_module(name)


def _compile_statements() -> None:
    """Those that stand in the modules. SQLAlchemy also keeps much of what it finds out on the way."""
    from sqlalchemy import Executable

    from jobrunner.store.sql.statement import compiled

    for name, module in list(sys.modules.items()):
        for value in vars(module).values() if name.startswith("jobrunner.store") else ():
            if isinstance(value, Executable) and not isinstance(value, type):
                for database in ("sqlite", "postgresql"):
                    compiled(value, database, None)


def _serve(lifeline: socket.socket, listener: socket.socket) -> list[str]:
    """Fork for each request until the lifeline's other side is closed; in a fork return its arguments."""
    at_work: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(lifeline, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                asked = key.fileobj
                if asked is listener:
                    selector.register(listener.accept()[0], selectors.EVENT_READ)
                    continue
                if asked is lifeline:
                    os._exit(0)
                if not isinstance(asked, socket.socket):
                    selector.unregister(key.fileobj)
                    _report_end(key.fd, *at_work.pop(key.fd))
                    continue
                message, descriptors, _, _ = socket.recv_fds(asked, LONGEST_REQUEST_BYTES, 4)
                if not message:
                    selector.unregister(asked)
                    asked.close()
                    continue
                pid = os.fork()
                if pid == 0:
                    return _become(json.loads(message), descriptors[1:])
                report, *streams = descriptors
                for stream in streams:
                    os.close(stream)
                _tell(report, pid)
                handle = os.pidfd_open(pid)
                at_work[handle] = (pid, report)
                selector.register(handle, selectors.EVENT_READ)


def _report_end(handle: int, pid: int, report: int) -> None:
    _, status = os.waitpid(pid, 0)
    _tell(report, os.waitstatus_to_exitcode(status))
    os.close(report)
    os.close(handle)


def _tell(report: int, number: int) -> None:
    # Whoever asked may be dead: the others go on.
    with contextlib.suppress(BrokenPipeError):
        os.write(report, f"{number}\n".encode())


def _become(request: dict[str, Any], streams: list[int]) -> list[str]:
    """Take on all that the kernel, and Python, know of a process that was started as a script."""
    words: list[str] = request["words"]
    is_python = words[0] == sys.executable
    shown = words if is_python else [sys.executable, *words]
    # A child of a command that is missing there starts as the script would start it, and is only slower.
    ours = siblings.start() if _WITH_CHILDREN.intersection(words) else None
    fork_setup.take(shown, request["environment"], dict(enumerate(streams)), keep=-1 if ours is None else ours.fileno())
    if ours is not None:
        siblings.use(ours)
    os.chdir(request["folder"])
    if is_python:
        # A worker of the tests would go on for nobody.
        fork_setup.die_with_parent()
        sys.argv = ["-c", *words[3:]]
        sys.path.insert(0, "")
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(words[0]).parent))
    time.tzset()
    return words


if __name__ == "__main__":
    main()
