"""The pages that show how an application asks: their code is executed as it stands there."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from flask import Flask
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import create_async_engine

import jobrunner as library
from harness import Commands, Database, SQLiteDatabase, pages
from harness.django_connection import django_connection

STOPPED = ["ticks_stopped"]


def block_of(test: str) -> str:
    (block,) = pages.checked_by(test)
    return block.text


def test_questions_of_the_page_are_answered(
    jobrunner: Commands, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine.begin() as connection:
        library.enqueue(connection, "echo", {})
    jobrunner.tick()
    with engine.begin() as connection:
        ids = [library.enqueue(connection, "echo", {}).id for _ in range(4)]
    code = block_of("tests/application/test_ask_in_apps.py::test_questions_of_the_page_are_answered")
    exec(code, {"engine": engine, "report_id": ids[-1], "timedelta": timedelta})
    assert capsys.readouterr().out == "Your report is waiting: 3 before it.\n"


def test_health_endpoint_tells_what_is_wrong_in_fastapi(jobrunner: Commands, database: Database) -> None:
    scheme = "sqlite+aiosqlite" if isinstance(database, SQLiteDatabase) else "postgresql+psycopg"
    app, engine = FastAPI(), create_async_engine(f"{scheme}:{database.url.partition(':')[2]}")
    code = block_of("tests/application/test_ask_in_apps.py::test_health_endpoint_tells_what_is_wrong_in_fastapi")
    exec(code, {"app": app, "engine": engine})

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
            answer = await client.get("/health/jobs")
        await engine.dispose()
        return answer

    answer = asyncio.run(asked())
    assert (answer.status_code, answer.json()) == (503, {"healthy": False, "findings": STOPPED})
    jobrunner.tick()
    answer = asyncio.run(asked())
    assert (answer.status_code, answer.json()) == (200, {"healthy": True, "findings": []})


def test_health_endpoint_tells_what_is_wrong_in_flask(jobrunner: Commands, engine: Engine) -> None:
    app = Flask("app")
    code = block_of("tests/application/test_ask_in_apps.py::test_health_endpoint_tells_what_is_wrong_in_flask")
    exec(code, {"app": app, "engine": engine})
    answer = app.test_client().get("/health/jobs")
    assert (answer.status_code, [each["name"] for each in json.loads(answer.data)["findings"]]) == (503, STOPPED)
    jobrunner.tick()
    answer = app.test_client().get("/health/jobs")
    assert (answer.status_code, json.loads(answer.data)) == (200, jobrunner("health", "--json").json())


@pytest.mark.parametrize("is_atomic", [False, True], ids=["autocommit", "ATOMIC_REQUESTS"])
def test_health_endpoint_tells_what_is_wrong_in_django(
    jobrunner: Commands, database: Database, is_atomic: bool
) -> None:
    with django_connection(database):
        from django.db import transaction
        from django.http import HttpRequest

        names: dict[str, Any] = {}
        code = block_of("tests/application/test_ask_in_apps.py::test_health_endpoint_tells_what_is_wrong_in_django")
        exec(code, names)
        view = transaction.atomic(names["health_of_jobs"]) if is_atomic else names["health_of_jobs"]
        answer = view(HttpRequest())
        assert (answer.status_code, [each["name"] for each in json.loads(answer.content)["findings"]]) == (503, STOPPED)
        jobrunner.tick()
        answer = view(HttpRequest())
        assert (answer.status_code, json.loads(answer.content)) == (200, jobrunner("health", "--json").json())
