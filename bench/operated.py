"""What one database carries: the rows of speed.md about a long history, and the table of scale.md, both in docs/."""

from collections.abc import Callable, Iterator

from measures.operate import ASKED, PAGES
from measures.two_hosts import SERVER_TWO, TWO
from published import Results
from sizes import BOTH
from words import milliseconds, rate, seconds, short, table, timed

_NONE = "the same beside none"


def rows(results: Results) -> Iterator[tuple[str, ...]]:
    """A row each; without figures where these results have none."""

    def row(what: str, say: Callable[[str], str], beside: str = "") -> tuple[str, ...]:
        return (what, *(say(database) for database in BOTH), beside)

    finished, operated = f"{results.size('finished'):,}", f"{results.size('operated'):,}"
    yield row(
        f"claim 100 beside {finished} finished runs",
        lambda db: timed(results, f"claim 100 beside finished runs, {db}", milliseconds),
        _NONE,
    )
    for what, line in (
        (f"claim 100 of a fair type, behind {finished} due runs of one customer", "claim 100 of a fair type, {db}"),
        (f"claim 100 beside {finished} due runs of a fair type", "claim 100 beside fair runs, {db}"),
        (
            "claim 100 beside a transaction that was open while {churned:,} runs were done",
            "claim 100 while a long transaction holds vacuum back, {db}",
        ),
    ):
        yield row(
            what.format(churned=results.size("churned")),
            lambda db, line=line: timed(results, line.format(db=db), milliseconds),
            "the same without them",
        )
    yield row(
        f"`status` beside {finished} finished runs",
        lambda db: timed(results, f"status beside finished runs, {db}", seconds),
        _NONE,
    )
    for name in ASKED:
        yield row(
            f"what `{name}` reads, beside {operated} finished runs",
            lambda db, name=name: timed(results, f"{name}: long history, {db}", milliseconds),
            _NONE,
        )
    yield row(
        f"the slowest [dashboard](../howto/dashboard.md) page, beside {operated} finished runs: 95 of 100 within",
        lambda db: milliseconds(_most(results, "page {path}, 95 of 100 within, {db}", db)),
    )
    yield row(
        "the page with the most statements",
        lambda db: f"{most:.0f}" if (most := _most(results, "page {path}, statements, {db}", db)) else "",
    )
    yield row(
        f"tick with nothing to do, beside {operated} finished runs",
        lambda db: timed(results, f"idle tick: long history, {db}", seconds),
        _NONE,
    )
    yield row(
        "a viewer of the first page who polls: the server's share of a core",
        lambda db: f"{value:.2%}" if (value := results.median(f"page: a viewer who polls, {db}")) is not None else "",
    )
    yield row(
        f"a change of {results.size('changed'):,} runs by `priority`",
        lambda db: rate(results.median(f"change of many runs, {db}")),
    )
    yield row(
        "claim 100 beside such a change",
        lambda db: timed(results, f"claim 100 beside a change of many runs, {db}", milliseconds),
        "the same beside as many waiting runs that nobody changes",
    )


def carries(results: Results) -> str:
    """The table of docs/howto/scale.md."""
    spike, backlog = f"{results.size('spike'):,}", f"{results.size('backlog'):,}"

    def row(what: str, say: Callable[[str], str]) -> tuple[str, ...]:
        return (what, *(say(database) for database in BOTH))

    asked = [
        row(
            f"how long one tick takes for {spike} runs that do nothing",
            lambda db: _duration(results, "spike", f"spike, one tick, {db}"),
        ),
        row("how many of these a second", lambda db: rate(results.median(f"spike, one tick, {db}"))),
        row(
            "two ticks at once, on two hosts: times as many",
            lambda db: _times(results.ratio(f"spike, 2 ticks side by side, {db}")),
        ),
        row(
            "the same, each with its own part of the processors: times as many",
            lambda db: _times(results.ratio(TWO.format(db=db))),
        ),
        row(
            "how long the server computes for a run that does nothing",
            lambda db: milliseconds(results.median(SERVER_TWO.format(db=db))),
        ),
        row(
            f"the rate at the end of a backlog of {backlog}: times that at its begin",
            lambda db: _times(results.ratio(f"backlog, last full tick, {db}")),
        ),
        row(
            f"how long a claim takes beside {results.size('finished'):,} finished runs: times that beside none",
            lambda db: _times(results.ratio(f"claim 100 beside finished runs, {db}")),
        ),
        row(
            f"how long an idle tick takes beside {results.size('operated'):,} finished runs: times that beside none",
            lambda db: _times(results.ratio(f"idle tick: long history, {db}")),
        ),
        row(
            "how soon a run starts, with `--linger`",
            lambda db: milliseconds(results.median(f"linger: commit to start, {db}")),
        ),
        row(
            f"the memory of a tick that drains {backlog} runs",
            lambda db: f"{peak:.0f} MB" if (peak := results.median(f"backlog, peak memory of a parent, {db}")) else "",
        ),
    ]
    return table(("measured", *BOTH), [each for each in asked if any(each[1:])])


def _duration(results: Results, size: str, line: str) -> str:
    found = results.median(line)
    return f"{results.size(size) / found:.0f} s" if found else ""


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{short(ratio)} ×"


def _most(results: Results, line: str, database: str) -> float | None:
    found = [results.median(line.format(path=path, db=database)) for path in PAGES]
    return max((value for value in found if value is not None), default=None)
