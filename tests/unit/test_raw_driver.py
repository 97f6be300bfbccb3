"""A database URL is read without SQLAlchemy in the same way as with it, or not at all."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.drivers import full_url
from jobrunner.store.drivers.location import Location, locate
from jobrunner.store.drivers.raw import raw_driver
from jobrunner.store.drivers.waits import PROBE

READ = [
    "postgresql://u:p@h/d",
    "postgres://u@h:5432/d",
    "postgresql+psycopg://u:p%40%2Fq@db.example:65535/app_1",
    "postgresql+psycopg2://h/d",
    "postgresql+asyncpg://u:@h/d",
    "  postgresql://u:p@h/d\n",
    "postgresql://u:p@/d?host=/var/run/postgresql",
    "postgresql://u@/d?host=%2Ftmp%2Fx&port=54321",
    "postgresql://u:p@h/d?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    "postgresql:///d",
]
LEFT_ALONE = [
    "",
    "nonsense",
    "mysql://h/d",
    "postgresql://",
    "postgresql://h",
    "postgresql://u:p@q@h/d",
    "postgresql://u:p/q@h/d",
    "postgresql://h:0/d",
    "postgresql://h:65536/d",
    "postgresql://h:x/d",
    "postgresql://[::1]/d",
    "postgresql://h/d%20e",
    "postgresql://h/d?host=a&host=b",
    "postgresql://h/d?host=a,b",
    "postgresql://a,b/d",
    "postgresql://h/d?connect_timeout=1",
    "postgresql://h/d?options=-c%20x",
    "postgresql://h/d?keepalives_idle=1",
    "postgresql://h/d#x",
]


def options_in_full(url: str) -> dict[str, Any]:
    """What SQLAlchemy would give to psycopg."""
    _, _, found = full_url.read(url)
    return found | raw_driver.connection_options(PROBE, given=found)


def options(url: str) -> dict[str, Any]:
    found = raw_driver.server_options(url)
    return found | raw_driver.connection_options(PROBE, given=found)


@pytest.mark.parametrize("url", READ)
def test_raw_driver_reads_a_plain_url_like_sqlalchemy(url: str) -> None:
    assert options(url) == options_in_full(url)
    assert locate(url) == Location(*full_url.read(url.strip()))


@pytest.mark.parametrize("url", LEFT_ALONE)
def test_raw_driver_leaves_other_urls_to_sqlalchemy(url: str) -> None:
    with pytest.raises(raw_driver.UnusualUrl):
        raw_driver.server_options(url)


@given(user=st.text(min_size=1), password=st.text(), host=st.sampled_from(["", "h", "10.0.0.1"]))
def test_raw_driver_reads_any_name_and_password_like_sqlalchemy(user: str, password: str, host: str) -> None:
    url = f"postgresql://{quote(user, safe='', errors='replace')}:{quote(password, safe='', errors='replace')}@{host}/d"
    assert options(url) == options_in_full(url)


@given(st.text("postgresql:/@?#[]%&=.,hdu0159 \\\n", max_size=40))
def test_raw_driver_reads_no_url_differently(text: str) -> None:
    url = f"postgresql://{text}"
    try:
        found = options(url)
    except raw_driver.UnusualUrl:
        return
    try:
        in_full = options_in_full(url)
    except DatabaseUnavailable:
        pytest.fail("the other commands cannot read it")
    assert found == in_full


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("sqlite:////a/b.db", True),
        ("sqlite:///b.db", True),
        ("sqlite+aiosqlite:////a b/ü.db", True),
        ("sqlite:///:memory:", False),
        ("sqlite:////a/b.db?timeout=1", False),
        ("sqlite:////a/b%20c.db", False),
        ("sqlite://host/b.db", False),
        ("sqlite://", False),
    ],
)
def test_raw_driver_opens_the_same_sqlite_file(url: str, read: bool) -> None:
    file = raw_driver.file_of(url)
    assert (file is not None) == read
    assert file is None or Path(file).absolute() == full_url.read(url)[0]


def test_raw_driver_opens_a_file_of_any_name(tmp_path: Path) -> None:
    for name in ("a b", "a?b", "a#b", "a%20b", "a&mode=rwc"):
        path = tmp_path / name
        with pytest.raises(sqlite3.OperationalError):
            sqlite3.connect(raw_driver.file_uri(path), uri=True)
        path.touch()
        sqlite3.connect(raw_driver.file_uri(path), uri=True).close()
    assert len(list(tmp_path.iterdir())) == 5


def test_raw_driver_reads_a_whole_file_for_damage_only_where_it_is_told_to(tmp_path: Path) -> None:
    """A large file would be read by each tick."""
    path = tmp_path / "damaged.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE used (n TEXT); CREATE TABLE damaged (n TEXT)")
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'damaged'")
        ((size,),) = connection.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"x" * size)

    def insert(*, is_checked: bool) -> int:
        words = ("INSERT INTO used VALUES (?)", ("1",))
        return raw_driver.change(f"sqlite:///{path}", None, lambda _: words[0], words[1], is_checked=is_checked)

    with pytest.raises(raw_driver.FileDamaged):
        insert(is_checked=True)
    assert insert(is_checked=False) == 1
