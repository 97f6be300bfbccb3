"""Change one line of the code at a time and see that a test fails: a test that cannot fail proves nothing.

Usage: python scripts/mutants.py [NAME...]

Each mutation of the table is applied to a copy of the package in an environment of its own, which the tests and all
their commands import; the checkout is left alone. It is killed when one of its tests fails. One line for each; exits
with 1 when one survives that has no reason to, or when what it changes is not in the code (scripts/mutation.py).
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import mutation
from mutation import Change, Drop, NotThere, Swap

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("jobrunner", "alembic", "alembic.ini")
LONGEST_SECONDS = 300


@dataclass(frozen=True)
class Mutation:
    """``place`` is a file and a function in it, or a file that is not Python's, in which ``Swap`` replaces a text.

    ``tests`` are to fail without it, unless ``reason`` says why none does. There are several changes where each of
    several places is enough.
    """

    name: str
    place: str
    change: Change | tuple[Change, ...]
    tests: Sequence[str]
    reason: str = ""

    @property
    def file(self) -> str:
        """The file that is changed."""
        return self.place.partition(":")[0]

    def changed(self, source: str) -> str:
        """The file after the change. Raises NotThere if what it changes is not there."""
        changes = self.change if isinstance(self.change, tuple) else (self.change,)
        function = self.place.partition(":")[2]
        if function:
            return mutation.changed(source, function, changes)
        for each in changes:
            if not isinstance(each, Swap) or source.count(each.old) != 1:
                raise NotThere(f"{each} is not a text that occurs once in {self.file}")
            source = source.replace(each.old, each.new)
        return source

    def problem(self) -> str | None:
        """Why it cannot be tried."""
        source = (ROOT / self.file).read_text()
        try:
            after = self.changed(source)
        except NotThere as error:
            return str(error)
        before = mutation.as_written(source) if ":" in self.place else source
        return "it changes nothing" if after == before else None


AT_ONCE = "tests/promises/test_two_at_once.py"
BEATS = "tests/worker/test_heartbeat.py"
TOGETHER = "tests/worker/test_finalize_together.py"
LOCKED = "tests/worker/test_locked_rows.py"
LIFE = "tests/unit/test_lifecycle.py"
POISON = "tests/worker/test_hostile_handlers_poison.py"
STORE = "jobrunner/store"
WEB = "jobrunner/web"
MASKING = "jobrunner/masking"
GUARDED = "tests/web/test_web_guarded.py"
MASKED = "tests/web/test_web_masked.py"
SIGN_IN = "tests/web/test_web_sign_in.py"
ACTIONS = "tests/web/test_web_actions.py"
STATEMENTS = f"{STORE}/statements"
MEANWHILE = f"{AT_ONCE}::test_run_changed_by_an_open_transaction_is_not_claimed_recovered_or_pruned"
REFERRED = f"{LOCKED}::test_application_row_that_references_a_run_blocks_no_tick"
TOLD_APART = f"{LOCKED}::test_run_with_a_locked_row_is_not_taken_for_lost_and_delays_no_other"
ISOLATION = f"{AT_ONCE}::test_stricter_default_isolation_skips_changed_rows_like_any_other"
STOPPED_ONLY = f"{AT_ONCE}::test_recovery_ends_only_the_runs_whose_handlers_it_has_stopped"
AGE = f"{BEATS}::test_the_age_of_a_lease_is_counted_from_before_its_claim_and_its_renewal_were_sent"
AGE_ALONG = f"{BEATS}::test_age_of_a_lease_renewed_by_a_claim_or_finalize_is_counted_from_before_it_was_sent"
FENCE = f"{BEATS}::test_a_handler_is_stopped_at_three_quarters_of_a_lease_that_is_not_renewed_and_killed_before_its_end"
STALL = f"{BEATS}::test_leases_expire_while_the_main_loop_stalls_and_are_renewed_when_it_goes_on"
AFTER_STALL = f"{BEATS}::test_after_a_stall_the_main_loop_learns_first_which_leases_it_has_lost"
STALE = f"{BEATS}::test_a_stale_owner_renews_no_lease_of_another_owner_and_writes_no_report_of_its_run"
ASKED_FOR = f"{AT_ONCE}::test_quarantined_run_is_claimed_only_by_a_claim_for_it_alone"
SLOT_TWICE = f"{AT_ONCE}::test_a_slot_that_is_expanded_again_makes_no_second_run"
ALONE = f"{POISON}::test_quarantined_run_is_started_alone_in_its_tick"
EFFECTS = "tests/promises/test_effects.py"
FAILOVER = "tests/promises/test_failover.py"
OWN_CONFIRMED = "test_own_transaction_whose_wait_was_cancelled_is_committed_only_when_the_standby_has_it"
TAKEN_BACK = "test_intent_that_cannot_be_confirmed_is_taken_back_so_that_the_next_attempt_calls"
LATE_OUTCOME = "test_outcome_that_arrives_after_the_lease_was_lost_is_recorded_unless_the_effect_was_taken_over"
GOES_ON = "test_handler_that_goes_on_after_its_commit_keeps_no_lease_and_ends_as_succeeded_whatever_it_does"

QUARANTINE = "jobrunner/worker/life.py:Life._claim_quarantined"

MUTATIONS = (
    # Claiming.
    Mutation(
        "claim without its lock",
        f"{STATEMENTS}/queue/claims.py:claim",
        Drop(".with_for_update"),
        [MEANWHILE],
    ),
    Mutation(
        "claim that waits for locked rows",
        f"{STATEMENTS}/queue/claims.py:claim",
        Drop("skip_locked=True"),
        [MEANWHILE],
    ),
    Mutation(
        "claim that waits for a row that references a run",
        f"{STATEMENTS}/queue/claims.py:claim",
        Drop("key_share=True"),
        [REFERRED],
    ),
    Mutation(
        "claim whose UPDATE does not check again",
        f"{STATEMENTS}/queue/claims.py:claim",
        Drop("columns.status != RUNNING"),
        [MEANWHILE, "tests/schedules/test_overlap.py::test_two_concurrent_claims_take_one_run_of_a_concurrency_key"],
        "the lock holds what the view has found; the UPDATE asks again so that no run has two owners if it ever failed",
    ),
    # Recovery.
    Mutation(
        "recovery without its lock on the view",
        f"{STATEMENTS}/queue/expiries.py:locked",
        Drop(".with_for_update"),
        [MEANWHILE],
    ),
    Mutation(
        "recovery of any run",
        f"{STATEMENTS}/queue/expiries.py:locked",
        Drop(".where"),
        [STOPPED_ONLY],
    ),
    Mutation(
        "recovery that names no runs",
        "jobrunner/worker/recovery.py:_Recovery._end",
        Drop("only=some"),
        [STOPPED_ONLY],
    ),
    # The heartbeat.
    Mutation(
        "heartbeats while the main loop is stalled",
        "jobrunner/worker/heartbeat.py:Heartbeat._try_to_beat",
        Swap("clock.elapsed() - self._step_at > self._lease_seconds / 2", "False"),
        [STALL],
    ),
    Mutation(
        "no heartbeat after a stall",
        "jobrunner/worker/heartbeat.py:Heartbeat.note_step",
        Swap("stalled and len(self._hand)", "False"),
        [AFTER_STALL],
    ),
    Mutation(
        "leases of a heartbeat counted from its answer",
        "jobrunner/worker/heartbeat.py:Heartbeat._renew",
        Swap("sent_at", "clock.elapsed()"),
        [AGE],
    ),
    Mutation(
        "leases of a claim counted from its answer",
        "jobrunner/worker/claimer.py:Claimer._take_answer",
        Swap("self._take_in_hand(request, claim, sent.sent_at)", "self._take_in_hand(request, claim, clock.elapsed())"),
        [AGE],
    ),
    Mutation(
        "renewals by a claim counted from its answer",
        "jobrunner/worker/claimer.py:Claimer._take_answer",
        Swap(
            "self._hand.note_renewed(renewal.renewed, sent.sent_at)",
            "self._hand.note_renewed(renewal.renewed, clock.elapsed())",
        ),
        [AGE_ALONG],
    ),
    Mutation(
        "renewals by a finalize counted from its answer",
        "jobrunner/worker/finalizer.py:Finalizer._write",
        Swap("sent_at", "clock.elapsed()"),
        [AGE_ALONG],
    ),
    Mutation(
        "a handler is asked to stop only at the end of its lease",
        "jobrunner/worker/heartbeat.py:FENCE_SHARE",
        Swap("0.75", "1.0"),
        [FENCE],
    ),
    Mutation(
        "a handler is not killed before its lease ends",
        "jobrunner/worker/heartbeat.py:Heartbeat._fence",
        Drop("attempt.process.kill()"),
        [FENCE],
    ),
    Mutation(
        "a single lease without its token",
        f"{STATEMENTS}/queue/holding.py:report",
        Swap(
            'columns.lease_token == bindparam("token", type_=columns.lease_token.type)',
            'bindparam("token", type_=columns.lease_token.type) != ""',
        ),
        [STALE],
    ),
    # Holding.
    Mutation(
        "renewals and ends that wait for locked rows",
        f"{STATEMENTS}/queue/holding.py:unlocked",
        Drop("skip_locked=True"),
        [TOLD_APART],
    ),
    Mutation(
        "writes of an owner without its token",
        f"{STATEMENTS}/queue/holding.py:is_held",
        Drop("columns.lease_token == given.c.lease_token"),
        [STALE],
    ),
    Mutation(
        "a locked row is taken for a lost lease",
        f"{STORE}/queue/holding.py:renew",
        Swap("locked = still_held(connection, missing)", "locked: set[Lease] = set()"),
        [TOLD_APART],
    ),
    # Finalizing.
    Mutation(
        "finalize without its lock",
        f"{STATEMENTS}/queue/finalize.py:locked",
        Drop(".with_for_update"),
        [TOLD_APART],
    ),
    Mutation(
        "a lease given twice is finalized twice",
        f"{STORE}/queue/finalize.py:_end_locked",
        Swap("held.pop(lease, None)", "held.get(lease)"),
        [f"{TOGETHER}::test_finalize_that_got_no_answer_is_recognized_as_applied_or_lost"],
    ),
    Mutation(
        "a run ended by recovery is taken for finalized",
        f"{STORE}/queue/holding.py:ended_attempts",
        Swap(
            "{Lease.of(row): row for row in found if row.error_type != EXPIRED}",
            "{Lease.of(row): row for row in found}",
        ),
        [f"{TOGETHER}::test_finalize_that_got_no_answer_is_recognized_as_applied_or_lost"],
    ),
    Mutation(
        "a group not split after a lost connection",
        "jobrunner/worker/finalizer.py:Finalizer._take",
        Drop("write.group_size = 1"),
        [f"{AT_ONCE}::test_run_that_breaks_the_connection_of_its_write_harms_no_other_run"],
    ),
    Mutation(
        "a group not split after an error",
        "jobrunner/worker/finalizer.py:Finalizer._take",
        Drop("write.group_size = max(1, len(group) // 2)"),
        ["tests/worker/test_finalize_groups.py::test_unwritable_result_does_not_hold_back_its_group"],
    ),
    # Transactions.
    Mutation(
        "no READ COMMITTED",
        f"{STORE}/drivers/postgresql.py:ServerConnection.__init__",
        Swap(
            'f"BEGIN ISOLATION LEVEL READ COMMITTED; {raw_driver.limits(waits)}"',
            'f"BEGIN; {raw_driver.limits(waits)}"',
        ),
        [ISOLATION],
    ),
    # Replacing, pruning, slots.
    Mutation(
        "replace_older without its lock",
        f"{STATEMENTS}/timetable/overlap.py:older",
        Drop(".with_for_update"),
        [f"{AT_ONCE}::test_run_being_replaced_is_not_claimed"],
    ),
    Mutation(
        "prune without its lock",
        f"{STATEMENTS}/ticks/retention.py:old_runs",
        Drop(".with_for_update"),
        [MEANWHILE, f"{AT_ONCE}::test_run_is_not_pruned_after_its_retry_was_confirmed"],
    ),
    Mutation(
        "prune of runs that are not finished",
        f"{STATEMENTS}/ticks/retention.py:old_runs",
        (
            Swap(
                'columns.status == bindparam("its_status", type_=columns.status.type)', 'bindparam("its_status") != ""'
            ),
            Drop("columns.finished_at.is_not(None)"),
            Swap("columns.finished_at < _before()", "columns.created_at < _before()"),
        ),
        ["tests/store/test_retention.py::test_a_run_that_is_not_finished_is_never_deleted"],
    ),
    Mutation(
        "no unique index on slots",
        "jobrunner/store/schema/migrations/versions/0001_core.sqlite.sql",
        Swap("CREATE UNIQUE INDEX job_runs_slot ", "CREATE INDEX job_runs_slot "),
        [SLOT_TWICE],
    ),
    # Quarantined runs.
    Mutation(
        "a quarantined run not alone: others are claimed with it",
        QUARANTINE,
        Swap("bool(runs)", "False"),
        [ALONE],
    ),
    Mutation(
        "a quarantined run not alone: the next one is claimed with it",
        QUARANTINE,
        (
            Swap(
                "self._is_quarantined_at_work = self._is_quarantined_due = bool(runs)",
                "self._is_quarantined_due = bool(runs)",
            ),
            Drop("not self._hand.count(*AT_WORK_PHASES, Phase.WAITING)"),
        ),
        [ALONE],
    ),
    Mutation(
        "a quarantined run not noted as running",
        QUARANTINE,
        Swap(
            "self._is_quarantined_at_work = self._is_quarantined_due = bool(runs)",
            "self._is_quarantined_due = bool(runs)",
        ),
        [ALONE],
        "the check before the next quarantined claim sees it, too; the note only saves useless steps of the loop",
    ),
    Mutation(
        "no check of running runs before a quarantined run is claimed",
        QUARANTINE,
        Drop("not self._hand.count(*AT_WORK_PHASES, Phase.WAITING)"),
        [ALONE],
        "the note about a running quarantined run does it, too; the check also sees one that waits for its child",
    ),
    Mutation(
        "quarantined runs are claimed with the others",
        f"{STATEMENTS}/queue/claims.py:claim",
        Swap("~is_quarantined", "due.lease_expiries >= 0"),
        [ASKED_FOR],
    ),
    Mutation(
        "a quarantine only from the third crash on",
        "jobrunner/lifecycle.py:QUARANTINE_AFTER_EXPIRIES",
        Swap("2", "3"),
        [ALONE],
    ),
    # The life of a run.
    Mutation(
        "a requested cancel loses",
        "jobrunner/lifecycle.py:decide",
        Swap("run.cancel_requested", "False"),
        [LIFE],
    ),
    Mutation(
        "cancel wins over success",
        "jobrunner/lifecycle.py:decide",
        Swap("result.outcome is Outcome.SUCCEEDED", "result.outcome is Outcome.SUCCEEDED and not run.cancel_requested"),
        [LIFE],
    ),
    Mutation(
        "one attempt too many",
        "jobrunner/lifecycle.py:_charge",
        Swap("run.attempts >= run.max_attempts", "run.attempts > run.max_attempts"),
        [LIFE],
    ),
    Mutation(
        "releases without a limit",
        "jobrunner/lifecycle.py:_release",
        Swap("run.releases + 1 < MOST_RELEASES_IN_A_ROW", "True"),
        [LIFE],
    ),
    Mutation(
        "expiries that are not consecutive are counted",
        "jobrunner/lifecycle.py:_charge",
        Swap("run.lease_expiries + 1 if expired else 0", "run.lease_expiries + 1"),
        [LIFE],
    ),
    # Effects and own transactions.
    Mutation(
        "an uncertain effect is called again unasked",
        "jobrunner/effects/once.py:Once._decide",
        Swap('"raise"', '"never"'),
        [f"{EFFECTS}::test_exception_of_the_call_leaves_the_effect_uncertain_and_the_choice_decides"],
    ),
    Mutation(
        "a late outcome is written over a later call",
        f"{STATEMENTS}/queue/effects.py:_is_of_call",
        Drop('_COLUMNS.token == _given("token", "call")'),
        [f"{EFFECTS}::{LATE_OUTCOME}"],
    ),
    Mutation(
        "the end of an own transaction skips a locked row",
        f"{STORE}/queue/finalize.py:_succeed",
        Swap("_SUCCEED_WAITING if waits else _SUCCEED", "_SUCCEED"),
        ["tests/promises/test_own_transaction.py::test_end_waits_for_a_heartbeat_that_has_locked_the_row"],
    ),
    Mutation(
        "a run that its handler has committed is taken for lost",
        f"{STORE}/queue/holding.py:renew",
        Swap("tuple(held for held, row in ended.items() if row.output == UNTOLD)", "()"),
        [f"tests/promises/test_own_transaction_stopped.py::{GOES_ON}"],
    ),
    # A standby that stalls.
    Mutation(
        "what is found again is an answer",
        f"{STORE}/drivers/database.py:Database._once.call",
        Swap("writes and self._doubt.is_open", "False"),
        [f"{FAILOVER}::test_row_whose_commit_was_cut_is_no_answer_until_a_standby_has_it"],
    ),
    Mutation(
        "a second connection does not know the doubt of the first",
        f"{STORE}/drivers/database.py:Database.second_connection",
        Drop("doubt=self._doubt"),
        [f"{FAILOVER}::test_row_whose_commit_was_cut_is_no_answer_until_a_standby_has_it"],
    ),
    Mutation(
        "a COMMIT with a warning is an answer",
        f"{STORE}/drivers/postgresql.py:ServerConnection._commit",
        Swap("self._warnings.is_acknowledged()", "True"),
        [f"{FAILOVER}::test_claim_whose_wait_for_the_standby_was_cancelled_hands_out_no_run_before_a_standby_has_it"],
    ),
    Mutation(
        "a key that was only found is an answer",
        f"{STORE}/queue/enqueue.py:make_durable",
        Swap("any(not each.created for each in answers)", "False"),
        [f"{FAILOVER}::test_key_that_another_process_has_left_without_a_standby_is_no_answer_to_an_enqueue"],
    ),
    Mutation(
        "an own transaction with a warning is committed",
        f"{STORE}/callers/transactions.py:OwnTransaction.commit",
        Swap("warnings.is_acknowledged()", "True"),
        [f"tests/promises/test_failover_effects.py::{OWN_CONFIRMED}"],
    ),
    Mutation(
        "an intent without a standby stays",
        "jobrunner/effects/once.py:Once._write_intent",
        Drop("self._withdraw(call)"),
        [f"tests/promises/test_failover_effects.py::{TAKEN_BACK}"],
    ),
    # The page.
    Mutation(
        "page for whoever asks",
        f"{WEB}/core.py:Web._respond",
        Swap("request.visitor is None", "False"),
        [f"{GUARDED}::test_every_route_needs_a_visitor_and_every_form_its_verb"],
    ),
    Mutation(
        "page whose forms need no right",
        f"{WEB}/core.py:Web._respond",
        Swap("route.verb not in request.visitor.verbs", "False"),
        [f"{GUARDED}::test_every_route_needs_a_visitor_and_every_form_its_verb"],
    ),
    Mutation(
        "page that takes the forms of other sites",
        f"{WEB}/core.py:Web._respond",
        Swap("foreign(request)", "None"),
        [f"{GUARDED}::test_request_of_another_site_changes_nothing"],
    ),
    Mutation(
        "page that takes forms of the same domain",
        f"{WEB}/guard.py:foreign",
        Swap('site == "same-origin"', 'site != "cross-site"'),
        [f"{GUARDED}::test_request_of_another_site_changes_nothing"],
    ),
    Mutation(
        "page that believes any Origin",
        f"{WEB}/guard.py:foreign",
        Swap('host and origin.lower() == f"{request.scheme}://{host}".lower()', "bool(host)"),
        [f"{GUARDED}::test_request_of_another_site_changes_nothing"],
    ),
    Mutation(
        "page that runs scripts within it",
        f"{WEB}/guard.py:HEADERS",
        Swap('f"{name} {value}"', "f\"{name} {value} 'unsafe-inline'\""),
        [f"{GUARDED}::test_every_response_has_the_headers_that_protect_it"],
    ),
    Mutation(
        "page that does not escape",
        f"{WEB}/rendering.py:_environment",
        Drop("autoescape=True"),
        [f"{GUARDED}::test_hostile_texts_in_every_column_are_text_on_every_page"],
    ),
    Mutation(
        "page that shows secrets",
        f"{MASKING}/values.py:Names.hide",
        Swap("_masked(each)", "each"),
        [f"{MASKED}::test_secrets_of_a_run_reach_no_page_and_no_json"],
    ),
    Mutation(
        "page that shows secrets in the texts of lists",
        f"{WEB}/masking.py:Masks.known",
        Swap("run_values.of_runs(connection, runs - told)", "run_values.of_runs(connection, set())"),
        [f"{MASKED}::test_secret_in_an_error_stands_on_no_page_that_lists_runs"],
    ),
    Mutation(
        "page that shows secrets whose numbers are left out",
        f"{MASKING}/secrets.py:_written",
        Swap("any(each.isdigit() for each in text)", "not text"),
        [f"{MASKED}::test_secret_in_an_error_stands_on_no_page_that_lists_runs"],
    ),
    Mutation(
        "page that reads long payloads for a list",
        f"{STORE}/questions/runs/run_values.py:of_runs",
        Drop("size <= _MOST_CHARACTERS"),
        [f"{MASKED}::test_error_of_a_run_whose_payload_is_long_stands_on_its_page_only"],
    ),
    Mutation(
        "page whose link is good twice",
        f"{WEB}/sign_in.py:LinkSignIn.enter",
        Drop("self._renew()"),
        ["tests/web/test_web_server.py::test_page_is_closed_to_all_but_the_browser_with_the_link"],
    ),
    Mutation(
        "page that keeps who was taken out of the user file",
        f"{WEB}/sign_in.py:PasswordSignIn.enter",
        Swap("person is not None and not people.has(person)", "False"),
        [f"{SIGN_IN}::test_person_who_is_taken_out_of_the_user_file_or_changed_there_is_signed_out_at_once"],
    ),
    Mutation(
        "page on which passwords can be tried at will",
        f"{WEB}/sign_in.py:PasswordSignIn._sign_in",
        Swap("(left := self._tries.begin(origin)) > 0", "(left := self._tries.begin(origin)) > 1e9"),
        [f"{SIGN_IN}::test_only_the_right_password_signs_in_and_wrong_tries_make_their_own_address_wait"],
    ),
    Mutation(
        "page that believes a name of anybody",
        f"{WEB}/sign_in.py:ProxySignIn.enter",
        Swap("address(request.peer) not in self._proxies", "False"),
        [f"{SIGN_IN}::test_name_in_a_header_counts_only_from_a_proxy"],
    ),
    Mutation(
        "page that believes the second name",
        f"{WEB}/sign_in.py:ProxySignIn.enter",
        Drop('"," in name'),
        [f"{SIGN_IN}::test_name_in_a_header_counts_only_from_a_proxy"],
    ),
    Mutation(
        "page that answers to any host",
        f"{WEB}/standalone.py:Standalone.respond",
        Swap('_name_in(request.headers.get("host", "")) not in self._names', "False"),
        ["tests/web/test_web_server.py::test_page_is_closed_to_all_but_the_browser_with_the_link"],
    ),
    Mutation(
        "page whose cookie scripts can read",
        f"{WEB}/sign_in.py:Sessions._sent",
        Swap(
            'f"{self._name}={secret}; HttpOnly; SameSite=Strict; Max-Age={seconds}"',
            'f"{self._name}={secret}; Max-Age={seconds}"',
        ),
        [f"{SIGN_IN}::test_cookie_of_a_session_is_for_this_host_and_no_script_and_over_https_for_https_only"],
    ),
    Mutation(
        "page that changes many runs unasked",
        f"{WEB}/pages/bulk.py:change",
        Swap("call.is_agreed", "call.form"),
        [f"{ACTIONS}::test_all_runs_that_match_are_counted_and_asked_before_they_change"],
    ),
    Mutation(
        "page with buttons for a database that is read-only",
        f"{WEB}/call.py:Call.verbs",
        Swap("self.access.is_writable", "True"),
        [f"{ACTIONS}::test_page_of_a_database_that_is_read_only_has_no_buttons"],
    ),
    Mutation(
        "page that does not say what became of the run",
        f"{WEB}/pages/run.py:show",
        Swap('mistake or (problem and f"{problem} {_as_it_is(run, at)}")', "mistake or problem"),
        [f"{ACTIONS}::test_who_was_too_late_is_told_what_became_of_the_run"],
    ),
    Mutation(
        "page that asks each question alone",
        f"{WEB}/pages/now.py:_read",
        Swap("together(connection, [*overview.questions(), *also, *of_findings])", "connection"),
        [
            "tests/store/test_web_statements.py::test_a_page_sends_at_most_eight_statements_for_one_row_and_for_a_hundred"
        ],
    ),
    Mutation(
        "page that is sent again for its ages",
        f"{WEB}/core.py:_unless_known",
        Swap(r'_AGES.sub(rb"\1", content)', "content"),
        ["tests/web/test_web_live.py"],
    ),
)


class MutationSandbox:
    """A copy of the package, and an environment that imports it instead of the checkout and all else as it is here."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "checkout"
        for name in COPIED:
            source, target = ROOT / name, self.copy / name
            target.parent.mkdir(exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        # Otherwise a tick would send the statements as they were compiled before the change.
        for compiled in (self.copy / STORE / "sql/compiled").glob("*sql*.py"):
            compiled.write_text("STATEMENTS = {}\n")
        builder = venv.EnvBuilder(symlinks=True)
        context = builder.ensure_directories(folder / "venv")
        builder.create(folder / "venv")
        self.python = Path(context.env_exe)
        variables = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
        packages = Path(sysconfig.get_path("purelib", "venv", vars=variables))
        (packages / "mutants.pth").write_text(f"{self.copy}\n{sysconfig.get_path('purelib')}\n")
        installed = Path(sysconfig.get_path("scripts")) / "jobrunner"
        command = self.python.with_name("jobrunner")
        command.write_text(re.sub(r"\A#!.*", f"#!{self.python}", installed.read_text()))
        command.chmod(0o755)

    @contextmanager
    def changed(self, each: Mutation) -> Iterator[None]:
        """While the block runs, the copy is changed."""
        path = self.copy / each.file
        before = path.read_text()
        self._write(path, each.changed(before))
        yield
        self._write(path, before)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        # What was compiled from another text of the same length in the same second would be taken for this one.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def first_failure(self, tests: Sequence[str]) -> str | None:
        """The test that fails, if one does. Raises RuntimeError with what pytest says when they could not be run."""
        # -P: else the checkout, which is the working folder, would be imported first.
        command = [str(self.python), "-P", "-m", "pytest", "-q", "-x", "--everything", "-p", "no:cacheprovider"]
        command += ["--tb=no", *tests]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "JOBRUNNER_TEST_COMMAND": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_SECONDS,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout)
        if done.returncode == 0:
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return failed[1].rpartition("::")[2] if failed else "a test"

    def imports_the_copy(self) -> bool:
        """Whether the environment does what it is for."""
        where = [str(self.python), "-P", "-c", "import jobrunner; print(jobrunner.__file__)"]
        done = subprocess.run(where, cwd=ROOT, capture_output=True, text=True)
        return Path(done.stdout.strip()).is_relative_to(self.copy)


def decision(sandbox: MutationSandbox, each: Mutation) -> tuple[str, bool]:
    """What to say of it, and whether it is as it should be."""
    if problem := each.problem():
        return problem, False
    with sandbox.changed(each):
        killer = sandbox.first_failure(each.tests)
    if killer is None:
        return (f"survived: {each.reason}", True) if each.reason else ("SURVIVED", False)
    said = f"killed by {killer}"
    return (f"{said}, although it is said why none does", False) if each.reason else (said, True)


def main(names: Sequence[str]) -> int:
    """The exit code."""
    unknown = set(names) - {each.name for each in MUTATIONS}
    if unknown:
        sys.exit(f"no mutation is named {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        sandbox = MutationSandbox(Path(folder))
        if not sandbox.imports_the_copy():
            sys.exit("the tests would import another jobrunner than the changed one")
        chosen = [each for each in MUTATIONS if not names or each.name in names]
        if broken := sandbox.first_failure(sorted({test for each in chosen for test in each.tests})):
            sys.exit(f"{broken} fails without any change")
        is_good = True
        for each in chosen:
            said, is_right = decision(sandbox, each)
            is_good = is_good and is_right
            print(f"{each.name}: {said}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
