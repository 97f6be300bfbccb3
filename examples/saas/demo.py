"""The demo behind `make demo`: the application at work for about ten seconds, with a tick killed in the middle.

Needs no arguments and no network. Writes to demo-output/ of the current checkout, or to DEMO_OUTPUT. With
DEMO_DATABASE_URL it works in that database, which must be empty, instead of an SQLite file in the folder.
Exits 0 if and only if every user has exactly the mails that they should have.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path

import app
from handlers import monday_of
from sqlalchemy import insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from stage import COMMAND, DemoFailed, chapter, command, decoded, expect, jobrunner, reader, rows, say, shown, wait_for
from tables import activity, engine, metadata, sent_reports, sessions, users, utc_now

HERE = Path(__file__).resolve().parent
OUTPUT = Path(os.environ.get("DEMO_OUTPUT") or HERE.parents[1] / "demo-output").absolute()
MAILS, TEMPORARY, DATABASE = OUTPUT / "mails", OUTPUT / "tmp", OUTPUT / "demo.db"
MADE_BY_US = OUTPUT / ".made-by-the-demo"

USERS, BUSY, GONE = 60, 5, "gone-1@customers.example"
KILL_AFTER_MAILS = 12


def main() -> None:
    """The demo, from top to bottom."""
    set_up_environment()
    make_output_folder()
    refuse_a_database_in_use()
    say("jobrunner's demo: a small application that mails weekly reports to its users.")
    say(f"All that it writes is in {shown(OUTPUT)}; its mail server is a real one, on this machine only.")

    chapter("Set up: jobrunner's tables beside the application's own, and two schedules")
    jobrunner("migrate")
    jobrunner("apply")
    last_week = monday_of(datetime.now(UTC).date()) - timedelta(days=7)
    load_data(last_week)
    with mail_server():
        chapter("Enqueue: by hand what Monday and the night would bring, and what the web pages do")
        jobrunner("enqueue", "cleanup_nightly")
        jobrunner("enqueue", "enqueue_weekly_reports", "--payload", f'{{"week_start": "{last_week}"}}')
        later_run = use_the_web_pages(last_week)

        chapter("Work: what cron does every minute; the first tick is killed in the middle")
        kill_a_tick()
        tick_until_settled(later_run)

    chapter("What is left: jobrunner status")
    jobrunner("status")
    chapter("The runs that needed more than one attempt")
    show_retried()
    chapter("The one that is dead, and why: jobrunner show")
    jobrunner("show", str(dead_runs()[0]))
    chapter("The mails, counted from the server's files")
    check(last_week, later_run)
    chapter("All of it in a browser, until Ctrl-C")
    say(f"$ {look()}")


# Set up.


def set_up_environment() -> None:
    """The settings of this application, and none of those that whoever runs the demo may have for another."""
    for name in list(os.environ):
        if name.startswith("JOBRUNNER_") or name == "DATABASE_URL":
            del os.environ[name]
    os.environ |= {
        "JOBRUNNER_DATABASE_URL": os.environ.get("DEMO_DATABASE_URL") or f"sqlite:///{DATABASE}",
        "JOBRUNNER_APP_DIR": str(HERE),
        "JOBRUNNER_IMPORT": "handlers",
        "JOBRUNNER_STATE_DIR": str(OUTPUT / "state"),
        "JOBRUNNER_LOG": str(OUTPUT / "jobrunner.log"),
        # Short, so that it can be watched: the default lease is a minute, and so is the first wait.
        "JOBRUNNER_LEASE": "5s",
        "SAAS_FIRST_WAIT": "0.5s",
        "SAAS_TEMP_DIR": str(TEMPORARY),
    }


def make_output_folder() -> None:
    """Afresh, but never in place of a folder that is somebody else's."""
    if OUTPUT.exists() and any(OUTPUT.iterdir()) and not MADE_BY_US.exists():
        raise DemoFailed(f"{OUTPUT} holds files that the demo has not made; name another folder in DEMO_OUTPUT")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    for folder in (OUTPUT, MAILS, TEMPORARY):
        folder.mkdir(parents=True)
    MADE_BY_US.touch()


def refuse_a_database_in_use() -> None:
    """The demo drops nothing; so a second time it needs a second database."""
    if "DEMO_DATABASE_URL" not in os.environ:
        return
    try:
        tables = set(inspect(reader()).get_table_names())
    except SQLAlchemyError as error:
        raise DemoFailed(f"the database of DEMO_DATABASE_URL cannot be used ({type(error).__name__})") from None
    used = tables & set(metadata.tables)
    if "job_runs" in tables and rows("SELECT id FROM job_runs LIMIT 1"):
        used.add("job_runs")
    if used:
        raise DemoFailed(f"the database of DEMO_DATABASE_URL is in use (table {min(used)}); give the demo an empty one")


def load_data(last_week: date) -> None:
    """The application's users and what they did, sessions and temporary files, some of them old."""
    metadata.create_all(engine())
    addresses = [f"busy-{number}@customers.example" for number in range(1, BUSY + 1)]
    addresses += [GONE, *(f"user-{number}@customers.example" for number in range(BUSY + 2, USERS + 1))]
    days = [last_week + timedelta(days=number) for number in range(-14, 14)]
    with engine().begin() as connection:
        old = [{"email": each, "name": each.partition("@")[0], "since": days[0]} for each in addresses]
        connection.execute(insert(users), old)
        ids = connection.execute(select(users.c.id).order_by(users.c.id)).scalars().all()
        acts = [{"user_id": id_, "day": day, "events": (id_ * day.day) % 9} for id_ in ids for day in days]
        connection.execute(insert(activity), acts)
        ends = [timedelta(hours=hours) for hours in (-48, -1, 5)]
        held = [{"user_id": id_, "expires_at": utc_now() + end} for id_ in ids for end in ends]
        connection.execute(insert(sessions), held)
    two_days_ago = datetime.now(UTC).timestamp() - 2 * 86_400
    for number in range(30):
        path = TEMPORARY / f"export-{number}.csv"
        path.write_text("made for the demo\n")
        if number < 20:
            os.utime(path, (two_days_ago, two_days_ago))
    say(f"The application: {USERS} users, {len(acts)} rows of activity, {len(held)} sessions, 30 temporary files.")


@contextmanager
def mail_server() -> Iterator[None]:
    """A process of its own. It ends when the pipe that it reads is closed, also by the death of this process."""
    start = [sys.executable, str(HERE / "mailserver.py"), str(MAILS)]
    server = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        port = server.stdout.readline().strip()
        if not port:
            raise DemoFailed("the mail server did not start; its reason is above")
        os.environ["SAAS_SMTP"] = f"127.0.0.1:{port}"
        say(
            f"The mail server listens on 127.0.0.1:{port}. It refuses {BUSY} addresses twice (451) and {GONE} for good."
        )
        yield
    finally:
        server.stdin.close()
        server.wait(10)
        server.stdout.close()


def use_the_web_pages(last_week: date) -> int:
    """Sign up and click, in the application's own transactions. Returns the run that waits for next Monday."""
    new_user, waiting = app.sign_up("new@customers.example", "new")
    say(f"A sign-up: user {new_user}, and run {waiting.id} for next Monday, in one transaction.")
    try:
        app.sign_up("new@customers.example", "the same again")
    except app.AddressTaken as error:
        say(f"Another with {error} fails: its transaction is rolled back, so it leaves no run either.")
    first_day, last_day = last_week - timedelta(days=9), last_week + timedelta(days=3)
    clicked = app.click_report(USERS, first_day, last_day)
    again = app.click_report(USERS, first_day, last_day)
    if again.id != clicked.id or again.created:
        raise DemoFailed(f"a second click made run {again.id} beside run {clicked.id}")
    say(f"User {USERS} clicks on a report from {first_day} to {last_day}: run {clicked.id}.")
    say("A second click on the same gives the same run.")
    assert waiting.id is not None  # no type here has a limit, so nothing was dropped
    return waiting.id


# Work.


def kill_a_tick() -> None:
    """Start a tick, and kill it when it is seen to be in the middle of its work."""
    command("tick")
    tick = subprocess.Popen([COMMAND, "tick"], stdin=subprocess.DEVNULL)
    try:
        while True:
            wait_for(lambda: len(stored()) >= KILL_AFTER_MAILS or tick.poll() is not None, "the first mails")
            # Held still while we look, so that what is seen is what is killed.
            os.kill(tick.pid, signal.SIGSTOP)
            if not os.WIFSTOPPED(os.waitpid(tick.pid, os.WUNTRACED)[1]):
                raise DemoFailed("the tick ended before it could be killed; see jobrunner.log")
            at_work = rows("SELECT id FROM job_runs WHERE status = 'running'")
            if len(at_work) > 1:
                break
            os.kill(tick.pid, signal.SIGCONT)
            time.sleep(0.01)
    finally:
        tick.kill()
        tick.wait()
    say(
        f"SIGKILL: {len(stored())} mails had arrived, and {len(at_work)} runs were at work. Nobody cleans up behind it."
    )
    say("The next tick comes when the leases of those runs are over (5 seconds here, a minute by default).")
    wait_for(lambda: rows("SELECT id FROM job_recoverable"), "the end of the leases")


def tick_until_settled(later_run: int) -> None:
    """What cron does, only faster: a tick whenever something is due, until nothing is left to do."""
    number = 1
    while rows(f"SELECT id FROM job_runs WHERE status IN ('queued', 'failed', 'running') AND id <> {later_run}"):
        wait_for(lambda: rows("SELECT id FROM job_due"), "something to do")
        number += 1
        command("tick")
        if subprocess.run([COMMAND, "tick"], stdin=subprocess.DEVNULL).returncode:
            raise DemoFailed(f"tick {number} failed; see jobrunner.log")
        (last,) = rows("SELECT counts FROM job_ticks ORDER BY id DESC LIMIT 1")
        say(f"tick {number}: " + ", ".join(f"{count} {name}" for name, count in decoded(last.counts).items()))
        retry_what_was_killed()


def retry_what_was_killed() -> None:
    """A person's command, for impatience only."""
    killed = rows("SELECT id FROM job_runs WHERE status = 'failed' AND error_type = 'lease_expired' ORDER BY id")
    if killed:
        say("The killed tick's runs will be tried again in a minute. We do not want to wait for that:")
        jobrunner("retry", *(str(row.id) for row in killed))


# What came of it.


def show_retried() -> None:
    """Each attempt of each run that had several: ordinary tables, so SQL is enough."""
    tried = rows(
        "SELECT run_id, job_type, outcome, error FROM job_attempts JOIN job_runs ON job_runs.id = run_id"
        " WHERE attempts > 1 ORDER BY run_id, sequence"
    )
    for run_id in sorted({row.run_id for row in tried}):
        each = [(row.outcome, row.error) for row in tried if row.run_id == run_id]
        job_type = next(row.job_type for row in tried if row.run_id == run_id)
        words = [f"{outcome} ({error[:3]})" if outcome == "failed" else outcome for outcome, error in each]
        say(f"run {run_id:>3}  {job_type}  {' -> '.join(words)}")


def check(last_week: date, later_run: int) -> None:
    """Say what was counted, and fail unless it is exactly right."""
    with engine().begin() as connection:
        old = users.c.since < last_week
        addresses = set(connection.execute(select(users.c.email).where(old)).scalars())
        clicker = connection.execute(select(users.c.email).where(users.c.id == USERS)).scalar_one()
        noted = connection.execute(select(sent_reports.c.user_id).where(sent_reports.c.sent_at.is_not(None))).all()
        left = connection.execute(select(sessions.c.expires_at)).scalars().all()
    weekly = Counter(each["To"] for each in mails() if f"{last_week} to" in each["Subject"])
    clicked = [each["To"] for each in mails() if f"{last_week} to" not in each["Subject"]]
    server = Counter(line.split()[0] for line in (MAILS / "server.log").read_text().splitlines())
    statuses = Counter(row.status for row in rows("SELECT status FROM job_runs"))
    retried = rows("SELECT id FROM job_runs WHERE attempts > 1")
    cut_short = rows("SELECT id FROM job_attempts WHERE outcome = 'lease_expired'")
    waiting = [row.id for row in rows("SELECT id FROM job_runs WHERE status = 'queued'")]
    killed_ticks = rows("SELECT id FROM job_ticks WHERE finished_at IS NULL")
    files = list(TEMPORARY.iterdir())

    twice = [address for address, number in weekly.items() if number > 1]
    say(f"{len(addresses)} users: {len(weekly)} got a weekly report, {len(twice)} of them more than one")
    say(f"reports that somebody clicked on: {len(clicked)}")
    say(f"refused for a while {server['451']} times, for good {server['550']} time(s)")
    say(f"second copies that the server knew by their Message-ID and dropped: {server['dropped']}")
    say(f"runs tried again {len(retried)}, dead {statuses['dead']}, killed ticks {len(killed_ticks)}")
    say(f"expired sessions left 0 of {2 * USERS}, others {len(left)}; temporary files left {len(files)}")

    expect("one weekly report for each user but the one who is gone", weekly == Counter(addresses - {GONE}))
    expect("one report for the user who clicked", clicked == [clicker])
    expect("as many reports noted as sent as there are mails", len(noted) == len(mails()))
    expect("two refusals for each busy address", server["451"] == 2 * BUSY)
    expect("a refusal for good", server["550"] > 0)
    expect("the runs of the busy addresses tried again", len(retried) >= BUSY)
    expect("attempts that the killed tick has left", len(cut_short) > 0)
    expect("one dead run", statuses["dead"] == 1)
    expect("the new user's run, and no other, waiting", waiting == [later_run])
    expect("nothing failed or running", not statuses["failed"] and not statuses["running"])
    expect("one killed tick on record", len(killed_ticks) == 1)
    expect("the expired sessions gone, the others there", len(left) == USERS and min(left) > utc_now())
    expect("the old temporary files gone, the others there", len(files) == 10)
    say("So: one report per user, although a tick was killed in the middle.")


def look() -> str:
    """The command that shows the demo's data. The URL of a server may hold a password, so it is not repeated."""
    given = '"$DEMO_DATABASE_URL"' if "DEMO_DATABASE_URL" in os.environ else shlex.quote(f"sqlite:///{DATABASE}")
    return f"JOBRUNNER_DATABASE_URL={given} {shlex.quote(shown(COMMAND).rstrip('/'))} web"


def dead_runs() -> list[int]:
    found = [row.id for row in rows("SELECT id FROM job_runs WHERE status = 'dead' ORDER BY id")]
    expect("one dead run", len(found) == 1)
    return found


def stored() -> list[Path]:
    """The server's files, one for each mail."""
    return list(MAILS.glob("*.eml"))


def mails() -> list[Message]:
    """The headers of each mail."""
    return [BytesHeaderParser().parsebytes(path.read_bytes()) for path in stored()]


if __name__ == "__main__":
    try:
        main()
    except DemoFailed as problem:
        sys.exit(f"demo: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
