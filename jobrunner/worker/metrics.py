"""Metrics for Prometheus: the numbers of the store in its text format, on standard output or in a file.

The format is written here, because the import of prometheus_client takes as long as three idle ticks
(docs/adr/0044-metrics-without-a-library.md). The tests read it with that library.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from jobrunner.lifecycle import FINISHED
from jobrunner.log import Log
from jobrunner.masking.shapes import without_secrets
from jobrunner.settings.config import Config, url_of
from jobrunner.store.drivers.connection import Connection
from jobrunner.store.drivers.database import Database
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.waits import PROBE
from jobrunner.store.questions import metrics as store
from jobrunner.store.questions.facts import HostTick
from jobrunner.store.questions.metrics import Numbers
from jobrunner.store.queue.ticks.tallies import Key, Tally, sum_of
from jobrunner.store.sql.histogram import BOUNDS_SECONDS, Bins
from jobrunner.text import first_line_of
from jobrunner.worker.watchdog import watching

_BUCKETS = (1.0, 10.0, 100.0, 1000.0)
_LAST_BINS = tuple(BOUNDS_SECONDS.index(bound) + 1 for bound in _BUCKETS)
# A dropped run is cancelled by its tick. One outcome less keeps each type at thirty series.
_OUTCOMES = {"dropped": "cancelled"}

Labels = Mapping[str, str]


class Family(NamedTuple):
    """A metric: its name, its type, what it says, and its values, each with a suffix of the name and labels."""

    name: str
    kind: str
    help: str
    values: list[tuple[str, Labels, float]]


def text(families: Iterable[Family]) -> str:
    """The text format of Prometheus."""
    return "".join(line + "\n" for family in families for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for suffix, labels, value in family.values:
        listed = ",".join(f'{name}="{_escaped(each)}"' for name, each in labels.items())
        yield f"{family.name}{suffix}{f'{{{listed}}}' if listed else ''} {value!r}"


def _escaped(value: str) -> str:
    return without_secrets(value).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def of_hosts(at: datetime, ticks: Iterable[HostTick]) -> list[Family]:
    """What each of these hosts says of itself, and when it was written."""
    listed = list(ticks)

    def gauge(name: str, says: str, values: list[tuple[str, Labels, float]]) -> Family:
        return Family(f"jobrunner_{name}", "gauge", says, values)

    ended = [(each, each.finished_at) for each in listed]
    return [
        gauge(
            "last_tick_start_timestamp_seconds",
            "When the last tick of the host started.",
            [("", {"host": each.host}, each.started_at.timestamp()) for each in listed],
        ),
        gauge(
            "last_tick_duration_seconds",
            "How long the last tick of the host took. Missing: it is at work, or was killed.",
            [
                ("", {"host": each.host}, (finished_at - each.started_at).total_seconds())
                for each, finished_at in ended
                if finished_at is not None
            ],
        ),
        gauge(
            "last_tick_failed",
            "Whether the last tick of the host ended with an error.",
            [("", {"host": each.host}, float(each.error is not None)) for each in listed],
        ),
        gauge("metrics_written_timestamp", "When this was written.", [("", {}, at.timestamp())]),
    ]


def of_database(at: datetime, numbers: Numbers) -> list[Family]:
    """What is true of the whole database. Only one host writes it."""
    attempts, ends = defaultdict[tuple[str, str], list[Tally]](list), defaultdict[tuple[str, str], int](int)
    by_type = defaultdict[str, list[Tally]](list)
    for key, tally in numbers.ends.items():
        _sort_in(key, tally, attempts, ends)
        if key.outcome:
            by_type[key.job_type].append(tally)
    together = {job_type: sum_of(tallies) for job_type, tallies in sorted(by_type.items())}
    return [
        Family("jobrunner_runs_ended_total", "counter", "The runs that ended.", _by_outcome(ends)),
        Family(
            "jobrunner_attempts_total",
            "counter",
            "The attempts that ended.",
            _by_outcome({key: sum_of(tallies).ends for key, tallies in attempts.items()}),
        ),
        _histogram(
            "jobrunner_wait_seconds",
            "From when a run was due to the start of an attempt.",
            {job_type: (tally.waits, tally.waited) for job_type, tally in together.items()},
        ),
        _histogram(
            "jobrunner_run_seconds",
            "From the start of an attempt to its end.",
            {job_type: (tally.runs, tally.ran) for job_type, tally in together.items()},
        ),
        *_now(at, numbers),
    ]


def _sort_in(
    key: Key, tally: Tally, attempts: dict[tuple[str, str], list[Tally]], ends: dict[tuple[str, str], int]
) -> None:
    if key.outcome:
        attempts[key.job_type, _OUTCOMES.get(key.outcome, key.outcome)].append(tally)
    if key.status in FINISHED:
        ends[key.job_type, key.status] += tally.ends


def _by_outcome(counted: Mapping[tuple[str, str], int]) -> list[tuple[str, Labels, float]]:
    return [("", {"type": kind, "outcome": outcome}, count) for (kind, outcome), count in sorted(counted.items())]


def _histogram(name: str, says: str, by_type: Mapping[str, tuple[Bins, float]]) -> Family:
    values: list[tuple[str, Labels, float]] = []
    for job_type, (bins, total) in by_type.items():
        labels = {"type": job_type}
        for bound, last in zip(_BUCKETS, _LAST_BINS, strict=True):
            values.append(("_bucket", {**labels, "le": str(bound)}, sum(bins[:last])))
        values += [
            ("_bucket", {**labels, "le": "+Inf"}, sum(bins)),
            ("_sum", labels, total),
            ("_count", labels, sum(bins)),
        ]
    return Family(name, "histogram", says, values)


def _now(at: datetime, numbers: Numbers) -> list[Family]:
    types = sorted({each.job_type for each in numbers.due} | numbers.running.keys())
    due = {each.job_type: each for each in numbers.due}
    ages = {
        job_type: max(at - due[job_type].run_at, timedelta(0)).total_seconds() if job_type in due else 0.0
        for job_type in types
    }
    gauges = {
        "runs_due": ("The due runs that wait, up to 10 000.", {each.job_type: each.runs for each in numbers.due}),
        "runs_running": ("The runs that are running.", numbers.running),
        "next_due_age_seconds": ("How long the due run whose turn is next has waited.", ages),
    }
    return [
        Family(
            f"jobrunner_{name}",
            "gauge",
            says,
            [("", {"type": each}, values.get(each, 0)) for each in types],
        )
        for name, (says, values) in gauges.items()
    ]


def everything(database: Database) -> str:
    """The metrics of the whole database and of all hosts."""
    return database.read(of_everything)


def of_everything(connection: Connection) -> str:
    """The same. Expects a read transaction."""
    at, ticks = store.last_ticks(connection)
    return text([*of_database(at, store.numbers(connection)), *of_hosts(at, ticks)])


def write_file(database: Database, host: str, file: Path) -> None:
    """Replace the file by what this host has to say. Raises OSError, and the errors of the database."""
    is_turn = database.write(lambda connection: store.take_turn(connection, host))

    def read(connection: Connection) -> str:
        at, ticks = store.last_ticks(connection)
        of_all = of_database(at, store.numbers(connection)) if is_turn else []
        return text([*of_all, *of_hosts(at, [each for each in ticks if each.host == host])])

    _replace(file, database.read(read))


def write_after_tick(config: Config, database: Database, log: Log | None) -> None:
    """Replace the configured file, if any. What keeps it from being written is logged, and fails no tick."""
    if config.metrics_file is None:
        return
    try:
        write_file(database, config.host, Path(config.metrics_file))
    except Exception as error:  # noqa: BLE001 - the work of the tick is done
        if log is not None:
            log.warning("metrics", result="not written", error=first_line_of(error))


def write_after_idle_tick(config: Config, log: Log | None) -> None:
    """The same on a connection of its own."""
    database = Database(locate(url_of(config), config.schema), patience=PROBE)
    try:
        with watching(database, is_required=False):
            write_after_tick(config, database, log)
    finally:
        database.close()


def _replace(file: Path, content: str) -> None:
    # node_exporter reads only names that end in .prom, and runs as another user.
    temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8") as stream:
            os.fchmod(stream.fileno(), 0o644)
            stream.write(content)
        os.replace(temporary, file)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
