"""What a run keeps over its attempts."""

from table import Drop, Mutation, Swap

from rows.names import STATEMENTS, STORE

WRITES = "tests/worker/test_checkpoint_writes.py"
AT_WORK = "tests/worker/test_checkpoints.py"
COMMANDS = "tests/worker/test_commands_checkpoints.py"
HANDLER = "tests/unit/test_checkpoint.py"
FILE = "tests/unit/test_checkpoint_file.py"
INSIDE = "jobrunner/children/inside/checkpoints.py:Checkpoints"
PLACE = "jobrunner/jobs/checkpoint.py:Checkpoint"

MUTATIONS = (
    Mutation(
        "a checkpoint is written whoever holds the run",
        f"{STATEMENTS}/queue/holding.py:keep",
        Swap("is_held(given)", "columns.id == given.c.id"),
        [f"{WRITES}::test_a_stale_owner_writes_no_checkpoint_by_its_beat_nor_by_the_end_of_its_attempt"],
    ),
    Mutation(
        "a row that was locked a moment ago ends without its checkpoint",
        f"{STORE}/queue/finalize.py:finalize_all",
        Swap("still_held(connection, checkpoints.keys() - keep(connection, checkpoints))", "keep(connection, {})"),
        [f"{WRITES}::test_row_that_is_free_again_a_moment_later_does_not_end_without_its_checkpoint"],
    ),
    Mutation(
        "an attempt ends without what no heartbeat has written",
        "jobrunner/worker/finalizer.py:_unwritten_of",
        Swap("held.unwritten_checkpoint", "None"),
        [f"{AT_WORK}::test_a_stopped_tick_leaves_its_long_run_a_place_to_go_on_from"],
    ),
    Mutation(
        "no heartbeat writes a checkpoint",
        "jobrunner/worker/heartbeat.py:Heartbeat._try_to_beat",
        Drop("self._write_checkpoints()"),
        [f"{AT_WORK}::test_a_burst_of_checkpoints_before_long_work_is_with_the_tick"],
    ),
    Mutation(
        "a checkpoint that equals the one before is not written",
        "jobrunner/worker/hand.py:RunInHand.unwritten_checkpoint",
        Swap("self.checkpoint is self.kept", "self.checkpoint == self.kept"),
        [f"{WRITES}::test_newer_checkpoint_stays_to_be_written_while_a_beat_writes_an_older_one"],
    ),
    Mutation(
        "a checkpoint that cannot be written keeps the end of its attempt",
        "jobrunner/worker/finalizer.py:Finalizer._is_checkpoint_written",
        Drop("held.checkpoint = held.kept"),
        [f"{WRITES}::test_checkpoint_that_cannot_be_written_does_not_keep_the_end_of_its_attempt"],
    ),
    Mutation(
        "a result that cannot be written takes the checkpoint with it",
        "jobrunner/worker/finalizer.py:Finalizer._scrub",
        Swap("not self._is_checkpoint_written(held)", "False"),
        [f"{WRITES}::test_result_that_cannot_be_written_does_not_take_the_checkpoint_with_it"],
    ),
    Mutation(
        "a tick that breaks down leaves checkpoints behind",
        "jobrunner/worker/abandon.py:abandon",
        Swap("each.unwritten_checkpoint", "None"),
        [f"{WRITES}::test_tick_that_breaks_down_returns_its_runs_with_their_checkpoints"],
    ),
    Mutation(
        "a success that is run again goes on from its end",
        f"{STORE}/changes/run_changes.py:retry",
        Swap('{"checkpoint": case((done, null()), else_=_COLUMNS.checkpoint)} if force else {}', "{}"),
        ["tests/store/test_bulk.py::test_retry_goes_on_where_the_run_has_stopped_and_what_has_succeeded_begins_anew"],
    ),
    Mutation(
        "a run goes on in the work of another payload",
        f"{STORE}/changes/one_run.py:_payload_column",
        Swap(
            '{"payload": stored_json(literal(payload.text)), "checkpoint": null()}',
            '{"payload": stored_json(literal(payload.text))}',
        ),
        [
            "tests/store/test_retry_payload.py::test_another_payload_begins_anew_and_the_secrets_of_the_checkpoint_that_goes_are_hidden"
        ],
    ),
    Mutation(
        "the checkpoints of runs that go together are compared by value",
        "jobrunner/children/messages.py:StartRuns.of",
        Swap('{"payload", "checkpoint"}', '{"payload"}'),
        [f"{HANDLER}::test_checkpoints_that_python_takes_for_equal_reach_each_run_as_they_are"],
    ),
    Mutation(
        "the last checkpoint of a burst waits for the next call",
        f"{INSIDE}.note",
        Swap("not (self._timer or self._is_set(wait))", "False"),
        [f"{HANDLER}::test_result_of_a_step_is_sent_before_it_returns_and_the_last_of_a_burst_by_itself"],
    ),
    Mutation(
        "a thread that an attempt has left behind writes a checkpoint",
        f"{INSIDE}.note",
        Swap("self._is_closed", "False"),
        [f"{HANDLER}::test_end_of_an_attempt_sends_the_rest_and_a_thread_that_goes_on_keeps_nothing_more"],
    ),
    Mutation(
        "a copy of a child writes into its channel",
        f"{INSIDE}.note",
        Swap("os.getpid() != self._pid", "False"),
        [f"{HANDLER}::test_copy_of_the_handlers_process_is_refused"],
    ),
    Mutation(
        "a step that has raised cannot be tried again",
        f"{PLACE}._named",
        Drop("self._names.discard(name)"),
        [f"{HANDLER}::test_step_that_raises_keeps_nothing_and_can_be_tried_again_in_the_same_attempt"],
    ),
    Mutation(
        "two steps of one name share a result",
        f"{PLACE}._named",
        Swap("name in self._names", "False"),
        [f"{HANDLER}::test_name_that_is_used_twice_in_one_attempt_names_the_line_of_the_user"],
    ),
    Mutation(
        "the limit of a checkpoint is one byte more",
        f"{PLACE}._grow",
        Swap("size > CHECKPOINT_BYTES", "size > CHECKPOINT_BYTES + 1"),
        [f"{HANDLER}::test_value_and_steps_share_the_limit_to_the_byte"],
    ),
    Mutation(
        "the end of a command does not look at its file",
        "jobrunner/worker/pools/command_attempt.py:CommandAttempt._crashed",
        Drop("self._read_checkpoint(is_last=True)"),
        [f"{COMMANDS}::test_command_finds_what_its_attempt_before_has_written"],
    ),
    Mutation(
        "what a command is just writing is a mistake",
        "jobrunner/children/checkpoint_file.py:CheckpointFile.newest",
        Swap("is_last or state == self._doubted", "True"),
        [f"{FILE}::test_what_is_half_written_at_a_look_is_judged_at_the_next_one"],
    ),
    Mutation(
        "the files of the commands of a killed tick stay",
        "jobrunner/children/process_groups.py:DeadTick.forget",
        Drop("remove(folders_beside(self.path))"),
        [f"{COMMANDS}::test_file_is_read_with_the_heartbeats_and_goes_with_a_killed_tick"],
    ),
)
