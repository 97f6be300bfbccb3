"""web: the page in a browser, on this host."""

from __future__ import annotations

import ipaddress
import socket
from functools import partial

import click

from jobrunner.cli import environment, render, session
from jobrunner.cli.types import Checked
from jobrunner.errors import ConfigurationError, JobrunnerError, UsageError
from jobrunner.text import whole_number

_EXTRA = ("jinja2", "markupsafe", "uvicorn", "h11")


@click.command()
@click.option(
    "--port",
    type=Checked(partial(whole_number, least=0, most=65535)),
    default="8321",
    show_default=True,
    metavar="N",
    help="The port; 0 for any free one.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of this host, a loopback address.")
@click.option("--read-only", is_flag=True, help="No buttons: who has the link can look, and change nothing.")
@click.option(
    "--allow-host", "names", metavar="NAME", multiple=True, help="Answer to this name too, of a proxy; may be repeated."
)
@click.option("--prefix", default="", metavar="PATH", help="The path before ours that a proxy leaves, such as /jobs.")
@click.option(
    "--redact", metavar="NAME", multiple=True, help="Hide the values of this name in payloads; may be repeated."
)
def web(port: int, host: str, read_only: bool, names: tuple[str, ...], prefix: str, redact: tuple[str, ...]) -> None:
    """Show the page in a browser: what happens and why, with a button for what a person can do about it.

    It prints a link that signs one browser in, and a new link when that one was used. It listens on this host only:
    for others, mount the page in an application that has a login (docs/web.md).

    Example: jobrunner web --port 8321 --read-only
    """
    config = environment.load()
    address = _loopback(host)
    try:
        from jobrunner.web.core import Web
        from jobrunner.web.server import serve
        from jobrunner.web.standalone import Place, Standalone
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise ConfigurationError(
            f"the page needs {error.name}; install jobrunner with its extra: cron-jobrunner[web]"
        ) from None
    from jobrunner.web.visitors import EVERYTHING, READ_ONLY, Visitor

    database = session.open_database(config)
    database.close()
    with _listen(address, port) as listening:
        bound = listening.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address

        def announce(token: str) -> None:
            render.done(f"http://{shown}:{bound}{prefix.rstrip('/')}/?token={token}")

        visitor = Visitor(session.actor().name, READ_ONLY if read_only else EVERYTHING)
        page = Web(lambda: database.location, redact)
        serve(Standalone(page, visitor, announce, Place(bound, names, prefix)).respond, listening)


def _loopback(host: str) -> str:
    if host == "localhost":
        return "127.0.0.1"
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise UsageError(
        f"--host {host[:60]} is no loopback address such as 127.0.0.1; for other hosts mount the page in an application"
        " that has a login (docs/web.md)"
    )


def _listen(address: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, port), family=family)
    except OSError as error:
        raise JobrunnerError(f"cannot listen on {address} port {port}: {error.strerror}; try another --port") from None


COMMANDS = (web,)
