"""A handler module that cannot be imported: each place where people look names file and line, and has the traceback."""

import json
import os
import re
import signal
from collections.abc import Mapping
from html import unescape

import pytest

from harness import App, Commands, Database, pages, sqlite_only
from harness.handlers_rows import queue
from harness.waiting import whole
from harness.web import Asked

JOB = "from jobrunner import job\n"
HANDLERS = f"{JOB}import shop.mail\n@job\ndef hello(ctx): ...\n"
MAIL = "import shop.conf\n"
SECRET = "AAAA-secret-1"
# What stands in shop/conf.py, which handlers.py imports by shop/mail.py; what each line says of it; what the traceback
# has, or what else is told.
CONF: dict[str, tuple[str, str, str]] = {
    "raises": (
        "import os\n\ndef key():\n    return os.environ['NO_SUCH_KEY']\n\nKEY = key()\n",
        "KeyError: 'NO_SUCH_KEY' (shop/conf.py, line 4)",
        "KeyError: 'NO_SUCH_KEY'",
    ),
    "raises much": ("raise ValueError('x' * 5000)\n", "… (shop/conf.py, line 1)", "ValueError: xxx"),
    "raises from another": (
        "try:\n    1 / 0\nexcept ArithmeticError as error:\n    raise ValueError('no') from error\n",
        "ValueError: no (shop/conf.py, line 4)",
        "direct cause",
    ),
    "exits": ("import sys\nsys.exit(3)\n", "SystemExit: 3 (shop/conf.py, line 2)", "SystemExit: 3"),
    "exits at once": (
        "import os, sys\nprint('no \\x1b[2Jlicence', file=sys.stderr)\nos._exit(3)\n",
        "the child exited with status 3; its last words: no \\x1b[2Jlicence",
        "its last output:\nno \\x1b[2Jlicence",
    ),
    "is killed": (
        "import os, sys\nprint('one')\nprint('two')\nos.kill(os.getpid(), 9)\n",
        "was killed by SIGKILL (out of memory?); its last words: two",
        "its last output:\none\ntwo",
    ),
    "segfaults": (
        "import ctypes\n\nctypes.string_at(0)\n",
        "the child was killed by SIGSEGV (shop/conf.py, line 3)",
        'shop/conf.py", line 3 in <module>',
    ),
    "loops": (
        "def wait():\n    while True: pass\n\nwait()\n",
        "it did not finish within {limit}s (shop/conf.py, line 2)",
        'shop/conf.py", line 4 in <module>',
    ),
    "syntax": ("x = 1\ndef broken(:\n", "SyntaxError: invalid syntax (shop/conf.py, line 2)", "def broken(:"),
    "encoding": ("# coding: klingon\n", "SyntaxError: unknown encoding: klingon (shop/conf.py)", "unknown encoding"),
    "missing module": (
        "import os\nimport no_such_module\n",
        "ModuleNotFoundError: No module named 'no_such_module' (shop/conf.py, line 2)",
        "import no_such_module",
    ),
    "circle": ("from handlers import hello\n", "(shop/conf.py, line 1)", "from handlers import hello"),
    "option": (
        f"{JOB}\n@job('charge', backoff='2s')\ndef charge(ctx): ...\n",
        "the handler shop.conf.charge (shop/conf.py, line 3): backoff must be made by",
        "@job('charge', backoff='2s')",
    ),
    "annotation": (
        f"from __future__ import annotations\n{JOB}\n@job\ndef charge(ctx, at: Nobody): ...\n",
        "NameError: name 'Nobody' is not defined",
        "",
    ),
    "secret": (
        f"raise ValueError('postgresql://u:{SECRET}@h/db is wrong')\n",
        "(shop/conf.py, line 1)",
        "shop/conf.py",
    ),
}


def plant(app: App, conf: str) -> None:
    (app.folder / "shop").mkdir(exist_ok=True)
    (app.folder / "shop" / "__init__.py").write_text("")
    (app.folder / "shop" / "mail.py").write_text(MAIL)
    (app.folder / "shop" / "conf.py").write_text(conf)
    app.write("handlers", HANDLERS)


def lines_of(jobrunner: Commands, run_id: int, env: Mapping[str, str]) -> dict[str, str]:
    """What is said in one line, by each place."""
    status = jobrunner("status", "--json", env=env).json()
    return {
        "tick": jobrunner.tick(env=env, check=False).stderr,
        "types": jobrunner("types", env=env, check=False).stderr,
        "enqueue": jobrunner("enqueue", "hello", env=env, check=False).stderr,
        "status": status["handlers_problem"],
        "explain": jobrunner("explain", run_id, env=env).stdout,
        "health": jobrunner("health", "--json", env=env, check=False).json()["findings"][0]["sentence"],
    }


@pytest.mark.long(sample=3)
@sqlite_only
@pytest.mark.parametrize("what", CONF)
def test_failed_import_is_told_by_its_tick_with_its_line_and_its_traceback(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    source, says, detail = CONF[what]
    # With the usual limit, a module that does not come to an end would be waited for as long as it takes.
    limit = whole(1)
    says = says.replace("{limit}", str(limit))
    env = {"JOBRUNNER_START_LIMIT": f"{limit}s"} if what == "loops" else {}
    plant(app, source)
    queue(database, "hello")
    log = app.path("log")
    error = jobrunner.refused(78, "tick", env={**env, "JOBRUNNER_LOG": str(log)})
    assert f"importing the handler module 'handlers' failed: {says}" in error or says in error
    records = [json.loads(line) for line in log.read_text().splitlines()]
    told = [record.get("traceback") for record in records if record["event"] == "child"]
    page = unescape(Asked(database).text("/"))
    assert page.count("importing the handler module 'handlers' failed") >= 1
    for line in detail.splitlines():
        assert line.replace("\\x1b", "\x1b") in (told[0] or "")
        assert line in page
    assert "\x1b" not in page
    assert SECRET not in page + log.read_text() + error + str(database.query("SELECT * FROM job_hosts"))
    assert len(told) == 2
    if what not in ("segfaults", "loops"):
        assert told[1] is None, "the same is told once"
        assert "jobrunner/children" not in (told[0] or "")


@pytest.mark.long(sample=1)
@sqlite_only
@pytest.mark.parametrize("what", CONF)
def test_failed_import_is_shown_with_its_line_wherever_people_look(
    what: str, jobrunner: Commands, app: App, database: Database
) -> None:
    source, says, detail = CONF[what]
    # With the usual limit, a module that does not come to an end would be waited for as long as it takes.
    limit = whole(1)
    says = says.replace("{limit}", str(limit))
    env = {"JOBRUNNER_START_LIMIT": f"{limit}s"} if what == "loops" else {}
    plant(app, source)
    run_id = queue(database, "hello")
    verbose = jobrunner.tick("-v", env=env, check=False).stderr
    for place, said in lines_of(jobrunner, run_id, env).items():
        assert said.count("\n") <= 1 or place == "explain", place
        assert says.replace("\\x1b", "\x1b" if place in ("status", "health") else "\\x1b") in said, (place, said)
        assert "importing the handler module 'handlers' failed" in said, place
    shown = jobrunner("doctor", "--no-crontab", env=env, check=False).stdout
    for place, text in {"-v": verbose, "doctor": shown}.items():
        assert "\x1b" not in text, place
        for line in [says, *detail.splitlines()]:
            assert line in text, (place, text)


@sqlite_only
def test_failed_import_is_shown_by_dev_as_on_the_page(jobrunner: Commands, app: App, database: Database) -> None:
    plant(app, CONF["raises"][0])
    process = jobrunner.start("dev", "handlers", cwd=app.folder)
    assert process.stdout
    line = process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    (block,) = pages.checked_by(
        "tests/application/test_imports_failing.py::test_failed_import_is_shown_by_dev_as_on_the_page"
    )
    assert block.text.strip() in line


@sqlite_only
def test_child_that_was_killed_without_a_word_is_reported_without_words(jobrunner: Commands, app: App) -> None:
    app.write("handlers", "import os\nos._exit(7)\n")
    done = jobrunner("types", check=False)
    assert done.stderr == "jobrunner: importing the handler module 'handlers' failed: the child exited with status 7\n"


@sqlite_only
def test_module_that_the_environment_lacks_is_told_with_the_environment(jobrunner: Commands, app: App) -> None:
    app.write("handlers", "import no_such.module\n")
    error = jobrunner.refused(78, "types")
    says = r"No module named 'no_such' \(handlers.py, line 1\); /\S+ has no no_such, and handlers need the environment"
    assert re.search(says, error), error


@pytest.mark.parametrize("module", ["no_such", "handlers.part", "shop.no_such"])
@sqlite_only
def test_missing_module_of_the_application_itself_is_not_called_one_of_its_environment(
    module: str, jobrunner: Commands, app: App
) -> None:
    (app.folder / "shop").mkdir()
    app.write("handlers", "import shop.no_such\n")
    error = jobrunner.refused(78, "types", env={"JOBRUNNER_IMPORT": module if module != "shop.no_such" else "handlers"})
    assert "No module named" in error
    assert "environment" not in error


@sqlite_only
def test_last_words_of_a_child_are_bounded(jobrunner: Commands, app: App, database: Database) -> None:
    app.write("handlers", "import os\nprint('x' * 100_000)\nprint('y' * 100_000, flush=True)\nos._exit(1)\n")
    queue(database, "hello")
    jobrunner.tick(check=False)
    checks = jobrunner("doctor", "--json", "--no-crontab", check=False).json()["checks"]
    (check,) = [each for each in checks if each["name"] == "handlers"]
    assert len(check["found"]) < 700
    assert "yyy" in check["found"]
    assert len(check["detail"]) < 5_000
    assert database.value("SELECT max(length(settings)) FROM job_hosts") < 12_000


@sqlite_only
def test_mended_import_leaves_no_traceback_behind(jobrunner: Commands, app: App, database: Database) -> None:
    plant(app, CONF["raises"][0])
    queue(database, "hello")
    jobrunner.tick(check=False)
    assert "NO_SUCH_KEY" in str(database.value("SELECT settings FROM job_hosts"))
    plant(app, "")
    jobrunner.tick()
    assert "NO_SUCH_KEY" not in str(database.value("SELECT settings FROM job_hosts"))
    assert database.value("SELECT status FROM job_runs") == "succeeded"
