"""The records that leave the store have the columns of their tables."""

from dataclasses import fields

from jobrunner.store.questions.runs.run_details import Run
from jobrunner.store.schema import job_definitions, job_runs
from jobrunner.store.timetable.records import DefinitionRow


def test_json_of_a_run_and_of_a_schedule_has_every_column_in_the_order_of_the_table() -> None:
    more = ["waits_for", "attempt_log", "event_log"]
    assert [each.name for each in fields(Run)] == [*job_runs.c.keys(), *more]
    assert [each.name for each in fields(DefinitionRow)] == list(job_definitions.c.keys())
