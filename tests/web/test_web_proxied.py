"""The page behind a real nginx, in a real browser: prefixes, TLS, cookies, and forms of other pages."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness import Commands, Database, pages
from harness.browser import Person
from harness.handlers_rows import queue, status_of
from harness.nginx import nginx
from harness.web_server import Served, served

pytestmark = pytest.mark.timeout(600)
NewPerson = Callable[..., Person]
NAME = "jobs.example"
# Without the icon a browser asks for one, at any time.
FOREIGN_PAGE = (
    '<link rel="icon" href="data:,"><form method=post action="{action}">'
    "<input name=reason value=x><button>You have won</button></form>"
)


def test_page_works_behind_a_proxy_and_refuses_the_forms_of_other_pages(
    jobrunner: Commands, database: Database, person: NewPerson, tmp_path: Path
) -> None:
    (kept,) = pages.checked_by(
        "tests/web/test_web_proxied.py::test_page_works_behind_a_proxy_and_refuses_the_forms_of_other_pages"
    )
    with served(jobrunner, "--prefix", "/jobs", "--allow-host", NAME) as server:
        assert "http://127.0.0.1:8321;" in kept.text
        mounted = kept.text.replace(":8321", f":{server.port}")
        # With a path at its end, nginx takes its own away.
        stripped = mounted.replace(f":{server.port};", f":{server.port}/;").replace("/jobs/", "/in/jobs/")
        foreign = f"location /foreign/ {{ alias {tmp_path}/foreign/; }}"
        lines = mounted + stripped
        servers = {"http": lines, "https": lines, "http foreign": foreign, "https foreign": foreign}
        with nginx(tmp_path / "nginx", servers) as ports:
            for scheme in ("http", "https"):
                for path in ("/jobs/", "/in/jobs/"):
                    ada = person(ignore_https_errors=True)
                    home = f"{scheme}://{NAME}:{ports[scheme]}{path}"
                    acts(ada, server, home, database)
                    for name in (NAME, "evil.example"):
                        elsewhere = f"{scheme}://{name}:{ports[f'{scheme} foreign']}"
                        is_refused(ada, home, elsewhere, database, tmp_path / "foreign")
                    if scheme == "http":
                        ada.forgive("Opener-Policy header has been ignored")  # as told of every page without TLS
            stranger = person()
            stranger.origins.add(f"http://other.example:{ports['http']}")
            # The page, its style sheet, its script and its icon are refused, the icon at any time.
            stranger.expect("403 for http://other.example")
            stranger.expect("other.example")
            assert stranger.go(f"http://other.example:{ports['http']}/jobs/").status == 403


def acts(ada: Person, server: Served, home: str, database: Database) -> None:
    """Links, the redirect after a form, and the cookie."""
    run_id = queue(database, "append")
    ada.come(f"{home}?{server.link().partition('?')[2]}")
    assert ada.page.url == home
    (cookie,) = ada.context.cookies()
    assert (cookie["secure"], cookie["path"]) == (home.startswith("https:"), "/" + home.split("/", 3)[3].rstrip("/"))
    ada.press(ada.page.get_by_role("link", name="runs", exact=True))
    ada.press(ada.page.get_by_role("link", name=str(run_id), exact=True))
    assert ada.page.url == f"{home}runs/{run_id}"
    ada.press(ada.page.get_by_role("button", name="Cancel", exact=True))
    assert ada.page.url == f"{home}runs/{run_id}?done=cancel"
    assert status_of(database, run_id) == "cancelled"


def is_refused(ada: Person, home: str, elsewhere: str, database: Database, folder: Path) -> None:
    """A form of a page of another origin, in the browser that is signed in."""
    run_id = queue(database, "append")
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text(FOREIGN_PAGE.format(action=f"{home}runs/{run_id}/cancel"))
    ada.origins.add(elsewhere)
    ada.go(f"{elsewhere}/foreign/index.html")
    with ada.page.expect_response("**/cancel") as answer:
        ada.page.get_by_role("button").click()
    assert answer.value.status == 403
    ada.page.wait_for_load_state()
    ada.forgive("403 for")
    assert status_of(database, run_id) == "queued"
