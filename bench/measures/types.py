"""A host that knows many job types: one claim for all of them, and a tick with one run."""

from collections.abc import Iterator

from plan import Line, measure
from sizes import BOTH
from stage import Stage

from harness.commands import COMMAND
from jobrunner.model import Policy
from measures.claim import CLAIMS, EMPTY, claims
from measures.idle import FIRST


@measure(
    Line("claim 100 among many types, {db}", "ms", EMPTY),
    Line("first run among many types, {db}", "s", FIRST),
    group="types",
    on=BOTH,
)
def many(stage: Stage, database: str) -> Iterator[float]:
    """One claim of 100 due no-ops by a host that knows so many job types (`types`), nothing of which is due but these.

    With its commit, on a connection that has claimed before; median of five. Then the whole process `jobrunner tick` of
    such a host on a queue with one due no-op.
    """
    queue, types = stage.queue(database), stage.sizes.types
    policies = tuple(Policy(name) for name in ("noop", *(f"type_{number:03}" for number in range(1, types))))
    yield claims(queue, lambda taken: len(taken) > CLAIMS, policies)
    queue = stage.queue(database)
    queue.add_due("noop", 1)
    done = queue.tick(handlers="many", command=("env", f"BENCH_TYPES={types}", COMMAND))
    queue.check_drained(1)
    yield done.seconds
