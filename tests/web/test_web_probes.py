"""What `jobrunner web` tells monitors without a login: that it runs, and with its own switch the metrics."""

from http.client import HTTPConnection

from prometheus_client.parser import text_string_to_metric_families

from harness import Commands, Database, sqlite_only
from harness.handlers_rows import queue
from harness.waiting import stretched
from harness.web_server import served
from jobrunner.store.drivers.location import locate
from jobrunner.web.core import Web, trouble
from jobrunner.web.messages import Request, Response
from jobrunner.web.standalone import Place, Standalone


class Shut:
    """A way to sign in that lets nobody in."""

    def enter(self, request: Request) -> Request | Response:
        return trouble(request, 403, "closed")


def test_health_needs_no_login_and_metrics_need_their_own_switch(database: Database) -> None:
    queue(database, "append", {"password": "x-secret-1"})
    web = Web(lambda: locate(database.url))
    closed, opened = (Standalone(web, Shut(), Place(prefix="/jobs", has_metrics=each)) for each in (False, True))
    for page, method, path, host, status in (
        (closed, "GET", "/healthz", "localhost", 200),
        # A monitor may know only the address.
        (closed, "GET", "/jobs/healthz", "10.1.2.3:8321", 200),
        (closed, "HEAD", "/healthz", "", 200),
        (closed, "POST", "/healthz", "localhost", 403),
        (closed, "GET", "/healthz/", "localhost", 403),
        (closed, "GET", "/metrics", "localhost", 403),
        (opened, "POST", "/metrics", "localhost", 403),
        (opened, "GET", "/metrics/", "localhost", 403),
        (opened, "GET", "/", "localhost", 403),
        # Another site whose name leads to this host.
        (opened, "GET", "/metrics", "evil.example", 403),
        (opened, "GET", "/metrics", "localhost", 200),
        (opened, "HEAD", "/jobs/metrics", "localhost", 200),
    ):
        found = page.respond(Request(method, path, headers={"host": host}))
        assert (found.status, method == "HEAD" and found.body) == (status, method == "HEAD" and b""), (path, host)
        if method == "GET" and status == 200:
            assert (found.body == b"ok\n") is path.endswith("/healthz")
        assert b"-secret-" not in found.body
    found = opened.respond(Request("GET", "/metrics", headers={"host": "localhost"}))
    values = {
        (sample.name, sample.labels.get("type")): sample.value
        for family in text_string_to_metric_families(found.body.decode())
        for sample in family.samples
    }
    assert values["jobrunner_runs_due", "append"] == 1.0
    assert dict(found.headers)["Content-Type"].startswith("text/plain; version=0.0.4")
    # Without the database it is a trouble for metrics, and none for the page itself.
    database.execute("ALTER TABLE job_attempts RENAME TO gone")
    broken = Standalone(Web(lambda: locate(database.url)), Shut(), Place(has_metrics=True))
    asked = {path: broken.respond(Request("GET", path, headers={"host": "[::1]"})) for path in ("/healthz", "/metrics")}
    assert [each.status for each in asked.values()] == [200, 503]


@sqlite_only
def test_switch_opens_metrics_to_who_has_not_signed_in(jobrunner: Commands) -> None:
    for words, status in (((), 403), (("--metrics",), 200)):
        with served(jobrunner, *words) as server:
            for path, expected in (("/healthz", 200), ("/metrics", status)):
                connection = HTTPConnection("127.0.0.1", server.port, timeout=stretched(20))
                connection.request("GET", path)
                answer = connection.getresponse()
                assert (answer.status, bool(answer.read())) == (expected, True), (words, path)
                connection.close()
