"""All tools of one server: what a call of one of them answers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from jobrunner.cli.agents.calls import Calls, Refused
from jobrunner.cli.agents.changes import Changes
from jobrunner.cli.agents.tools import tools
from jobrunner.cli.lazy_group import LazyGroup
from jobrunner.text import one_line, visible

_LONGEST_NAME = 60


class Agent:
    """Answers the calls of one client, one after the other, from any thread."""

    def __init__(self, group: LazyGroup, redact: Collection[str], *, allow_changes: bool) -> None:
        self.tools = tools(group, allow_changes=allow_changes)
        self._calls = Calls(redact)
        self._changes = Changes(self._calls)
        # A command may note what belongs to its process, such as its settings.
        self._one_at_a_time = threading.Lock()

    def call(self, name: str, given: Mapping[str, Any], client: str) -> dict[str, Any]:
        """The answer of a tool, as an object. None: as if it were not given. Raises Refused, whose text is one line."""
        tool = self.tools.get(name)
        if tool is None:
            raise Refused(f"there is no tool {name[:_LONGEST_NAME]!r}; there are: {', '.join(self.tools)}")
        # Many models fill in what they leave out.
        arguments = {each: value for each, value in given.items() if value is not None}
        wrong = best_match(Draft202012Validator(tool.input).iter_errors(arguments))
        if wrong is not None:
            place = "".join(f"{each}: " for each in wrong.absolute_path)
            raise Refused(one_line(f"{place}{wrong.message}", 300))
        client = visible(one_line(client, _LONGEST_NAME)) or "unknown"
        with self._one_at_a_time:
            if tool.effect is not None:
                return vars(self._changes.change(tool, arguments, client))
            value = self._calls.question(tool.command, ["--json", *tool.words(arguments)], client).value
            return {"result": value} if isinstance(value, list) else dict(value)
