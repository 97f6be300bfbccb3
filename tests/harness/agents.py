"""`jobrunner mcp` as its clients see it: the client of the official library, and the command as its child."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TextIO, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, Implementation, InitializeResult, TextContent, Tool

from harness.commands import Commands

CLIENT = "Ada's editor"


class Agent:
    """A client with its server."""

    def __init__(self, portal: BlockingPortal, session: ClientSession, started: InitializeResult) -> None:
        self._portal = portal
        self._session = session
        self.instructions = started.instructions or ""
        self.tools: dict[str, Tool] = {each.name: each for each in portal.call(session.list_tools).tools}

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool. The client has held it to its schema."""
        done = self._call(name, arguments)
        assert not done.is_error, done.content
        (text,) = done.content
        found: dict[str, Any] = done.structured_content
        assert isinstance(text, TextContent)
        assert json.loads(text.text) == found
        return found

    def refused(self, name: str, /, **arguments: Any) -> str:
        """The one line with which a tool refuses."""
        done = self._call(name, arguments)
        assert done.is_error, done.structured_content
        (text,) = done.content
        assert isinstance(text, TextContent)
        said: str = text.text
        assert "\n" not in said
        return said

    def _call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        found = self._portal.call(self._session.call_tool, f"jobrunner_{name}", arguments)
        assert isinstance(found, CallToolResult)
        return found


@contextmanager
def agent(jobrunner: Commands, *words: str, env: Mapping[str, str | None] | None = None) -> Iterator[Agent]:
    """A client and its server, which ends when the client closes its standard input."""
    server = StdioServerParameters(
        command=jobrunner.command, args=["mcp", *words], env=jobrunner.environment(env), cwd=jobrunner.home
    )

    @asynccontextmanager
    async def session() -> Any:
        client = Implementation(name=CLIENT, version="1")
        async with (
            stdio_client(server, cast(TextIO, sys.__stderr__)) as streams,
            ClientSession(*streams, client_info=client) as made,
        ):
            yield made, await made.initialize()

    with start_blocking_portal() as portal:
        held = portal.wrap_async_context_manager(session())
        made, started = held.__enter__()
        try:
            yield Agent(portal, made, started)
        finally:
            # The library would wrap an error of the test in groups.
            held.__exit__(None, None, None)
