"""`handler.using(...)`, `handler.enqueue` with the handler's own arguments, and the forms of `@job`."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

import jobrunner
from harness import Database
from jobrunner import Context, job
from jobrunner.application import registry
from jobrunner.errors import ConfigurationError, PayloadMismatch, UsageError


def test_options_given_by_using_and_by_name_make_the_same_run(database: Database, connection: Any) -> None:
    @job("report")
    def report(ctx: Context, user_id: int, transaction: str = "") -> None: ...

    options: dict[str, Any] = {
        "run_at": timedelta(hours=2),
        "priority": 7,
        "max_attempts": 2,
        "timeout": "5s",
        "key": "k",
    }
    urgent = report.using(**options)
    assert urgent.enqueue(connection, 1, transaction="the name of a parameter").created
    assert not urgent.enqueue(connection, user_id=2).created
    assert jobrunner.enqueue(connection, "report", {"user_id": 1}, **{**options, "key": "l"}).created
    report.enqueue_many(connection, [report.using(**{**options, "key": "m"}).entry(1)], priority=8)
    report.enqueue_many(connection, [report.using().entry(user_id=1)], priority=8)
    connection.commit()
    columns = "idempotency_key, payload, priority, max_attempts, run_at > created_at AS is_later, timeout"
    rows = database.query(f"SELECT {columns} FROM job_runs ORDER BY id")
    assert [(row["idempotency_key"], row["payload"], row["priority"], row["is_later"]) for row in rows] == [
        ("k", {"user_id": 1, "transaction": "the name of a parameter"}, 7, True),
        ("l", {"user_id": 1}, 7, True),
        ("m", {"user_id": 1}, 7, True),
        (None, {"user_id": 1}, 8, False),
    ]
    assert len({(row["max_attempts"], row["timeout"]) for row in rows[:3]}) == 1


def test_arguments_or_options_that_cannot_be_used_enqueue_nothing(database: Database, connection: Any) -> None:
    @job
    def send(ctx: Context, to: str, *, copies: int = 1) -> None: ...

    loose: Any = send
    for call, problem in (
        (lambda: loose.enqueue(connection, "a", 2), "2 arguments are given by position; the handler takes to"),
        (lambda: loose.enqueue(connection, "a", to="b"), "argument 'to' is given twice"),
        (lambda: loose.enqueue(connection), "missing argument 'to'"),
        (lambda: loose.using(priority=1).enqueue(connection, to=5), "argument 'to' must be str, not int"),
        (lambda: loose.enqueue(connection, to="a", run_att=5), "unexpected argument 'run_att'"),
        (lambda: loose.enqueue(connection, to="a", run_at=None), r"'run_at' is no argument .* using\(run_at=...\)"),
        (lambda: loose.enqueue(connection, to="a", taken="raise"), r"the option is using\(if_taken=...\)"),
    ):
        with pytest.raises(PayloadMismatch, match=problem):
            call()
    with pytest.raises(UsageError, match="priority must be a whole number"):
        loose.using(priority=1001).enqueue(connection, to="a")
    connection.commit()
    assert database.query("SELECT id FROM job_runs") == []


def test_handler_has_arguments_with_the_names_of_options(database: Database, connection: Any) -> None:
    @job
    def wait(ctx: Context, timeout: int, *, key: str = "") -> None: ...

    wait.using(timeout="5s", key="k").enqueue(connection, timeout=7, key="its own")
    connection.commit()
    (row,) = database.query("SELECT payload, idempotency_key, timeout FROM job_runs")
    assert tuple(row.values()) == ({"timeout": 7, "key": "its own"}, "k", 5)


def test_entry_of_another_handler_is_refused(database: Database, connection: Any) -> None:
    @job
    def send(ctx: Context, to: str) -> None: ...

    @job
    def fetch(ctx: Context, to: str) -> None: ...

    with pytest.raises(UsageError, match=r"payloads\[0\]: it is an entry of 'fetch', and the call enqueues 'send'"):
        send.enqueue_many(connection, [fetch.using(priority=1).entry("a")])


def test_job_without_parentheses_registers_the_function_under_its_name() -> None:
    @job
    def plain(ctx: Context, name: str) -> str:
        return f"hello {name}"

    context: Any = None
    assert plain(context, name="Ada") == "hello Ada"
    assert (plain.name, list(registry.registered())) == ("plain", ["plain"])


def test_generator_function_as_a_handler_is_refused_at_import() -> None:
    """A call makes the generator and runs none of it: each run succeeded and had done nothing."""

    def sync(ctx: Context) -> Iterator[int]:
        yield 1

    async def asynchronous(ctx: Context) -> AsyncIterator[int]:
        yield 1

    for function in (sync, asynchronous):
        for decorator in (job, job("named")):
            with pytest.raises(ConfigurationError, match=f"{function.__name__} is a generator: .*; replace each yield"):
                decorator(function)
    assert registry.registered() == {}
