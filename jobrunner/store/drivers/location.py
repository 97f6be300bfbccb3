"""Where the database is: a file or the options of a server, and a name for it without the password."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from jobrunner.errors import ConfigurationError, DatabaseUnavailable
from jobrunner.store.drivers.raw import raw_driver


class Location(NamedTuple):
    """Where the database is. ``file`` is set for SQLite only, ``options``, for psycopg, only for PostgreSQL.

    ``label`` is its name for people, without the password and without options, which may hold one. ``schema`` is the
    schema of PostgreSQL that holds our tables. None: the server finds them by its search path.
    """

    file: Path | None
    label: str
    options: Mapping[str, Any]
    schema: str | None = None

    @property
    def database(self) -> str:
        """The name of the database's language."""
        return "postgresql" if self.has_server else "sqlite"

    @property
    def has_server(self) -> bool:
        """The trait of this name: see ``sql.traits``."""
        return self.file is None

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def is_missing(self) -> bool:
        """Whether it is a file that does not exist. Raises DatabaseUnavailable if that cannot be found out."""
        try:
            return self.file is not None and not self.file.exists()
        except OSError as error:
            raise DatabaseUnavailable(f"cannot use the database {self.label}: {error.strerror}") from None


def of_file(file: Path) -> Location:
    """The location of a file."""
    return Location(file, f"sqlite:///{file}", {})


def locate(text: str, schema: str | None = None) -> Location:
    """Read a database URL in the forms that applications use, also ``postgres://``.

    Raises DatabaseUnavailable in one line. It does not repeat the URL, which may hold a password. Raises
    ConfigurationError for a schema of an SQLite file.
    """
    found = _locate(text)
    if schema is None:
        return found
    if found.file is not None:
        # Most likely the URL is missing: then each tick would look at an empty file, forever.
        raise ConfigurationError(
            f"JOBRUNNER_SCHEMA is set, but the database {found.label} is an SQLite file, which has no schemas; set"
            " JOBRUNNER_DATABASE_URL to the URL of the server, or remove JOBRUNNER_SCHEMA"
        )
    return found._replace(label=f"{found.label} (schema {schema})", schema=schema)


def _locate(text: str) -> Location:
    file = raw_driver.file_of(text)
    if file is not None:
        return of_file(Path(file).absolute())
    try:
        options = raw_driver.server_options(text)
    except raw_driver.UnusualUrl:
        from jobrunner.store.drivers import full_url

        return Location(*full_url.read(text))
    return Location(None, _label(text), options)


def _label(text: str) -> str:
    # Options in the query may replace the host and the port.
    written = raw_driver.server_options(text.partition("?")[0])
    user = f"{quote(written['user'], safe=' +')}@" if "user" in written else ""
    port = f":{written['port']}" if "port" in written else ""
    return f"postgresql://{user}{written.get('host', '')}{port}/{written['dbname']}"
