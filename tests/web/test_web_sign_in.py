"""Who is let in by `jobrunner web`: people with passwords, and those whom a proxy names."""

import os
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

from harness import Database, sqlite_only
from harness.web import FORM, SAME
from jobrunner.errors import ConfigurationError, UsageError
from jobrunner.store.drivers.location import locate
from jobrunner.web import EVERYTHING, Visitor, users
from jobrunner.web.addresses import WrongTries, address, origin_of, scheme_of
from jobrunner.web.core import Web
from jobrunner.web.messages import Request, Response
from jobrunner.web.sign_in import LinkSignIn, PasswordSignIn, ProxySignIn, SignIn
from jobrunner.web.standalone import Place, Standalone
from jobrunner.web.users import UserFile

PASSWORD = "correct horse"
PROXIES = frozenset(found for text in ("10.0.0.1", "fd00::1") if (found := address(text)))
GOOD = "ada:scrypt$16384$8$5$" + "A" * 22 + "$" + "B" * 43


def page_behind(sign_in: SignIn, database: Database) -> Standalone:
    return Standalone(Web(lambda: locate(database.url)), sign_in, Place((), "", PROXIES))


class Written:
    """A log that tests read."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, str]]] = []

    def info(self, event: str, **fields: str) -> None:
        self.lines.append((event, fields))

    warning = error = info


class Client:
    """Somebody at an address, with the cookie that the page has given."""

    def __init__(self, page: Standalone, peer: str) -> None:
        self.page = page
        self.peer = peer
        self.cookie = ""

    def __call__(self, path: str, form: dict[str, str] | None = None, **headers: str) -> Response:
        body = b"" if form is None else urlencode(form).encode()
        sent = {"host": "localhost", "cookie": self.cookie, **(FORM | SAME if form else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request("GET" if form is None else "POST", path, "", sent, body, peer=self.peer)
        return self.page.respond(request)

    def sign_in(self, name: str, password: str) -> int:
        found = self("/login", {"name": name, "password": password})
        self.cookie = dict(found.headers).get("Set-Cookie", "").partition(";")[0] or self.cookie
        return found.status


@sqlite_only
def test_only_the_right_password_signs_in_and_wrong_tries_make_their_own_address_wait(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "people"
    users.add(path, "ada", PASSWORD, "all")
    log = Written()
    # The clock stands still: a try takes some tenths of a second, and beside other work some seconds.
    now = [0.0]
    sign_in = PasswordSignIn(UserFile(path), 8321, PROXIES, log, is_read_only=False, elapsed=lambda: now[0])
    page = page_behind(sign_in, database)
    ada, stranger = Client(page, "192.0.2.1"), Client(page, "192.0.2.2")
    assert [ada("/").status, ada("/runs/1").status, ada("/static/style.css").status] == [303, 303, 200]
    cookie = dict(ada("/login", {"name": "ada", "password": PASSWORD}).headers)["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Max-Age=43200"):
        assert part in cookie
    assert ada.sign_in("ada", PASSWORD) == 303
    assert b"sign out" in ada("/").body
    # A form of another site does not sign anybody in, and a form that is too long is not read.
    wrong = {"name": "ada", "password": "wrong"}
    assert stranger("/login", wrong, sec_fetch_site="cross-site").status == 403
    assert stranger("/login", {**wrong, "more": "x" * 9000}).status == 413
    tries = [stranger.sign_in(name, given) for name, given in (("ada", "wrong"), ("eve", PASSWORD), ("", ""))]
    assert tries == [403, 403, 403]
    # What is no name of ours may be a password in the wrong field.
    told = [(event, fields["name"], fields["address"]) for event, fields in log.lines]
    assert told == [("wrong password", name, "192.0.2.2") for name in ("ada", "(unknown)", "(unknown)")]
    refused = stranger("/login", wrong)
    assert (refused.status, dict(refused.headers)["Retry-After"]) == (429, "3")
    # Who waits is not asked for a password: the right one is of no use now.
    assert stranger.sign_in("ada", PASSWORD) == 429
    now[0] += 2
    assert stranger.sign_in("ada", PASSWORD) == 303
    assert ada("/").status == 200
    assert Client(page, "192.0.2.3").sign_in("ada", PASSWORD) == 303
    assert ada("/logout", {"a": "b"}, sec_fetch_site="cross-site").status == 404
    out = ada("/logout", {"a": "b"})
    assert (out.status, "Max-Age=0" in dict(out.headers)["Set-Cookie"], ada("/").status) == (303, True, 303)


@sqlite_only
def test_person_who_is_taken_out_of_the_user_file_or_changed_there_is_signed_out_at_once(
    database: Database, tmp_path: Path
) -> None:
    path, log = tmp_path / "people", Written()
    for name in ("ada", "bob", "cleo", "dan"):
        users.add(path, name, PASSWORD, "all")
    page = page_behind(PasswordSignIn(UserFile(path), 8321, PROXIES, log, is_read_only=False), database)
    ada, bob, cleo, dan = clients = [Client(page, f"192.0.2.{number}") for number in range(4)]
    for client, name in zip(clients, ("ada", "bob", "cleo", "dan"), strict=True):
        assert (client.sign_in(name, PASSWORD), client("/").status) == (303, 200)
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("ada:")))
    assert [client("/").status for client in clients] == [303, 200, 200, 200]
    assert ada.sign_in("ada", PASSWORD) == 403
    users.add(path, "bob", "another one", "all")
    users.add(path, "cleo", PASSWORD, "read-only")
    assert [client("/").status for client in clients] == [303, 303, 303, 200]
    assert [bob.sign_in("bob", PASSWORD), bob.sign_in("bob", "another one"), cleo.sign_in("cleo", PASSWORD)] == [
        403,
        303,
        303,
    ]
    assert [each("/runs/1/cancel", {"a": "b"}).status for each in (bob, cleo)] == [404, 403]
    # A file that cannot be used lets nobody in, and says so once; when it is mended the sessions are there again.
    text, told = path.read_text(), len(log.lines)
    path.write_text(f"{text}dan\n")
    for _ in range(3):
        assert [client("/").status for client in (bob, dan)] == [503, 503]
        assert [client("/login").status for client in (ada, dan)] == [503, 503]
    path.unlink()
    assert dan("/").status == 503
    assert ["line 4 is not" in log.lines[told][1]["error"], len(log.lines) - told] == [True, 2]
    path.write_text(text)
    path.chmod(0o644)
    assert dan("/").status == 503
    path.chmod(0o600)
    assert [client("/").status for client in clients] == [303, 200, 200, 200]


def test_cookie_of_a_session_is_for_this_host_and_no_script_and_over_https_for_https_only() -> None:
    for scheme, is_secure in (("http", False), ("https", True)):
        told: list[str] = []
        sign_in = LinkSignIn(Visitor("ada", EVERYTHING), told.append, 8080)
        found = sign_in.enter(Request("GET", "/", f"token={told[0]}", {"host": "localhost"}, scheme=scheme))
        assert isinstance(found, Response)
        flags = dict(found.headers)["Set-Cookie"].split("; ")[1:]
        assert {"HttpOnly", "SameSite=Strict"} <= set(flags)
        assert ("Secure" in flags) is is_secure
        assert not any(flag.startswith("Domain") for flag in flags)


def test_waits_grow_to_a_minute_and_end() -> None:
    now = [0.0]
    tries = WrongTries(lambda: now[0])
    waits = []
    for _ in range(12):
        waits.append(left := tries.begin("a"))
        now[0] += left
        assert left == 0 or tries.begin("a") == 0
    assert waits == [0, 0, 0, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert tries.begin("b") == 0
    now[0] += 15 * 60 + 1
    assert tries.begin("a") == 0, "it is forgotten"
    # Right passwords cost no wait, and do not take back the wrong ones of others.
    for _ in range(20):
        assert tries.begin("c") == 0
        tries.take_back("c")
    for number in range(2000):
        tries.begin(str(number))
    assert len(tries._found) == 1000


def test_unknown_name_takes_as_much_work_as_a_known_one(tmp_path: Path) -> None:
    path = tmp_path / "people"
    users.add(path, "ada", PASSWORD, "all")
    known = users.read(path)

    def work(name: str) -> float:
        began = time.thread_time()
        assert known.find(name, "wrong") is None
        return time.thread_time() - began

    assert work("eve") > work("ada") / 4


def test_user_file_is_written_for_one_name_and_refused_when_others_can_use_it(tmp_path: Path) -> None:
    path = tmp_path / "people"
    users.add(path, "ada", PASSWORD, "all")
    users.add(path, "bob", PASSWORD, "read-only")
    users.add(path, "ada", "another one", "all")
    assert path.stat().st_mode & 0o777 == 0o600
    found = users.read(path)
    assert found.find("ada", PASSWORD) is None
    for name, password, verbs in (("ada", "another one", EVERYTHING), ("bob", PASSWORD, users.ROLES["read-only"])):
        person = found.find(name, password)
        assert person is not None
        assert (person.visitor.name, person.visitor.verbs) == (name, verbs)
    for name, password, says in (("a:b", PASSWORD, "a name has"), ("", PASSWORD, "a name"), ("eve", "short", "from 8")):
        with pytest.raises(UsageError, match=says):
            users.add(path, name, password, "all")
    for mode, says in ((0o644, "read by others"), (0o602, "written by others"), (0o666, "written by others")):
        path.chmod(mode)
        with pytest.raises(ConfigurationError, match=says):
            users.read(path)
        with pytest.raises(ConfigurationError, match=says):
            users.add(path, "eve", PASSWORD, "all")
    path.chmod(0o600)
    for text, says in (
        ("", "has no users"),
        ("# nobody\n\n", "has no users"),
        (f"{GOOD}:all\nada:{PASSWORD}\n", "line 2 is not"),
        (f"{GOOD}:root\n", "line 1 is not"),
        (f"{GOOD}\n", "line 1 is not"),
        (GOOD.replace("16384", "16") + ":all\n", "line 1 is not"),
        (f"{GOOD}:all\n{GOOD}:read-only\n", "line 2 has a name"),
        ("x" * 2_000_000, "more than"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=says) as refused:
            users.read(path)
        assert PASSWORD not in str(refused.value)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        users.read(path)


@sqlite_only
def test_name_in_a_header_counts_only_from_a_proxy(database: Database) -> None:
    page = page_behind(ProxySignIn("X-Remote-User", PROXIES, EVERYTHING), database)
    for peer, name, status in (
        ("10.0.0.1", "ada", 200),
        ("fd00::1", "ada", 200),
        ("::ffff:10.0.0.1", "ada", 200),
        ("10.0.0.2", "ada", 403),
        ("127.0.0.1", "ada", 403),
        ("", "ada", 403),
        ("10.0.0.1", "", 403),
        # The header twice: the visitor's own, and the proxy's.
        ("10.0.0.1", "root, ada", 403),
        ("10.0.0.1", "a\tb", 403),
        ("10.0.0.1", "a" * 101, 403),
    ):
        assert Client(page, peer)("/runs", x_remote_user=name).status == status, (peer, name)


def test_what_a_proxy_says_of_the_browser_is_believed_of_proxies_only() -> None:
    told = Request("GET", "/", headers={"x-forwarded-proto": "https", "x-forwarded-for": "6.6.6.6, 192.0.2.7"})
    for peer, proxies, scheme, origin in (
        ("10.0.0.1", PROXIES, "https", "192.0.2.7"),
        ("10.0.0.2", PROXIES, "http", "10.0.0.2"),
        ("127.0.0.1", PROXIES, "http", "127.0.0.1"),
        ("127.0.0.1", frozenset(), "https", "127.0.0.1"),
        ("10.0.0.1", frozenset(), "http", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", frozenset(), "http", "2001:0db8:0001:0002"),
        ("", frozenset(), "http", ""),
    ):
        request = replace(told, peer=peer)
        assert (scheme_of(request, proxies), origin_of(request, proxies)) == (scheme, origin), peer
