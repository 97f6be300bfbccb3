"""How big each measure is."""

from dataclasses import dataclass

POSTGRESQL, SQLITE = "PostgreSQL", "SQLite"
BOTH = (POSTGRESQL, SQLITE)


@dataclass(frozen=True)
class Sizes:
    """How much there is to do in each measure."""

    few_runs: int = 1_000
    runs: int = 1_000
    slow_runs: int = 200
    waiting_runs: int = 1_000
    slow_seconds: float = 0.1
    waiting_seconds: float = 1.0
    finished: int = 1_000_000
    unknown: int = 100_000
    churned: int = 100_000
    slots: int = 1_000
    spike: int = 10_000
    backlog: int = 30_000
    backlog_seconds: float = 5.0
    enqueued: int = 500
    lingered: int = 30
    lingering_seconds: float = 10.0
    raw_rows: int = 20_000
    # A peer's size of which one sample would take longer, its filling included, is left out.
    peer_seconds: float = 15.0
    operated: int = 1_000_000
    viewed_seconds: float = 20.0
    changed: int = 100_000
    crashed: int = 10_000
    crowd: int = 200
    types: int = 500
    shared: int = 10_000
    steady_rate: int = 500
    steady_seconds: float = 120.0
    aged_runs: int = 72_000
    aged_rate: int = 800
    aged_seconds: float = 30.0


SMALLEST = Sizes(
    *(10, 20, 20, 20), 0.01, 0.05, *(20, 20, 20, 20, 20), 20, 30.0, 20, 3, 0.5, 200,
    operated=40, changed=20, viewed_seconds=0.2, crashed=3_000, crowd=40,
    types=20, shared=3_000, steady_rate=50, steady_seconds=15.0,
    aged_runs=200, aged_rate=50, aged_seconds=3.0,
)  # fmt: skip
# What the results have that are shown to others.
FULL = Sizes(
    few_runs=1_000,
    runs=10_000,
    spike=50_000,
    backlog=1_000_000,
    backlog_seconds=60.0,
    finished=2_000_000,
    slots=10_000,
    lingering_seconds=5.0,
    operated=5_000_000,
    steady_seconds=1800.0,
    # What ends in a quarter of an hour at that rate.
    aged_runs=720_000,
    aged_seconds=60.0,
)
