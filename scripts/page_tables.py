"""Write what pages have from the code: the tables of settings, options and findings, and the version. `make docs`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import test_servers  # type: ignore[import-not-found]

from jobrunner import __version__
from jobrunner.admin.findings import FINDINGS
from jobrunner.application.handler_options import OF_JOB
from jobrunner.jobs.job_options import OF_POLICY
from jobrunner.jobs.options import Row
from jobrunner.jobs.run_options import OF_RUN
from jobrunner.model import Limits
from jobrunner.settings.config import SETTINGS
from jobrunner.settings.setting import Setting
from jobrunner.store.drivers import sqlite
from jobrunner.store.questions.explain.reasons import REASONS
from jobrunner.verify.promises import PROMISES

DOCS = Path(__file__).parents[1] / "docs"
_SHARED = ("SQLAlchemy", "psycopg", "alembic", "click", "Django", "Flask", "FastAPI")
"""What an application may have in the same environment, in the spelling of the page."""
_HEALTH, _KEEP = "health_", "keep_"
Tables: TypeAlias = dict[str, tuple[list[str], list[list[str]]]]
"""By the title of a section: the heads of the columns of a table in it, and the rows."""


def pages() -> dict[Path, str]:
    """The texts of the pages, with their tables as they are in the code."""
    tables = {
        "reference/settings.md": _settings(),
        "reference/handlers.md": {"What `@job` takes": _options(OF_JOB)},
        "reference/jobfile.md": {"Keys of the job type": _options(OF_POLICY)},
        "reference/limits.md": {
            "Concurrency limits and rate limits": _options({name: OF_POLICY[name] for name in Limits().as_data()})
        },
        "reference/enqueue.md": {
            "The arguments and the options": _options(OF_RUN),
            "From SQL and other languages": _of_sql(),
        },
        "howto/installation.md": {"Supported versions": _versions()},
        "howto/monitoring.md": _findings(),
        "howto/troubleshooting.md": _reasons(),
        "howto/verify.md": _promises(),
    }
    of_paths = {DOCS / name: of_page for name, of_page in tables.items()}
    of_paths |= {DOCS.parent / "README.md": {}, DOCS / "howto" / "releasing.md": {}}
    return {path: _page(_of_this_version(path.read_text("utf-8")), of_page) for path, of_page in of_paths.items()}


def _of_this_version(text: str) -> str:
    """With the version that `jobrunner --version` prints, and that files, commit and tag of a release have."""
    return re.sub(
        r"(?m)(^jobrunner |cron_jobrunner-|\bv|\"Release |\"jobrunner )\d+\.\d+\.\d+\w*", rf"\g<1>{__version__}", text
    )


def _page(text: str, tables: Tables) -> str:
    for title, (head, rows) in tables.items():
        lines = [_line(head), f"|{'---|' * len(head)}", *map(_line, rows)]
        section = rf"\n## {re.escape(title)}\n(?s:(?!\n## ).)*?\n"
        pattern = rf"({section}){re.escape(_line(head[:1]))}.*\n(?:\|.*\n)+(?=\n)"
        text, count = re.subn(pattern, lambda found, lines=lines: found[1] + "\n".join(lines) + "\n", text, count=1)
        assert count == 1, f"no page has such a table in the section {title!r}"
    return text


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _options(rows: Mapping[str, Row]) -> tuple[list[str], list[list[str]]]:
    listed = [[f"`{name}`", row.shown_default, f"{row.words}."] for name, row in rows.items()]
    return ["option", "default", ""], listed


def _of_sql() -> tuple[list[str], list[list[str]]]:
    head, options = _options(OF_RUN)
    return head, [
        ["`job_type`", "", "The job type."],
        ["`payload`", "`{}`", "A JSON object (`jsonb`)."],
        *options,
        ["`traceparent`", "none", "The [trace](../howto/tracing.md) of the caller."],
    ]


def _versions() -> tuple[list[str], list[list[str]]]:
    text = (DOCS.parent / "pyproject.toml").read_text("utf-8")
    project = tomllib.loads(text)["project"]
    tried = [each for line in project["classifiers"] for each in re.findall(r"^Programming .* :: (3\.\d+)$", line)]
    servers = list(test_servers.PACKAGES)
    rows = [
        ["Python", project["requires-python"].removeprefix(">="), ", ".join(tried)],
        ["PostgreSQL", servers[0].partition(".")[0], f"{', '.join(servers)} ({test_servers.PASSED_ON})"],
        ["SQLite", ".".join(map(str, sqlite.OLDEST)), "that of each of these Pythons"],
    ]
    for name in _SHARED:
        bound = re.search(rf'"{name}(?:\[\w+\])?>=([\d.]+)"', text, re.IGNORECASE)
        assert bound, f"pyproject.toml has no lower bound of {name}"
        rows.append([name, bound[1], "the lowest and the newest"])
    return ["", "from", "tried with"], rows


def _findings() -> Tables:
    rows = [[f"`{each.name}`", each.scope, each.words, each.severity] for each in FINDINGS.values()]
    return {"The health check": (["finding", "about", "it means", "severity"], rows)}


def _promises() -> Tables:
    rows = [[f"`{each.name}`", each.number or "–", each.about, each.words] for each in PROMISES.values()]
    return {"What is judged": (["promise", "number", "about", "what must hold"], rows)}


def _reasons() -> Tables:
    return {
        f"Reasons of {kind}s": (
            ["reason", f"the {kind} …"],
            [[f"`{name}`", words] for name, words in REASONS[kind].items()],
        )
        for kind in ("run", "schedule")
    }


def _settings() -> Tables:
    of_health = [each for each in SETTINGS.values() if each.name.startswith(_HEALTH)]
    retention = [each for each in SETTINGS.values() if each.name.startswith(_KEEP)]
    tuning = [each for each in SETTINGS.values() if not (each.on_host or each in of_health or each in retention)]
    key = ["key in `[settings]`", "variable", "default", ""]
    return {
        "Settings that most hosts need": (
            ["variable", "default", ""],
            [_row(each)[1:] for each in SETTINGS.values() if each.on_host],
        ),
        "Fine tuning": (key, [_row(each) for each in tuning]),
        "Retention": (key, [_row(each) for each in retention]),
        "Thresholds of the health check": (
            ["key in `[health]`", "variable", "default", "a problem is reported if"],
            [_row(each) for each in of_health],
        ),
    }


def _row(setting: Setting) -> list[str]:
    return [
        f"`{setting.name.removeprefix(_HEALTH)}`",
        f"`JOBRUNNER_{setting.name.upper()}`",
        setting.shown or setting.default,
        setting.words,
    ]


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, "utf-8")
