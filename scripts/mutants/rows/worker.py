"""The heartbeat."""

from table import Drop, Mutation, Swap

from rows.names import BEATS, STALE, STATEMENTS

AGE = f"{BEATS}::test_the_age_of_a_lease_is_counted_from_before_its_claim_and_its_renewal_were_sent"
AGE_ALONG = f"{BEATS}::test_age_of_a_lease_renewed_by_a_claim_or_finalize_is_counted_from_before_it_was_sent"
FENCE = f"{BEATS}::test_a_handler_is_stopped_at_three_quarters_of_a_lease_that_is_not_renewed_and_killed_before_its_end"
STALL = f"{BEATS}::test_leases_expire_while_the_main_loop_stalls_and_are_renewed_when_it_goes_on"
AFTER_STALL = f"{BEATS}::test_after_a_stall_the_main_loop_learns_first_which_leases_it_has_lost"
CANCELLED_WAITING = "test_run_that_is_cancelled_while_it_waits_for_its_child_never_begins"
LIFE = "jobrunner/worker/life.py:Life"
AHEAD = "tests/worker/test_async_ahead.py"
STALLS = "tests/worker/test_prefetch_stalls.py"
BEGIN = "tests/worker/test_begin_before.py"
STOP = "tests/worker/test_stop.py"

MUTATIONS = (
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
    Mutation(
        "a cancelled run that still waits is begun",
        "jobrunner/worker/stopper.py:Stopper.act_on_news",
        Drop("self._life.give_back(held)"),
        [f"tests/worker/test_cancel_at_work.py::{CANCELLED_WAITING}"],
    ),
    # The life of a run in the tick.
    Mutation(
        "a run begins after its host has stalled",
        f"{LIFE}._take",
        Swap("now > held.begin_before", "False"),
        [f"{BEGIN}::test_tick_that_stalled_after_its_claim_begins_no_run_done_by_another_host"],
    ),
    Mutation(
        "a stopped tick begins what it has claimed",
        f"{LIFE}.give",
        Drop("self._context.stop.at is not None"),
        [f"{STOP}::test_handlers_may_finish_within_the_grace_period_but_nothing_is_claimed"],
    ),
    Mutation(
        "runs wait for a child for as long as it takes",
        f"{LIFE}._give_back_overdue",
        Drop("self._latest_of(held, pool) <= clock.elapsed()"),
        ["tests/worker/test_prefetch.py::test_queued_runs_behind_a_slow_run_are_returned_and_another_host_runs_them"],
    ),
    Mutation(
        "a handler that stopped with its service is charged",
        f"{LIFE}._settle",
        Swap("held.doubt_until is not None", "False"),
        [f"{STOP}::test_stop_of_the_whole_service_charges_no_run"],
    ),
    Mutation(
        "a run that was never begun is charged",
        f"{LIFE}._take_report",
        Drop("self.give_back(held)"),
        [BEGIN],
    ),
    Mutation(
        "a stop signal after the runs ends the tick before its row is closed",
        "jobrunner/worker/tick.py:Tick._run_what_is_due",
        Swap("self._processes.end()", "self._processes.close()"),
        ["tests/store/test_retention.py::test_tick_that_is_told_to_stop_while_it_prunes_after_its_runs_ends_well"],
    ),
    # Runs that wait in an event loop.
    Mutation(
        "a queued run whose lease is lost is not recalled",
        "jobrunner/worker/stopper.py:Stopper.act_on_news",
        Drop("self._recall(held.lease.run_id)"),
        [f"{STALLS}::test_queued_run_that_alone_has_another_owner_is_left_to_it_and_the_others_end"],
    ),
    Mutation(
        "an async run does not note that it begins",
        "jobrunner/children/inside/event_loop.py:_Server._attempt",
        Drop("self._marks.begin(start.slot)"),
        ["tests/worker/test_begun.py"],
    ),
    Mutation(
        "one async run more begins than there are places",
        "jobrunner/children/inside/ahead.py:RunsAhead.take",
        Swap("at_work[contents[-1][1].job_type] >= self._places", "at_work[contents[-1][1].job_type] > self._places"),
        [f"{AHEAD}::test_tick_that_claims_async_runs_ahead_has_no_more_at_work_than_their_concurrency"],
    ),
    Mutation(
        "an async run sees the variables of the one before it",
        "jobrunner/children/inside/event_loop.py:_Server._begin",
        Swap("self._context.copy()", "contextvars.copy_context()"),
        [f"{AHEAD}::test_async_run_sees_no_context_variable_of_the_run_whose_place_it_takes"],
    ),
    Mutation(
        "a strict event loop has a queue",
        "jobrunner/worker/pools/coroutines.py:CoroutinePool.__init__",
        Drop("strict=config.strict"),
        ["tests/worker/test_prefetch.py::test_strict_child_begins_a_run_after_the_result_before_it_is_written"],
    ),
    Mutation(
        "queued async runs are charged with the one that ends their child",
        "jobrunner/worker/pools/coroutines.py:CoroutinePool.died",
        Drop("self._recall(child)"),
        [f"{AHEAD}::test_async_run_that_ends_its_child_loses_no_result_before_it_and_charges_no_run_behind_it"],
    ),
    Mutation(
        "async runs of a type with a former name are queued",
        "jobrunner/worker/pools/coroutines.py:CoroutinePool._choose_ahead",
        Drop("len(policy.names) > 1"),
        ["tests/worker/test_renamed_type.py"],
    ),
    Mutation(
        "queued async runs wait behind a long one",
        "jobrunner/worker/pools/coroutines.py:CoroutinePool.start",
        Drop("self._recall_behind_the_stuck(child)"),
        [f"{AHEAD}::test_async_run_that_waits_behind_a_long_one_goes_to_another_host"],
    ),
)
