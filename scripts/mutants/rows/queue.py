"""Claims, recovery, holding, the ends of runs, and their lives."""

from table import Drop, Mutation, Swap

from rows.names import AT_ONCE, MEANWHILE, STALE, STATEMENTS, STORE

TOGETHER = "tests/worker/test_finalize_together.py"
LOCKED = "tests/worker/test_locked_rows.py"
LIFE = "tests/unit/test_lifecycle.py"
POISON = "tests/worker/test_hostile_handlers_poison.py"
REFERRED = f"{LOCKED}::test_application_row_that_references_a_run_blocks_no_tick"
TOLD_APART = f"{LOCKED}::test_run_with_a_locked_row_is_not_taken_for_lost_and_delays_no_other"
ISOLATION = f"{AT_ONCE}::test_stricter_default_isolation_skips_changed_rows_like_any_other"
STOPPED_ONLY = f"{AT_ONCE}::test_recovery_ends_only_the_runs_whose_handlers_it_has_stopped"
ASKED_FOR = f"{AT_ONCE}::test_quarantined_run_is_claimed_only_by_a_claim_for_it_alone"
ALONE = f"{POISON}::test_quarantined_run_is_started_alone_in_its_tick"
QUARANTINE = "jobrunner/worker/life.py:Life._claim_quarantined"
MOST_URGENT = "test_gate_of_the_most_urgent_run_is_the_first_whatever_it_is_called"
NEXT_CLAIM = "test_run_of_another_customer_is_in_the_next_claim_behind_any_number_of_one_customer"
BEGUN_AGAIN = "test_key_whose_run_was_begun_again_before_it_is_taken_over_stays_with_that_run"
SOLE = "tests/store/test_sole_owners.py"
PLACES = "test_run_whose_lease_has_expired_takes_no_permit_of_its_host_before_it_is_recovered"

MUTATIONS = (
    # Claiming.
    Mutation(
        "claim without its lock",
        f"{STATEMENTS}/queue/due.py:due_of",
        Drop(".with_for_update"),
        [MEANWHILE],
    ),
    Mutation(
        "claim that waits for locked rows",
        f"{STATEMENTS}/queue/due.py:due_of",
        Drop("skip_locked=True"),
        [MEANWHILE],
    ),
    Mutation(
        "claim that waits for a row that references a run",
        f"{STATEMENTS}/queue/due.py:due_of",
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
        Swap("~is_quarantined", "job_claimable.c.lease_expiries >= 0"),
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
    # What a claim finds, and what holds a run, a key or a place.
    Mutation(
        "gates found in any order",
        f"{STATEMENTS}/queue/limits.py:first_run_of_each",
        Drop(".order_by(columns.turn_at)"),
        [f"tests/worker/test_limits.py::{MOST_URGENT}"],
    ),
    Mutation(
        "line of a fair type that is not in its order",
        f"{STATEMENTS}/queue/fair.py:line",
        Drop(".order_by(columns.place)"),
        [f"tests/worker/test_fair.py::{NEXT_CLAIM}"],
    ),
    Mutation(
        "gate of a fair type that keeps its place after its turn",
        "jobrunner/store/queue/openings.py:LimitedType.settled_gates",
        Swap("moves = count > 0 or not is_full", "moves = False"),
        [f"tests/worker/test_fair.py::{NEXT_CLAIM}"],
    ),
    Mutation(
        "claim that looks at the same gates for new ones each time",
        "jobrunner/store/queue/fair.py:find_gates",
        Swap("waited[-1].gate", '""'),
        ["tests/worker/test_fair.py::test_each_round_has_one_run_of_each_key_that_waited_when_it_began"],
    ),
    Mutation(
        "parents not locked at the enqueue",
        f"{STATEMENTS}/queue/dependants.py:lock_parents",
        Drop(".with_for_update"),
        ["tests/worker/test_dependants.py::test_parent_is_not_pruned_while_its_dependant_is_enqueued"],
    ),
    Mutation(
        "the run whose key is taken over need not have ended",
        f"{STATEMENTS}/queue/keys.py:lock_free",
        Swap("given.c.must_end == 0", "given.c.must_end >= 0"),
        [f"tests/worker/test_keys_at_once.py::{BEGUN_AGAIN}"],
    ),
    Mutation(
        "runs of a killed tick are places of their host for ever",
        f"{STATEMENTS}/queue/claims.py:held_by_type",
        Drop("columns.locked_until > now()"),
        [f"tests/worker/test_concurrency.py::{PLACES}"],
    ),
    # Claims that neither count nor look at all runs.
    Mutation(
        "a tick that another one has followed does not count",
        "jobrunner/store/queue/claims.py:_held",
        Swap("sole_owner == request.owner.name", "True"),
        [f"{SOLE}::test_tick_counts_again_after_another_tick_of_its_host_has_claimed"],
    ),
    Mutation(
        "a claim leaves the name of the sole owner where it is",
        "jobrunner/store/queue/sole_owners.py:note",
        Swap("new != sole_owner", "new"),
        [f"{SOLE}::test_tick_counts_again_after_another_tick_of_its_host_has_claimed"],
    ),
    Mutation(
        "a tick does not count beside one of an older version",
        "jobrunner/store/queue/claims.py:_held",
        Swap('("versions", "") not in paused', "True"),
        [f"{SOLE}::test_tick_counts_while_a_tick_of_another_version_may_be_at_work_on_its_host"],
    ),
    Mutation(
        "a tick that did not look at all runs ends",
        "jobrunner/worker/claimer.py:Claimer._looked_back",
        Swap("return claim._replace(opens_in=min(opens_in, claim.opens_in or opens_in))", "return claim"),
        ["tests/worker/test_lookback_ticks.py::test_tick_ends_only_after_a_look_at_all_runs"],
    ),
)
