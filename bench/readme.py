"""The figures that others are shown: three tables and a chart, all from one file of results."""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from chart import chart
from peers import PEERS
from plan import DRAINS, Drain
from published import Results
from sizes import BOTH, POSTGRESQL, SQLITE
from words import joined, milliseconds, number, rate, seconds, table

ROOT = Path(__file__).parents[1]
README, OTHERS, CHART = ROOT / "README.md", ROOT / "bench" / "README.md", ROOT / "docs" / "speed.svg"
SPEED = ROOT / "docs" / "speed.md"
_BETWEEN = re.compile(r"<!-- figures: .*?-->\n.*?<!-- end of the figures -->", re.DOTALL)
# The second in results of an earlier version only.
_STRICT = (("few_runs", "drain of few, strict, {db}"), ("runs", "drain, strict, {db}"))
_NOT_PYTHON = {peer.name for peer in PEERS if not peer.is_python}


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
        row("a tick with nothing to do", seconds, "idle tick"),
        row(f"{results.size('runs'):,} runs that do nothing", rate, "drain, default settings"),
        row("one enqueue, in your transaction", milliseconds, "enqueue"),
        row("from enqueue to start, with `--linger`", milliseconds, "linger: commit to start"),
    )
    return _where(results) + "\n" + table(("", *BOTH), [each for each in rows if any(each[1:])])


def figures(results: Results) -> str:
    """The table of docs/speed.md."""
    rows = [row for row in _rows(results) if any(row[1:3])]
    return _where(results) + "\n" + table(("", *BOTH, "× and %: of"), rows)


def others(results: Results) -> str:
    """The table of the other systems, ours in front: the rates of each size, one beside the other."""
    drains = _compared(results)
    rows = [
        (
            f"jobrunner, {database}",
            seconds(results.median(f"idle tick, {database}")),
            joined(number(results.median(drain.ours.format(db=database))) for drain in drains),
            joined(number(best[0]) if best and drain.size == "runs" else "" for drain in drains),
            "child processes",
            "yes, in groups",
        )
        for database in BOTH
        for best in [results.best(database)]
    ]
    for name, about in results.peers().items():
        idle = [value for each in about["commands"] if (value := results.median(f"idle: {name}, {each} settings"))]
        rates = [_rates(results, drains, name, settings) for settings in ("default", "best")]
        quickest = seconds(min(idle, default=None))
        rows.append((f"{name}, {about['database']}", quickest, *rates, about["isolates"], about["durable"]))
    sizes = " / ".join(f"{results.size(drain.size):,}" for drain in drains)
    titles = (
        "",
        "idle",
        f"runs/s of {sizes}, default",
        f"runs/s of {sizes}, best",
        "a crash is kept from others by",
        "on the disk when it says so",
    )
    told = table(titles, [row for row in rows if any(row[1:4])])
    left = [f"Left out: {name}: {why}." for name, why in results.about.get("left_out", {}).items() if ":" not in name]
    if "–" in told:
        left.insert(
            0,
            f"–: not measured. A size of which one sample would take longer than {results.size('peer_seconds')} s, its"
            f" filling included, is left out; our own best settings were looked for at {results.size('runs'):,}.",
        )
    return "\n".join([told, *left, ""]).replace("\n\n\n", "\n\n")


def _compared(results: Results) -> list[Drain]:
    """The sizes at which a peer was measured; without peers those of our own."""

    peers = [(name, settings) for name in results.peers() for settings in ("default", "best")]
    found = [
        drain
        for drain in DRAINS
        if any(results.median(drain.peers.format(peer=name, settings=settings)) for name, settings in peers)
    ]
    return found or [drain for drain in DRAINS if any(results.median(drain.ours.format(db=db)) for db in BOTH)]


def _rates(results: Results, drains: list[Drain], peer: str, settings: str) -> str:
    """What a peer reaches at each size; or at the few jobs that it was given."""
    names = [drain.peers.format(peer=peer, settings=settings) for drain in drains]
    for name in names:
        if at_most := results.at_most(name):
            return f"{number(results.median(name))} (of {at_most})"
    return joined(number(results.median(name)) for name in names)


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
        "tick with nothing to do, default settings",
        lambda db: _timed(results, f"idle tick, {db}"),
        f"{connect}{_quickest(results)}",
    )
    yield row(
        "tick with one run, default settings",
        lambda db: _timed(results, f"first run, {db}"),
        "the tick with nothing to do",
    )
    for drain in DRAINS:
        yield row(
            f"{results.size(drain.size):,} runs that do nothing, default settings{_ticks(results, drain)}",
            lambda db, name=drain.ours: rate(results.median(name.format(db=db))),
            _drains(results) if drain.size == "runs" else "",
        )
    yield row(f"{runs} at the best `--concurrency`", lambda db: _best(results, db))
    for size, line in _STRICT:
        yield row(
            f"{results.size(size):,} with `--strict`, else default settings: each outcome committed before the"
            " child's next run",
            lambda db, line=line: rate(results.median(line.format(db=db))),
        )
    yield row(
        f"{results.size('slow_runs')} runs of 100 ms, `--concurrency 20`",
        lambda db: _share(results, db),
        "the ideal time; the parent's share of a core",
    )
    yield row(
        f"{results.size('waiting_runs'):,} coroutines that wait for 1 s, default settings: 500 at once",
        lambda db: seconds(results.median(f"waiting runs, start to exit, {db}")),
        "of 2 s at least",
    )
    yield row(
        "one `enqueue` in your transaction, without its commit",
        lambda db: _timed(results, f"enqueue, {db}", "ms"),
        "a bare INSERT",
    )
    yield row(
        "enqueue to start, with `tick --linger`, else default settings",
        lambda db: milliseconds(results.median(f"linger: commit to start, {db}")),
    )
    yield row(
        f"claim 100 beside {results.size('finished'):,} finished runs",
        lambda db: _timed(results, f"claim 100 beside finished runs, {db}", "ms"),
        "the same beside none",
    )


def _ticks(results: Results, drain: Drain) -> str:
    """Where it took several."""
    ticks = max((results.median(f"spike, ticks, {db}") or 1 for db in BOTH), default=1)
    return f": {ticks:.0f} ticks, one after the other" if drain.size == "spike" and ticks > 1 else ""


def _timed(results: Results, name: str, unit: str = "s") -> str:
    value, ratio = results.median(name), results.ratio(name)
    if value is None:
        return ""
    said = seconds(value) if unit == "s" else milliseconds(value)
    return said if ratio is None else f"{said}, {ratio:.2g} ×"


def _best(results: Results, database: str) -> str:
    best = results.best(database)
    if best is None or best[1] == "default settings":
        return "the default is the best" if best else ""
    return f"{rate(best[0])} at {best[1].split()[-1]}"


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
        if about["database"] == POSTGRESQL and name not in _NOT_PYTHON
        if (value := results.median(f"idle: {name}, {settings} settings"))
    ]
    if not found:
        return ""
    quickest, name = min(found)
    return f". The quickest other Python system on PostgreSQL, {name}: {seconds(quickest)}"


def _drains(results: Results) -> str:
    """What the others reach at their best."""
    found = [
        (value, name)
        for name in results.peers()
        if (value := results.median(f"drain: {name}, best settings")) is not None
    ]
    told = ", ".join(f"{name} {number(value)}" for value, name in sorted(found, reverse=True))
    return f"others at their best: {told}" if told else ""


__all__ = ["SQLITE", "Results", "figures", "others", "render", "rendered", "short", "shown"]
