"""OpenTelemetry: the trace of an enqueue goes on in its run, and no tick imports it or waits for an exporter."""

import asyncio
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from opentelemetry.sdk.trace import TracerProvider

from harness import App, Commands, Database, SQLiteDatabase, pages
from harness.async_connections import KINDS
from harness.command_jobs import write_jobs
from harness.handlers_rows import make_due, status_of
from harness.idle_ticks import tick
from jobrunner import Entry, enqueue, enqueue_async, enqueue_many

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"
HANDLERS = """
import os, time
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from jobrunner import job

class ToFile(SpanExporter):
    def export(self, spans):
        with open(os.environ["SPANS"], "a") as file:
            for span in spans:
                file.write(span.to_json(indent=None) + "\\n")
        while "HANGS" in os.environ:
            time.sleep(1)
        return SpanExportResult.SUCCESS

provider = TracerProvider()
later = BatchSpanProcessor(ToFile(), schedule_delay_millis=3_600_000)
provider.add_span_processor(later if "HANGS" in os.environ else SimpleSpanProcessor(ToFile()))
trace.set_tracer_provider(provider)

def work(ctx):
    with trace.get_tracer("mine").start_as_current_span("of the handler"):
        if ctx.attempt == 1:
            raise RuntimeError("no paper")

@job("plain", max_attempts=2)
def plain(ctx):
    work(ctx)

@job("unreadable", max_attempts=1)
def unreadable(ctx):
    class Unreadable(Exception):
        def __str__(self):
            raise RuntimeError("no")
    raise Unreadable

@job("in_loop", max_attempts=2)
async def in_loop(ctx):
    work(ctx)
"""


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    return tmp_path / "spans.jsonl"


def exported(spans: Path) -> dict[str, list[dict[str, Any]]]:
    """The spans by their names, in the order of their ends."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in spans.read_text().splitlines():
        span = json.loads(line)
        found.setdefault(span["name"], []).append(span)
    return found


def ids(context: Mapping[str, str]) -> tuple[str, str]:
    return context["trace_id"].removeprefix("0x"), context["span_id"].removeprefix("0x")


@pytest.mark.parametrize("job_type", ["plain", "in_loop"])
def test_first_attempt_is_a_child_of_the_enqueueing_span_a_retry_a_linked_root_and_the_tick_imports_nothing(
    jobrunner: Commands, app: App, database: Database, spans: Path, job_type: str
) -> None:
    app.write("handlers", HANDLERS)
    env = {"SPANS": str(spans)}
    run_id = int(jobrunner("enqueue", job_type, env={**env, "TRACEPARENT": TRACEPARENT}).stdout)
    assert jobrunner.show(run_id)["trace_id"] == TRACE
    assert ["trace_id", TRACE] in [line.split() for line in jobrunner("show", run_id).stdout.splitlines()]
    first = tick(jobrunner, env=env)
    make_due(database, run_id)
    jobrunner.tick(env=env)
    assert status_of(database, run_id) == "succeeded"
    assert not [name for name in first.imported if name.startswith("opentelemetry")]
    found = exported(spans)
    child, retry = found[job_type]
    assert (ids(child["context"])[0], child["parent_id"].removeprefix("0x")) == (TRACE, SPAN)
    assert child["status"] == {"status_code": "ERROR", "description": "RuntimeError: no paper"}
    assert child["attributes"] == {
        "jobrunner.job_type": job_type, "jobrunner.run_id": run_id, "jobrunner.attempt": 1,
    }  # fmt: skip
    assert (retry["parent_id"], ids(retry["context"])[0] != TRACE) == (None, True)
    assert [ids(link["context"]) for link in retry["links"]] == [(TRACE, SPAN)]
    assert retry["status"] == {"status_code": "UNSET"}
    within = [span["parent_id"] for span in found["of the handler"]]
    assert within == [child["context"]["span_id"], retry["context"]["span_id"]]


def test_error_whose_message_cannot_be_read_is_the_one_of_the_handler_in_the_run_and_in_its_span(
    jobrunner: Commands, app: App, database: Database, spans: Path
) -> None:
    app.write("handlers", HANDLERS)
    run_id = jobrunner.enqueue("unreadable")
    jobrunner.tick(env={"SPANS": str(spans)})
    assert database.value("SELECT error_type FROM job_runs WHERE id = ?", [run_id]) == "Unreadable"
    (span,) = exported(spans)["unreadable"]
    assert span["status"] == {"status_code": "ERROR", "description": "Unreadable"}


def test_exporter_that_hangs_delays_the_end_of_its_tick_by_a_second_at_most_and_no_run(
    jobrunner: Commands, app: App, database: Database, spans: Path
) -> None:
    app.write("handlers", HANDLERS.replace("if ctx.attempt == 1", "if False"))
    for _ in range(5):
        run_ids = [jobrunner.enqueue("plain") for _ in range(3)]
        # Without a limit this tick would not end, and the harness would give it up.
        jobrunner.tick("--concurrency", 1, env={"SPANS": str(spans), "HANGS": "yes"})
        assert [status_of(database, each) for each in run_ids] == ["succeeded"] * 3
        # On a machine that is too busy the export may not begin in time.
        if spans.exists() and exported(spans).get("plain"):
            break
    else:
        pytest.fail("no child exported its spans at its end")


def test_page_configures_an_exporter_that_the_handlers_use(jobrunner: Commands, app: App, database: Database) -> None:
    (block,) = pages.checked_by("tests/health/test_tracing.py::test_page_configures_an_exporter_that_the_handlers_use")
    app.write(
        "handlers",
        f"""{block.text}
from jobrunner import job

@job("known")
def known(ctx):
    with trace.get_tracer("mine").start_as_current_span("of the handler"):
        pass
    provider.force_flush()
""",
    )
    run_id = int(jobrunner("enqueue", "known", env={"TRACEPARENT": TRACEPARENT}).stdout)
    jobrunner.tick()
    output = jobrunner.show(run_id)["attempt_log"][0]["output"]
    assert '"name": "of the handler"' in output
    assert f'"trace_id": "0x{TRACE}"' in output


@pytest.mark.parametrize("traceparent", [TRACEPARENT, "", "00-x", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01"])
def test_command_gets_the_traceparent_of_its_run_and_never_that_of_its_tick(
    jobrunner: Commands, app: App, database: Database, traceparent: str
) -> None:
    write_jobs(app, """[jobs.say]\ncommand = "echo traced by ${TRACEPARENT-nothing}"\nshell = true\n""")
    run_id = int(jobrunner("enqueue", "say", env={"TRACEPARENT": traceparent}).stdout)
    jobrunner.tick(env={"TRACEPARENT": f"00-{TRACE[::-1]}-{SPAN}-01"})
    is_one = traceparent == TRACEPARENT
    said = f"traced by {TRACEPARENT if is_one else 'nothing'}\n"
    shown = jobrunner.show(run_id)
    assert shown["attempt_log"][0]["output"] == said
    assert (shown["traceparent"], shown["trace_id"]) == ((TRACEPARENT, TRACE) if is_one else (None, None))


def test_every_enqueue_in_a_span_stores_its_traceparent_and_outside_of_one_none(database: Database) -> None:
    path = database.path if isinstance(database, SQLiteDatabase) else None
    connection: Any = sqlite3.connect(path) if path else psycopg.connect(database.url)

    def every_way() -> None:
        enqueue(connection, "one", priority=2, max_attempts=3, key=str(len(traces(database))))
        enqueue_many(connection, "many", [{"n": 1}, {"n": 2}])
        enqueue_many(connection, "many", [{"n": 1}, Entry({"n": 2}, priority=4)])
        connection.commit()
        asyncio.run(enqueue_in_loop(database))

    with closing(connection):
        every_way()
        assert traces(database) == [None] * 6
        with TracerProvider().get_tracer("request").start_as_current_span("request") as span:
            every_way()
    context = span.get_span_context()
    assert traces(database)[6:] == [f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"] * 6
    if path is None:
        for given, stored in ((TRACEPARENT, TRACEPARENT), (f"{TRACEPARENT}!", None)):
            database.query("SELECT id FROM jobrunner_enqueue('sql', traceparent => ?)", [given])
            assert traces(database)[-1] == stored


async def enqueue_in_loop(database: Database) -> None:
    async with KINDS[database.name][0](database) as opened:
        await opened.begin()
        await enqueue_async(opened.connection, "in_loop")
        await opened.commit()


def traces(database: Database) -> list[str | None]:
    return [row["traceparent"] for row in database.query("SELECT traceparent FROM job_runs ORDER BY id")]
