"""The figures that others are shown: three tables and a chart, all from one file of results."""

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from chart import chart
from plan import BOTH, POSTGRESQL, SQLITE

ROOT = Path(__file__).parents[1]
README, OTHERS, CHART = ROOT / "README.md", ROOT / "bench" / "README.md", ROOT / "docs" / "speed.svg"
SPEED = ROOT / "docs" / "speed.md"
_BETWEEN = re.compile(r"<!-- figures: .*?-->\n.*?<!-- end of the figures -->", re.DOTALL)
_BEST = ("default settings", "--concurrency 2", "--concurrency 8")


class Results:
    """A file of results; what is not in it is None."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = json.loads(path.read_text())
        self._lines = {line["name"]: line for line in self.about["lines"]}

    def size(self, name: str) -> int:
        return int(self.about["sizes"].get(name, 0))

    def median(self, name: str) -> float | None:
        return self._of(name, "median")

    def ratio(self, name: str) -> float | None:
        return self._of(name, "ratio")

    def best(self, database: str) -> tuple[float, str] | None:
        """Our quickest drain, and its settings."""
        found = [(value, each) for each in _BEST if (value := self.median(f"drain, {each}, {database}"))]
        return max(found, default=None)

    def peers(self) -> dict[str, dict[str, Any]]:
        return dict(self.about.get("peers", {}))

    def _of(self, name: str, figure: str) -> float | None:
        line = self._lines.get(name)
        return None if line is None else line[figure]


def render(path: Path | None) -> None:
    """Write all of them; the results must be there."""
    if path is None:
        sys.exit("there are no results of all measures yet: make bench-full")
    results = Results(path)
    for file, text in rendered(results).items():
        file.write_text(text)
        print(f"written to {file}")


def rendered(results: Results) -> dict[Path, str]:
    """What each file has to contain."""
    return {
        README: _put(README, results, short(results)),
        SPEED: _put(SPEED, results, figures(results)),
        OTHERS: _put(OTHERS, results, others(results)),
        CHART: chart(results),
    }


def shown() -> Path:
    """The results that the README's figures say they are from."""
    found = re.search(r"<!-- figures: (\S+),", README.read_text())
    if found is None:
        raise LookupError("the README has no figures")
    return ROOT / found[1]


def _put(file: Path, results: Results, text: str) -> str:
    source = results.path.resolve().relative_to(ROOT)
    block = f"<!-- figures: {source}, written by: make bench-readme -->\n{text}<!-- end of the figures -->"
    return _BETWEEN.sub(lambda _: block, file.read_text(), count=1)


def short(results: Results) -> str:
    """The README's table: what a stranger asks first."""

    def row(what: str, say: Callable[[float | None], str], name: str) -> tuple[str, ...]:
        return (what, *(say(results.median(f"{name}, {database}")) for database in BOTH))

    rows = (
        row("a tick with nothing to do", _seconds, "idle tick"),
        row(f"{results.size('runs'):,} runs that do nothing", _rate, "drain, default settings"),
        row("one enqueue, in your transaction", _milliseconds, "enqueue"),
        row("from enqueue to start, with `--linger`", _milliseconds, "linger: commit to start"),
    )
    return _where(results) + "\n" + _table(("", *BOTH), [each for each in rows if any(each[1:])])


def figures(results: Results) -> str:
    """The table of docs/speed.md."""
    rows = [row for row in _rows(results) if any(row[1:3])]
    return _where(results) + "\n" + _table(("", *BOTH, "× and %: of"), rows)


def others(results: Results) -> str:
    """The table of the other systems, ours in front."""
    rows = [
        (
            f"jobrunner, {database}",
            _seconds(results.median(f"idle tick, {database}")),
            _number(results.median(f"drain, default settings, {database}")),
            _number(best[0]) if (best := results.best(database)) else "",
            "child processes",
            "yes, in groups",
        )
        for database in BOTH
    ]
    for name, about in results.peers().items():
        idle = [value for each in about["commands"] if (value := results.median(f"idle: {name}, {each} settings"))]
        drains = [_number(results.median(f"drain: {name}, {each} settings")) for each in ("default", "best")]
        quickest = _seconds(min(idle, default=None))
        rows.append((f"{name}, {about['database']}", quickest, *drains, about["isolates"], about["durable"]))
    titles = (
        "",
        "idle",
        "runs/s, default",
        "runs/s, best",
        "a crash is kept from others by",
        "on the disk when it says so",
    )
    left = [f"Left out: {name}: {why}." for name, why in results.about.get("left_out", {}).items() if ":" not in name]
    return "\n".join([_table(titles, [row for row in rows if any(row[1:4])]), *left, ""]).replace("\n\n\n", "\n\n")


def _where(results: Results) -> str:
    about = results.about
    machine, server, rounds = about["machine"], about["postgresql"], about["rounds"]
    changed = " with uncommitted changes" if about["uncommitted_changes"] else ""
    return (
        f"Medians of {rounds} round{'s' * (rounds > 1)} on {about['at'][:10]}, commit {about['commit']}{changed}:\n"
        f"{machine['cores']} virtual cores ({machine['cpu']}), load {machine['load_before'][0]:.1f} before,"
        f" {machine['system'].partition('-')[0]}, Python {machine['python']};\n"
        f"PostgreSQL {server['server_version']} on the same machine with `fsync` {server['fsync']} and"
        f" `synchronous_commit` {server['synchronous_commit']}, SQLite with WAL.\n"
    )


def _rows(results: Results) -> Iterable[tuple[str, ...]]:
    # "×" in a cell: times what is beside it.
    runs = f"{results.size('runs'):,}"

    def row(what: str, say: Callable[[str], str], beside: str = "") -> tuple[str, ...]:
        return (what, *(say(database) for database in BOTH), beside)

    connect = "psycopg that connects and asks `select 1`; `python -c pass`"
    yield row(
        "tick with nothing to do", lambda db: _timed(results, f"idle tick, {db}"), f"{connect}{_quickest(results)}"
    )
    yield row("tick with one run", lambda db: _timed(results, f"first run, {db}"), "the tick with nothing to do")
    yield row(
        f"{runs} runs that do nothing, as it comes",
        lambda db: _rate(results.median(f"drain, default settings, {db}")),
        _drains(results),
    )
    yield row("the same at the best `--concurrency`", lambda db: _best(results, db))
    yield row(
        "the same, each outcome committed before the child's next run",
        lambda db: _strict(results, db),
    )
    yield row(
        f"{results.size('slow_runs')} runs of 100 ms, 20 at once",
        lambda db: _share(results, db),
        "the ideal time; the parent's share of a core",
    )
    yield row(
        f"{results.size('waiting_runs'):,} coroutines that wait for 1 s, 500 at once",
        lambda db: _seconds(results.median(f"waiting runs, start to exit, {db}")),
        "of 2 s at least",
    )
    yield row("enqueue, in your transaction", lambda db: _timed(results, f"enqueue, {db}", "ms"), "a bare INSERT")
    yield row(
        "enqueue to start, with `tick --linger`",
        lambda db: _milliseconds(results.median(f"linger: commit to start, {db}")),
    )
    yield row(
        f"claim 100 beside {results.size('finished'):,} finished runs",
        lambda db: _timed(results, f"claim 100 beside finished runs, {db}", "ms"),
        "the same beside none",
    )


def _timed(results: Results, name: str, unit: str = "s") -> str:
    value, ratio = results.median(name), results.ratio(name)
    if value is None:
        return ""
    said = _seconds(value) if unit == "s" else _milliseconds(value)
    return said if ratio is None else f"{said}, {ratio:.2g} ×"


def _best(results: Results, database: str) -> str:
    best = results.best(database)
    if best is None or best[1] == "default settings":
        return "the default is the best" if best else ""
    return f"{_rate(best[0])} at {best[1].split()[-1]}"


def _strict(results: Results, database: str) -> str:
    found = [results.median(f"drain, strict, {settings}{database}") for settings in ("", "--concurrency 8, ")]
    return _rate(max((value for value in found if value), default=None))


def _share(results: Results, database: str) -> str:
    ratio = results.ratio(f"slow runs, first start to last end, {database}")
    cores = results.median(f"slow runs, processor time of the parent at work, {database}")
    if ratio is None or cores is None:
        return ""
    return f"{1 / ratio:.0%}; {cores:.0%}"


def _quickest(results: Results) -> str:
    """The quickest idle one-shot of another Python system on PostgreSQL."""
    found = [
        (value, name)
        for name, about in results.peers().items()
        for settings in about["commands"]
        if about["database"] == POSTGRESQL and name != "graphile-worker"
        if (value := results.median(f"idle: {name}, {settings} settings"))
    ]
    if not found:
        return ""
    seconds, name = min(found)
    return f". The quickest other Python system on PostgreSQL, {name}: {_seconds(seconds)}"


def _drains(results: Results) -> str:
    """What the others reach at their best."""
    found = [
        (value, name)
        for name in results.peers()
        if (value := results.median(f"drain: {name}, best settings")) is not None
    ]
    told = ", ".join(f"{name} {_number(value)}" for value, name in sorted(found, reverse=True))
    return f"others at their best: {told}" if told else ""


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(titles), *map(tuple, rows)]
    lines.insert(1, tuple("---" for _ in lines[0]))
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in line)}|\n" for line in lines)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.1f}"


def _rate(value: float | None) -> str:
    return f"{_number(value)}/s" if value else ""


def _seconds(value: float | None) -> str:
    return f"{value:.2f} s" if value else ""


def _milliseconds(value: float | None) -> str:
    return f"{float(f'{value:.2g}'):g} ms" if value else ""


__all__ = ["SQLITE", "Results", "figures", "others", "render", "rendered", "short", "shown"]
