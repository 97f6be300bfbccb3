"""Where the database is: its URL, and a name for it without the password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from jobrunner.errors import DatabaseUnavailable

_SEVERAL_HOSTS = re.compile(r"([^:/]+://(?:[^@]*@)?)([^@/?,]+(?:,[^@/?,]+)+)([/?].*|)", re.DOTALL)
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


@dataclass(frozen=True, slots=True)
class Location:
    """Where the database is. ``file`` is set for SQLite only."""

    url: URL
    file: Path | None

    def is_missing(self) -> bool:
        """Whether it is a file that does not exist. Raises DatabaseUnavailable if that cannot be found out."""
        try:
            return self.file is not None and not self.file.exists()
        except OSError as error:
            raise DatabaseUnavailable(f"cannot use the database {self.label}: {error.strerror}") from None

    @property
    def label(self) -> str:
        """A name for people, without the password and without options, which may hold one."""
        if self.file is not None:
            return f"sqlite:///{self.file}"
        label = self.url.set(query={}).render_as_string(hide_password=True).replace(":***@", "@")
        hosts = self.url.query.get("host", "")
        if isinstance(hosts, str):
            return label
        # SQLAlchemy keeps several hosts in an option.
        return re.sub(r"(?<=://)([^@/]*@)?", rf"\g<0>{','.join(hosts)}", label, count=1)


def locate(text: str) -> Location:
    """Read a database URL in the forms that applications use, also ``postgres://``.

    Raises DatabaseUnavailable in one line. It does not repeat the URL, which may hold a password.
    """
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
        return Location(url.set(drivername="postgresql"), None)
    if not url.database or url.database == ":memory:" or url.host:
        raise DatabaseUnavailable(
            "an SQLite URL must name a file, with four slashes for an absolute path:"
            " sqlite:////absolute/path/to/file.db"
        )
    return Location(url.set(drivername="sqlite"), Path(url.database).absolute())


def _read(text: str) -> URL:
    several = _SEVERAL_HOSTS.fullmatch(text)
    if several is None:
        return make_url(text)
    # libpq accepts several hosts here. SQLAlchemy needs them in an option.
    return make_url(several[1] + several[3]).update_query_dict({"host": several[2].split(",")})
