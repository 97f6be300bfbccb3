"""Changes come in two calls: a dry run, and a second one that changes what the first has shown."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from jobrunner import clock
from jobrunner.cli.agents.answered import RunsChanged, TypeChanged
from jobrunner.cli.agents.calls import Calls, Refused
from jobrunner.cli.agents.tools import MOST, Tool

_KEPT_SECONDS = 900.0
_MOST_KEPT = 20
_NOT_YET = "Nothing was changed yet. To do it, call again with the same arguments and confirm."
_WHICH = 'say which runs: job_ids, or a filter such as "type" or "status"'


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

    def change(self, tool: Tool, arguments: Mapping[str, Any], client: str) -> RunsChanged | TypeChanged:
        """Show what would be changed, or change what was shown. Raises Refused."""
        given = {name: value for name, value in arguments.items() if name != "confirm"}
        shown = None if "confirm" not in arguments else self._taken(tool, given, arguments["confirm"])
        assert tool.effect is not None
        if tool.effect.record is TypeChanged:
            return self._of_type(tool, given, client, is_dry=shown is None)
        return self._show(tool, given, client) if shown is None else self._do(tool, given, shown.runs, client)

    def _show(self, tool: Tool, given: dict[str, Any], client: str) -> RunsChanged:
        if not given.keys() - {"reason", "limit", "over", "run_at", "number"}:
            raise Refused(_WHICH)
        words = [_reason(given), "--dry-run", "--json", *tool.words({"limit": MOST, **given})]
        answer = self._calls.question(tool.command, words, client)
        assert answer.counted is not None
        runs = tuple(answer.counted.runs)
        if not runs:
            return RunsChanged(**answer.value, runs=[], confirm=None, next_step="No run fits. Nothing was changed.")
        more = f" There may be more: at most {MOST} are changed at once." if len(runs) == MOST else ""
        step = f"{_NOT_YET}{more}"
        return RunsChanged(**answer.value, runs=list(runs), confirm=self._remember(tool, given, runs), next_step=step)

    def _do(self, tool: Tool, given: Mapping[str, Any], runs: tuple[int, ...], client: str) -> RunsChanged:
        # Those of them that still fit: the filter is the same, and only these ids.
        wanted = {name: value for name, value in given.items() if name != "limit"} | {"job_ids": list(runs)}
        answer = self._calls.change(tool.command, [_reason(given), "--yes", "--json", *tool.words(wanted)], client)
        assert answer.counted is not None
        value, found = answer.value, list(answer.counted.runs)
        value["changed_meanwhile"] += len(runs) - len(found)
        return RunsChanged(**value, runs=found, confirm=None, next_step=f"{value['done']} of {len(runs)} were changed.")

    def _of_type(self, tool: Tool, given: Mapping[str, Any], client: str, *, is_dry: bool) -> TypeChanged:
        said = self._calls.told(tool.command, [_reason(given), *tool.words(given)], client, is_dry=is_dry)
        if not is_dry:
            return TypeChanged(said, dry_run=False, confirm=None, next_step="This was done.")
        return TypeChanged(said, dry_run=True, confirm=self._remember(tool, given), next_step=_NOT_YET)

    def _remember(self, tool: Tool, given: Mapping[str, Any], runs: tuple[int, ...] = ()) -> str:
        while len(self._shown) >= _MOST_KEPT:
            del self._shown[next(iter(self._shown))]
        confirm = secrets.token_hex(4)
        self._shown[confirm] = _Shown(tool.name, given, runs, clock.elapsed() + _KEPT_SECONDS)
        return confirm

    def _taken(self, tool: Tool, given: Mapping[str, Any], confirm: str) -> _Shown:
        shown = self._shown.get(confirm)
        if shown is None or shown.ends_at < clock.elapsed():
            raise Refused("this value of confirm is not known, or was used, or is too old; call without it first")
        if (shown.name, shown.arguments) != (tool.name, given):
            raise Refused("the arguments are not those of the dry run; repeat them, or call without confirm first")
        del self._shown[confirm]
        return shown


def _reason(given: Mapping[str, Any]) -> str:
    return f"--reason={given['reason']}"
