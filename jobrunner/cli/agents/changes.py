"""Changes come in two calls: a dry run, and a second one that changes what the first has shown."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobrunner import clock
from jobrunner.admin.bulk import Changed
from jobrunner.cli.agents.calls import Calls, Refused
from jobrunner.cli.agents.tools import MOST, Tool

_KEPT_SECONDS = 900.0
_MOST_KEPT = 20
_WHICH = 'say which runs: job_ids, or a filter such as "type" or "status"'


@dataclass(frozen=True)
class Change(Changed):
    """What became of many runs, or would. ``matching`` maps the statuses of those that were counted to numbers of runs.

    ``runs`` are their ids. ``confirm`` is for the second call. ``next_step`` says what to do now.
    """

    runs: list[int]
    confirm: str | None
    next_step: str


class _Shown(NamedTuple):
    """What a dry run has shown, and until when it holds."""

    name: str
    arguments: Mapping[str, Any]
    runs: tuple[int, ...]
    ends_at: float


class Changes:
    """Remembers what the dry runs of one server have shown."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._shown: dict[str, _Shown] = {}

    def change(self, tool: Tool, arguments: Mapping[str, Any], client: str) -> Change:
        """Show what would be changed, or change what was shown. Raises Refused."""
        given = {name: value for name, value in arguments.items() if name != "confirm"}
        confirm = arguments.get("confirm")
        if confirm is None:
            return self._show(tool, given, client)
        return self._do(tool, given, self._taken(tool, given, str(confirm)), client)

    def _show(self, tool: Tool, given: dict[str, Any], client: str) -> Change:
        if not given.keys() - {"reason", "limit", "over", "run_at", "number"}:
            raise Refused(_WHICH)
        words = [f"--reason={given['reason']}", "--dry-run", "--json", *tool.words({"limit": MOST, **given})]
        answer = self._calls.question(tool.command, words, client)
        assert answer.counted is not None
        runs = tuple(answer.counted.runs)
        if not runs:
            return Change(**answer.value, runs=[], confirm=None, next_step="No run fits. Nothing was changed.")
        confirm = self._remember(_Shown(tool.name, given, runs, clock.elapsed() + _KEPT_SECONDS))
        more = f" There may be more: at most {MOST} are changed at once." if len(runs) == MOST else ""
        step = f"Nothing was changed yet. To change these runs, call again with the same arguments and confirm.{more}"
        return Change(**answer.value, runs=list(runs), confirm=confirm, next_step=step)

    def _do(self, tool: Tool, given: Mapping[str, Any], shown: _Shown, client: str) -> Change:
        # Those of them that still fit: the filter is the same, and only these ids.
        wanted = {name: value for name, value in given.items() if name != "limit"} | {"job_ids": list(shown.runs)}
        words = [f"--reason={given['reason']}", "--yes", "--json", *tool.words(wanted)]
        answer = self._calls.change(tool.command, words, client)
        assert answer.counted is not None
        runs = list(answer.counted.runs)
        answer.value["changed_meanwhile"] += len(shown.runs) - len(runs)
        return Change(**answer.value, runs=runs, confirm=None, next_step=_done(answer.value))

    def _remember(self, shown: _Shown) -> str:
        while len(self._shown) >= _MOST_KEPT:
            del self._shown[next(iter(self._shown))]
        confirm = secrets.token_hex(4)
        self._shown[confirm] = shown
        return confirm

    def _taken(self, tool: Tool, given: Mapping[str, Any], confirm: str) -> _Shown:
        shown = self._shown.get(confirm)
        if shown is None or shown.ends_at < clock.elapsed():
            raise Refused("this value of confirm is not known, or was used, or is too old; call without it first")
        if (shown.name, shown.arguments) != (tool.name, given):
            raise Refused("the arguments are not those of the dry run; repeat them, or call without confirm first")
        del self._shown[confirm]
        return shown


def _done(value: Mapping[str, Any]) -> str:
    left = value["locked"] + value["changed_meanwhile"] + value["key_taken"]
    return f"{value['done']} runs were changed." + (f" {left} were not; see the numbers." if left else "")
