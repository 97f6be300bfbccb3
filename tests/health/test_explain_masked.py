"""What explain says can be shown without the secrets of a run: texts of jobs and people lie apart from our words."""

from datetime import timedelta
from functools import partial
from typing import Any

from harness import Database
from harness.handlers_rows import queue
from harness.stores import opening
from jobrunner.store.questions.explain.explanation import Explanation
from jobrunner.store.questions.explain.runs import explain_run
from jobrunner.store.questions.explain.schedules import explain_schedule

# The second one is a secret that happens to be a word of ours.
SECRETS = ("hunter2", "jobrunner")


def mask(text: str) -> str:
    for secret in SECRETS:
        text = text.replace(secret, "•••")
    return text


def test_secret_in_an_error_a_reason_a_key_or_an_effect_is_masked_and_no_word_of_ours(database: Database) -> None:
    at = database.now()
    ended: dict[str, Any] = {"finished_at": at, "error_type": "LoginError"}
    key: dict[str, Any] = {"concurrency_key": "hunter2 it's", "run_at": at - timedelta(minutes=1)}
    dead = queue(database, "echo", status="dead", last_error="jobrunner: no login with hunter2", **ended)
    effect = queue(database, "echo", status="dead", last_error="hunter2", **ended)
    retry = queue(database, "echo", status="failed", last_error="hunter2", run_at=at + timedelta(hours=1))
    cancelled = queue(database, "echo", status="cancelled", finished_at=at)
    first, second = queue(database, "echo", **key), queue(database, "echo", **key)
    database.execute(
        "INSERT INTO job_effects (key, state, run_id, job_type, attempt, lease_token, token, intended_at)"
        " VALUES ('pay hunter2', 'uncertain', ?, 'echo', 1, 't', 't', ?)",
        [effect, at],
    )
    database.execute(
        "INSERT INTO job_events (at, actor, action, run_id, detail) VALUES (?, 'ada', 'cancel', ?, ?)",
        [at, cancelled, '{"why": "hunter2 leaked"}'],
    )
    waits = {"status": "failed", "last_error": "hunter2", "run_at": at + timedelta(hours=1)}
    for number, overlap in ((1, "allow"), (2, "skip")):
        values = [number, f"nightly {overlap}", overlap, at, at + timedelta(hours=1), at, at]
        database.execute(
            "INSERT INTO job_definitions (id, name, job_type, payload, schedule, timezone, source, overlap,"
            " last_slot_at, next_run_at, created_at, updated_at)"
            " VALUES (?, ?, 'echo', '{}', '@daily', 'UTC', 'cli', ?, ?, ?, ?, ?)",
            values,
        )
        queue(database, "echo", definition_id=number, scheduled_for=at, **waits)
    tick = "INSERT INTO job_ticks (host, worker, version, started_at) VALUES ('here', 'here:1:x', '1', ?)"
    database.execute(tick, [at])
    found: dict[str, Explanation] = {}
    with opening(database, patience_seconds=20) as open_one:
        store = open_one()
        for run_id in (dead, effect, retry, cancelled, first, second):
            one = store.read(partial(explain_run, run_id=run_id))
            assert one is not None
            found[one.reason] = one
        # Those of a schedule repeat that of a run.
        for name, reason in (("nightly allow", "not_due"), ("nightly skip", "overlap")):
            one = store.read(partial(explain_schedule, name=name))
            assert one is not None
            assert (one.reason, "hunter2" in str(one)) == (reason, True)
            found[name] = one
    assert {"dead", "uncertain_effect", "retry", "cancelled", "key"} <= set(found)
    for one in found.values():
        masked = one.masked(mask)
        assert "hunter2" not in str(masked), masked
        assert one.remedy is None or "jobrunner " in str(masked.remedy)
    assert found["dead"].masked(mask).sentence.endswith("LoginError: •••: no login with •••.")
    assert found["dead"].masked(str) == found["dead"]
    effects = "jobrunner effects settle 'pay •••' --applied"
    assert effects in str(found["uncertain_effect"].masked(mask).remedy)
