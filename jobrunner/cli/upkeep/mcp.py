"""mcp: the commands as tools for an agent."""

from __future__ import annotations

import os

import click

from jobrunner.cli import environment, garbage, streams
from jobrunner.cli.lazy_group import LazyGroup
from jobrunner.errors import ConfigurationError

_EXTRA = ("mcp", "mcp_types", "anyio", "jsonschema", "pydantic")


@click.command()
@click.option(
    "--allow-changes",
    is_flag=True,
    help="Also offer tools that change runs: each with a reason, and only after a dry run.",
)
@click.option("--redact", metavar="NAME", multiple=True, help="Hide the values of this name in payloads; repeatable.")
@click.pass_context
def mcp(context: click.Context, allow_changes: bool, redact: tuple[str, ...]) -> None:
    """Serve an agent: what the commands print with --json, as tools of the Model Context Protocol.

    A client, such as an editor, starts it and speaks to it on standard input and output. The tools only read, and hide
    secrets as the dashboard does. It ends when the client closes standard input.

    Example: jobrunner mcp
    """
    environment.load()
    try:
        from jobrunner.cli.agents.agent import Agent
        from jobrunner.cli.agents.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise ConfigurationError(
            f"the server for agents needs {error.name}; install jobrunner with its extra: cron-jobrunner[mcp]"
        ) from None
    garbage.collect()
    assert context.parent is not None
    group = context.parent.command
    assert isinstance(group, LazyGroup)
    if os.isatty(0):
        streams.to_stderr("jobrunner: waits for a client on standard input; how to set one up: docs/howto/agents.md")
    serve(Agent(group, redact, allow_changes=allow_changes))
