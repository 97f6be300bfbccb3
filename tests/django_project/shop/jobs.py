import asyncio
import sqlite3

import asyncpg
import psycopg
from django.core.mail import send_mail
from sqlalchemy import create_engine, text

from jobrunner import Context, fixed, job
from shop.models import Account


@job("send_welcome", discard_on=Account.DoesNotExist)
def send_welcome(ctx: Context, email: str) -> str:
    account = Account.objects.get(email=email)
    account.welcomed = True
    account.save()
    return f"welcome {email}"


@job("fail", max_attempts=2, backoff=fixed("1h"))
def fail(ctx: Context) -> None:
    Account.objects.create(email="half")
    raise RuntimeError("as asked")


@job("welcome_async")
async def welcome_async(ctx: Context, email: str) -> None:
    await Account.objects.filter(email=email).aupdate(welcomed=True)


@job("welcome_all", max_attempts=1)
def welcome_all(ctx: Context, databases: list[str]) -> None:
    for name in databases:
        Account.objects.using(name).update(welcomed=True)


@job("mail_and_welcome", max_attempts=1)
def mail_and_welcome(ctx: Context, email: str) -> None:
    assert send_mail("welcome", "to our shop", "shop@example.com", [email]) == 1


@job("welcome_by_library", max_attempts=1)
def welcome_by_library(ctx: Context, library: str, url: str) -> None:
    """On a connection of its own, which Django does not know."""
    statement = "UPDATE shop_account SET welcomed = true"
    if library == "sqlalchemy":
        with create_engine(url).begin() as connection:
            connection.execute(text(statement))
    elif library == "asyncpg":
        asyncio.run(execute_by_asyncpg(url, statement))
    elif library == "psycopg":
        with psycopg.connect(url) as connection:
            connection.execute(statement)
    else:
        with sqlite3.connect(url.removeprefix("sqlite:///")) as file:
            file.execute(statement)


async def execute_by_asyncpg(url: str, statement: str) -> None:
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as pool:
        await pool.execute(statement)
