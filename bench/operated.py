"""The rows of docs/speed.md about a long history: what one database carries."""

from collections.abc import Callable, Iterator

from measures.operate import ASKED, PAGES
from published import Results
from sizes import BOTH
from words import milliseconds, rate, seconds, timed

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
        f"the slowest page of [the page](web.md), beside {operated} finished runs: 95 of 100 within",
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
        f"a change of {results.size('changed'):,} runs by `priority`",
        lambda db: rate(results.median(f"change of many runs, {db}")),
    )
    yield row(
        "claim 100 beside such a change",
        lambda db: timed(results, f"claim 100 beside a change of many runs, {db}", milliseconds),
        "the same beside as many waiting runs that nobody changes",
    )


def _most(results: Results, line: str, database: str) -> float | None:
    found = [results.median(line.format(path=path, db=database)) for path in PAGES]
    return max((value for value in found if value is not None), default=None)
