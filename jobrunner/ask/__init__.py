"""What the commands print, for an application: it asks on its own connection, in its own transaction.

A question writes nothing. Each function answers with the record that a command prints with ``--json``, and has a twin
for connections that are used with await: ``health`` and ``health_async``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobrunner.admin.finding import Finding
    from jobrunner.admin.findings import Health
    from jobrunner.admin.status import Status
    from jobrunner.ask.awaited import (
        counts_async,
        explain_async,
        health_async,
        run_async,
        runs_async,
        status_async,
    )
    from jobrunner.ask.plain import counts, explain, health, run, runs, status
    from jobrunner.ask.works import to_dict
    from jobrunner.store.questions.explain.explanation import Explanation
    from jobrunner.store.questions.runs.run_list import Page, SelectedRun
    from jobrunner.store.questions.runs.shown_run import ShownRun

__all__ = [
    "Explanation",
    "Finding",
    "Health",
    "Page",
    "SelectedRun",
    "ShownRun",
    "Status",
    "counts",
    "counts_async",
    "explain",
    "explain_async",
    "health",
    "health_async",
    "run",
    "run_async",
    "runs",
    "runs_async",
    "status",
    "status_async",
    "to_dict",
]

_MODULES = {
    "Finding": "admin.finding",
    "Health": "admin.findings",
    "Status": "admin.status",
    **dict.fromkeys(
        ("counts_async", "explain_async", "health_async", "run_async", "runs_async", "status_async"), "ask.awaited"
    ),
    **dict.fromkeys(("counts", "explain", "health", "run", "runs", "status"), "ask.plain"),
    "to_dict": "ask.works",
    "Explanation": "store.questions.explain.explanation",
    **dict.fromkeys(("Page", "SelectedRun"), "store.questions.runs.run_list"),
    "ShownRun": "store.questions.runs.shown_run",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Imported on demand: an application that imports this module may ask only now and then.
    if name not in _MODULES:
        raise AttributeError(f"module 'jobrunner.ask' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = value = getattr(import_module(f"jobrunner.{_MODULES[name]}"), name)
    return value
