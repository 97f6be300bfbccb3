"""Guarded effects, own transactions, and a standby that stalls."""

from table import Drop, Mutation, Swap

from rows.names import STATEMENTS, STORE

EFFECTS = "tests/promises/test_effects.py"
FAILOVER = "tests/promises/test_failover.py"
OWN_CONFIRMED = "test_own_transaction_whose_wait_was_cancelled_is_committed_only_when_the_standby_has_it"
TAKEN_BACK = "test_intent_that_cannot_be_confirmed_is_taken_back_so_that_the_next_attempt_calls"
LATE_OUTCOME = "test_outcome_that_arrives_after_the_lease_was_lost_is_recorded_unless_the_effect_was_taken_over"
GOES_ON = "test_handler_that_goes_on_after_its_commit_keeps_no_lease_and_ends_as_succeeded_whatever_it_does"
ANSWER_LOST = "test_commit_that_was_applied_and_whose_answer_was_lost_is_no_error_to_the_handler"

MUTATIONS = (
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
    Mutation(
        "an uncertain effect is taken over without a lease",
        f"{STATEMENTS}/queue/effects.py:take_over",
        Drop("is_held"),
        [f"{EFFECTS}::test_run_that_loses_its_lease_at_the_last_moment_takes_no_uncertain_effect_over"],
    ),
    Mutation(
        "a COMMIT of an own transaction without an answer is taken for not applied",
        "jobrunner/effects/ending.py:RunEnd.commit",
        Swap("if not await ask(self._is_applied): raise", "raise"),
        [f"tests/promises/test_own_transaction.py::{ANSWER_LOST}"],
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
)
