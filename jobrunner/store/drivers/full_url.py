"""Reads any URL of a database, with SQLAlchemy. ``location`` reads the plain ones without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from jobrunner.errors import DatabaseUnavailable

_SEVERAL_HOSTS = re.compile(r"([^:/]+://(?:[^@]*@)?)([^@/?,]+(?:,[^@/?,]+)+)([/?].*|)", re.DOTALL)
_SET_BY_US = {"client_encoding", "application_name"}
_KNOWN = {
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "postgresql+psycopg": "postgresql",
    "postgresql+psycopg2": "postgresql",
    "postgresql+asyncpg": "postgresql",
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
}


def read(text: str) -> tuple[Path | None, str, dict[str, Any]]:
    """The file, or else None, the label and the options for psycopg. Raises DatabaseUnavailable, as ``locate``."""
    try:
        url = _read(text.strip())
        backend = _KNOWN.get(url.drivername)
        port_is_sane = url.port is None or 0 < url.port < 65536
    except (ArgumentError, ValueError):
        backend, port_is_sane = None, True
    if backend is None or not port_is_sane:
        raise DatabaseUnavailable(
            "the database URL cannot be read; write postgresql://USER:PASSWORD@HOST:5432/NAME"
            " or sqlite:////absolute/path/to/file.db"
        )
    if backend == "postgresql":
        if text.count("@") > 1:
            # A part of the password could be read as the host. Then it would be shown, and sent to DNS.
            raise DatabaseUnavailable("the database URL holds more than one @; write an @ in the password as %40")
        return None, _label(url.set(drivername="postgresql")), _options(url)
    if not url.database or url.database == ":memory:" or url.host:
        raise DatabaseUnavailable(
            "an SQLite URL must name a file, with four slashes for an absolute path:"
            " sqlite:////absolute/path/to/file.db"
        )
    file = Path(url.database).absolute()
    return file, f"sqlite:///{file}", {}


def _label(url: URL) -> str:
    label = url.set(query={}).render_as_string(hide_password=True).replace(":***@", "@")
    hosts = url.query.get("host", "")
    if isinstance(hosts, str):
        return label
    # SQLAlchemy keeps several hosts in an option.
    return re.sub(r"(?<=://)([^@/]*@)?", rf"\g<0>{','.join(hosts)}", label, count=1)


def _options(url: URL) -> dict[str, Any]:
    from sqlalchemy.dialects.postgresql.psycopg import dialect

    # SQLAlchemy's dialects have no annotations.
    _, options = dialect().create_connect_args(url)  # type: ignore[no-untyped-call]
    return dict(options)


def _read(text: str) -> URL:
    several = _SEVERAL_HOSTS.fullmatch(text)
    if several is None:
        url = make_url(text)
    else:
        # libpq accepts several hosts here. SQLAlchemy needs them in an option.
        url = make_url(several[1] + several[3]).update_query_dict({"host": several[2].split(",")})
    if url.database and url.drivername.startswith("postgres") and make_url("postgresql:///%20").database == "%20":
        # SQLAlchemy decodes the name of a database from 2.1 on, libpq always.
        return url.set(database=unquote(url.database))
    return url


def url_of_server(parameters: Mapping[str, Any]) -> str:
    """The URL for what an application gives to ``psycopg.connect``. Options that libpq does not know are left out."""
    from psycopg import pq

    known = {each.keyword.decode() for each in pq.Conninfo.get_defaults()} - _SET_BY_US
    given = {name: str(value) for name, value in parameters.items() if name in known and value not in (None, "")}
    user, password = (quote(given.pop(name, ""), safe="") for name in ("user", "password"))
    name, host = quote(given.pop("dbname", ""), safe=""), given.pop("host", "")
    if host.startswith("/") or "," in host:
        # The folder of a socket, or several hosts.
        given["host"], host = host, ""
    else:
        # In brackets, or the colons of an address of IPv6 are read as the port's.
        host = f"[{host}]" if ":" in host else host
        host = f"{host}:{given.pop('port')}" if host and "port" in given else host
    identity = f"{user}:{password}@" if password else f"{user}@" if user else ""
    options = f"?{urlencode(given, quote_via=quote)}" if given else ""
    return f"postgresql://{identity}{host}/{name}{options}"
