"""The application's jobs. `jobrunner tick` imports this module in its children (JOBRUNNER_IMPORT=handlers)."""

import os
import smtplib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from tables import activity, engine, sent_reports, sessions, users, utc_now

from jobrunner import Context, Discard, Enqueued, Retry, Schedule, exponential, job

# The first wait after a failed attempt. The demo shortens it: nobody wants to watch a minute pass.
FIRST_WAIT = os.environ.get("SAAS_FIRST_WAIT", "1m")
OLD_FILE = timedelta(days=1)


@job("cleanup_nightly", timeout="5m", schedule="0 2 * * *")
def cleanup_nightly(ctx: Context) -> dict[str, int]:
    """Delete expired sessions and old temporary files. Doing it twice does no harm, so it needs no guard."""
    with engine().begin() as connection:
        expired = connection.execute(delete(sessions).where(sessions.c.expires_at < utc_now())).rowcount
    oldest = (datetime.now(UTC) - OLD_FILE).timestamp()
    removed = 0
    for path in Path(os.environ["SAAS_TEMP_DIR"]).iterdir():
        if path.is_file() and path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
            removed += 1
    ctx.log.info("cleaned up", sessions=expired, files=removed)
    return {"sessions": expired, "files": removed}


@job("enqueue_weekly_reports", schedule=Schedule("0 7 * * 1", name="monday_reports"))
def enqueue_weekly_reports(ctx: Context, week_start: str | None = None) -> dict[str, Any]:
    """On Monday: one run per user for the week before, if they were one by then. All are enqueued, or none.

    The schedule gives no payload: the week follows from the slot, so that a late or repeated attempt means the same
    week. Whoever enqueues it by hand names the week.
    """
    if week_start is not None:
        monday = _day(week_start)
    elif ctx.scheduled_for is not None:
        monday = monday_of(ctx.scheduled_for.date()) - timedelta(days=7)
    else:
        raise Discard('name the week: --payload \'{"week_start": "2026-01-05"}\'')
    of_the_week = select(users.c.id).where(users.c.since < monday + timedelta(days=7)).order_by(users.c.id)
    with engine().begin() as connection:
        ids = connection.execute(of_the_week).scalars().all()
        made = [enqueue_report(connection, user_id, monday).created for user_id in ids]
    return {"week_start": monday.isoformat(), "enqueued": sum(made), "there_already": len(made) - sum(made)}


def enqueue_report(
    connection: Connection,
    user_id: int,
    first_day: date,
    last_day: date | None = None,
    *,
    run_at: datetime | None = None,
    priority: int = 0,
) -> Enqueued:
    """Enqueue one report in the caller's transaction: of a week, or with `last_day` of any range.

    Everybody who wants a report goes through here, so that the same report always has the same key and exists once,
    however often and from wherever it is asked for.
    """
    payload: dict[str, Any] = {"user_id": user_id, "week_start": first_day.isoformat()}
    key = f"{user_id}:{first_day}"
    if last_day is not None and last_day != first_day + timedelta(days=6):
        payload["until"] = last_day.isoformat()
        key = f"{key}..{last_day}"
    request = send_weekly_report.using(key=key, run_at=run_at, priority=priority)
    return request.enqueue(connection, **payload)


@job("send_weekly_report", max_attempts=10, timeout="60s", backoff=exponential(FIRST_WAIT, cap="30m"))
def send_weekly_report(ctx: Context, user_id: int, week_start: str, until: str | None = None) -> str:
    """Send a user's report: of the week from `week_start` on or, with `until`, of the days up to and with that one.

    A mail cannot be sent and written down in one step, so this is done in three, each safe to repeat:

    1. reserve: the report's row in `sent_reports`, committed before anything is sent. Its primary key lets one run
       have it and no other.
    2. send.
    3. note: `sent_at` in that row. Whoever finds it sends nothing.

    Killed before 2 or after 3, the next attempt does the right thing. Between them, plain SMTP leaves a gap that no
    order of the steps can close: the server has the mail, and nobody has written that down. Had step 3 come before
    step 2, a crash there would lose the mail for good; so the next attempt sends it again, with the same Message-ID as
    the first. Servers and mail programs that know a Message-ID already drop the second copy; one that does not would
    show the mail twice.
    """
    report = Report(user_id, _day(week_start), _day(until) if until else _day(week_start) + timedelta(days=6))
    message = compose(report)
    if not reserve(report, ctx.run_id):
        return f"{report.message_id} was sent before"
    try:
        deliver(message)
    except smtplib.SMTPException as error:
        code, words = _answer(error)
        ctx.log.warning("the mail server refused", code=code, words=words)
        if code < 500:
            raise Retry(f"{code} {words}") from None
        # For good. The row goes, so that the report can be asked for again when the address has been put right.
        give_up(report)
        raise Discard(f"{code} {words}") from None
    note_sent(report)
    return report.message_id


@dataclass(frozen=True)
class Report:
    """Which report: whose, and of which days."""

    user_id: int
    first_day: date
    last_day: date

    @property
    def message_id(self) -> str:
        """The same for each attempt: this is how a receiver knows a second copy."""
        return f"<report-{self.user_id}-{self.first_day}-{self.last_day}@saas.example>"

    def is_of(self, table: Any) -> Any:
        """The condition that finds its row."""
        columns = table.c
        return (
            (columns.user_id == self.user_id)
            & (columns.first_day == self.first_day)
            & (columns.last_day == self.last_day)
        )


def compose(report: Report) -> EmailMessage:
    """The mail. A user who has left gets none."""
    days = activity.c.day.between(report.first_day, report.last_day)
    with engine().begin() as connection:
        user = connection.execute(select(users).where(users.c.id == report.user_id)).one_or_none()
        counted = select(func.count(), func.coalesce(func.sum(activity.c.events), 0))
        active, events = connection.execute(counted.where(activity.c.user_id == report.user_id, days)).one()
    if user is None:
        raise Discard(f"there is no user {report.user_id}")
    message = EmailMessage()
    message["From"] = "Reports <reports@saas.example>"
    message["To"] = user.email
    message["Subject"] = f"Your report, {report.first_day} to {report.last_day}"
    message["Message-ID"] = report.message_id
    message.set_content(f"Hello {user.name},\n\nyou were active on {active} days, with {events} events.\n")
    return message


def reserve(report: Report, run_id: int) -> bool:
    """Step 1: have the report's row carry our run's id. False: the report has been sent."""
    mine = {"message_id": report.message_id, "run_id": run_id}
    key = {"user_id": report.user_id, "first_day": report.first_day, "last_day": report.last_day}
    try:
        with engine().begin() as connection:
            connection.execute(insert(sent_reports).values(**key, **mine))
        return True
    except IntegrityError:
        pass  # somebody was here before: another run, or an earlier attempt of this one
    with engine().begin() as connection:
        row = connection.execute(select(sent_reports).where(report.is_of(sent_reports))).one_or_none()
    if row is None or (row.run_id != run_id and row.sent_at is None):
        other = "another run" if row is None else f"run {row.run_id}"
        raise Retry(f"{other} has begun to send this report")
    return row.sent_at is None


def deliver(message: EmailMessage) -> None:
    """Step 2. Returns when the server has taken the mail."""
    host, _, port = os.environ.get("SAAS_SMTP", "localhost:25").partition(":")
    # A name of our own: smtplib would ask the network for one.
    with smtplib.SMTP(host, int(port), local_hostname="app.saas.example", timeout=20) as server:
        server.send_message(message)


def note_sent(report: Report) -> None:
    """Step 3."""
    with engine().begin() as connection:
        connection.execute(update(sent_reports).where(report.is_of(sent_reports)).values(sent_at=utc_now()))


def give_up(report: Report) -> None:
    """Undo step 1."""
    with engine().begin() as connection:
        connection.execute(delete(sent_reports).where(report.is_of(sent_reports), sent_reports.c.sent_at.is_(None)))


def monday_of(day: date) -> date:
    """The Monday of a day's week."""
    return day - timedelta(days=day.weekday())


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Discard(f"{text!r} is not a day; write it as 2026-01-05") from None


def _answer(error: smtplib.SMTPException) -> tuple[int, str]:
    """The server's code and words. What has none, such as a lost connection, is worth another try."""
    answer: bytes | str
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, answer = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPResponseException):
        code, answer = error.smtp_code, error.smtp_error
    else:
        code, answer = 0, f"{type(error).__name__}: {error}"
    return code, answer.decode(errors="replace") if isinstance(answer, bytes) else answer
