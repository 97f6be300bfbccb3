"""web: the page in a browser."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jobrunner.cli import environment, garbage, render, session
from jobrunner.cli.parameters import Checked
from jobrunner.errors import ConfigurationError, JobrunnerError, UsageError
from jobrunner.log import Log, open_log
from jobrunner.text import whole_number

if TYPE_CHECKING:
    from jobrunner.web.addresses import Address
    from jobrunner.web.sign_in import SignIn
    from jobrunner.web.users import UserFile

_HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")
_UNCHECKED = "tick the box to give it the payload unchecked"
_EXTRA = ("jinja2", "markupsafe", "uvicorn", "h11")


def _proxy(text: str) -> Address:
    from jobrunner.web.addresses import address

    if (found := address(text)) is None:
        raise UsageError(f"{text[:60]!r} is no address such as 10.0.0.1")
    return found


@click.command()
@click.option(
    "--port",
    type=Checked(partial(whole_number, least=0, most=65535)),
    default="8321",
    show_default=True,
    metavar="N",
    help="The port; 0 for any free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address of this host to listen on. If visitors sign in by a link, it must be a loopback address.",
)
@click.option(
    "--read-only", is_flag=True, help="Read-only: everybody can view the dashboard; nobody can change anything."
)
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another host name that the dashboard accepts, for example the public name of a proxy; repeatable.",
)
@click.option(
    "--prefix", default="", metavar="PATH", help="The path prefix that a proxy adds and does not remove, such as /jobs."
)
@click.option("--redact", metavar="NAME", multiple=True, help="Hide the values of this name in payloads; repeatable.")
@click.option(
    "--user-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Sign in the users of this file, with their passwords, and not by a link; `users add` writes it.",
)
@click.option(
    "--trust-header", metavar="NAME", help="Sign in the user whom a proxy names in this header, such as X-Remote-User."
)
@click.option(
    "--proxy",
    "proxies",
    type=Checked(_proxy),
    metavar="ADDRESS",
    multiple=True,
    help="Trust the headers of the proxy at this address; repeatable.",
)
@click.option(
    "--metrics",
    "has_metrics",
    is_flag=True,
    help="Answer /metrics, for Prometheus, to everybody who can reach the dashboard.",
)
def web(
    port: int,
    host: str,
    names: tuple[str, ...],
    prefix: str,
    redact: tuple[str, ...],
    has_metrics: bool,
    **given: Any,
) -> None:
    """Serve the dashboard: in a browser, see what happens and why, with a button for what you can do about it.

    It prints a link that signs one browser in, and a new link when that one was used. It listens on this host only,
    unless there is a user file or a proxy that says who the visitor is.

    Example: jobrunner web --port 8321 --read-only
    """
    asked = _SignIn(**given)
    address = _address(host, asked)
    config = environment.load()
    try:
        from jobrunner.web.core import Web
        from jobrunner.web.server import serve
        from jobrunner.web.standalone import Place, Standalone
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise ConfigurationError(
            f"the dashboard needs {error.name}; install jobrunner with its extra: cron-jobrunner[web]"
        ) from None
    garbage.collect()
    people = asked.people()
    log = open_log(config.log, on_stderr=True, level=config.log_level)
    database = session.open_database(config)
    database.close()
    with _listen(address, port) as listening:
        bound = listening.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        sign_in = asked.sign_in(people, f"http://{shown}:{bound}{prefix.rstrip('/')}/", bound, log)
        page = Web(lambda: database.location, redact, check=partial(session.check_payload, config, _UNCHECKED))
        place = Place((*names, address), prefix, asked.proxies, has_metrics)
        serve(Standalone(page, sign_in, place).respond, listening)


@dataclass(frozen=True)
class _SignIn:
    """Who is let in, as the options say it."""

    read_only: bool
    user_file: Path | None
    trust_header: str | None
    proxies: tuple[Address, ...]

    def __post_init__(self) -> None:
        if self.user_file and self.trust_header:
            raise UsageError("--user-file and --trust-header are two ways to say who the visitor is; give one of them")
        if self.trust_header and not self.proxies:
            raise UsageError(
                "--trust-header without --proxy would trust the header of every client; name the proxy that sets it"
            )
        if self.trust_header and not _HEADER.fullmatch(self.trust_header):
            raise UsageError(f"--trust-header {self.trust_header[:40]!r} is not the name of a header")

    def people(self) -> UserFile | None:
        """The people of the user file, if there is one."""
        from jobrunner.web.users import UserFile

        return None if self.user_file is None else UserFile(self.user_file)

    def sign_in(self, people: UserFile | None, url: str, port: int, log: Log) -> SignIn:
        """How people sign in; it prints the address of the page, or the links to it."""
        from jobrunner.web.permissions import EVERYTHING, READ_ONLY, Visitor
        from jobrunner.web.sign_in import LinkSignIn, PasswordSignIn, ProxySignIn

        verbs = READ_ONLY if self.read_only else EVERYTHING
        if people is None and self.trust_header is None:
            visitor = Visitor(session.actor().name, verbs)
            return LinkSignIn(visitor, lambda token: render.done(f"{url}?token={token}"), port)
        render.done(url)
        if people is not None:
            return PasswordSignIn(people, port, self.proxies, log, is_read_only=self.read_only)
        return ProxySignIn(str(self.trust_header), self.proxies, verbs)


def _address(host: str, asked: _SignIn) -> str:
    if host == "localhost":
        return "127.0.0.1"
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        raise UsageError(f"--host {host[:60]} is no address such as 127.0.0.1") from None
    if found.is_loopback or asked.user_file is not None or asked.trust_header is not None:
        return host
    raise UsageError(
        f"--host {host[:60]} is no loopback address such as 127.0.0.1; others need --user-file, or --trust-header with"
        " --proxy, or an application that has a login (docs/howto/dashboard.md)"
    )


def _listen(address: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, port), family=family)
    except OSError as error:
        raise JobrunnerError(f"cannot listen on {address} port {port}: {error.strerror}; try another --port") from None
