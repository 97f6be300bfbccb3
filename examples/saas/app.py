"""What the application's web pages call. Each enqueues in the transaction that does its own work."""

from datetime import UTC, date, datetime, time, timedelta

from handlers import enqueue_report, monday_of
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from tables import engine, users

from jobrunner import Enqueued

REPORTS_AT = time(7, tzinfo=UTC)


class AddressTaken(Exception):
    """Another user has signed up with this address."""


def sign_up(email: str, name: str) -> tuple[int, Enqueued]:
    """Make a user, and have the report of this week sent next Monday. If the user is not saved, neither is the run.

    Next Monday `enqueue_weekly_reports` meets the same key, and the user still gets one mail.
    """
    today = datetime.now(UTC).date()
    monday = monday_of(today)
    next_monday = datetime.combine(monday + timedelta(days=7), REPORTS_AT)
    new = insert(users).values(email=email, name=name, since=today).returning(users.c.id)
    with engine().begin() as connection:
        try:
            user_id = connection.execute(new).scalar_one()
        except IntegrityError:
            raise AddressTaken(email) from None
        return user_id, enqueue_report(connection, user_id, monday, run_at=next_monday)


def click_report(user_id: int, first_day: date, last_day: date) -> Enqueued:
    """A user clicked on "mail me these days". Somebody waits for it: it goes before the weekly ones.

    A second click means the same report, and gives the run that the first one made.
    """
    with engine().begin() as connection:
        return enqueue_report(connection, user_id, first_day, last_day, priority=10)
