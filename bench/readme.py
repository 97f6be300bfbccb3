"""The figures that others are shown: five tables and a chart, all from one file of results."""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import cells
import operated
from chart import chart
from goals import GOALS
from measures.baselines import RAW_EACH
from measures.enqueue import SINGLE, SINGLE_THROUGH_SESSION
from measures.idle import PROCESSOR_TIME
from plan import DRAINS, IDLE, JOINED_ENQUEUE, ONE_JOB, SINGLE_ENQUEUE, Drain
from published import Results
from sizes import BOTH, SQLITE
from words import joined, milliseconds, number, rate, seconds, table, timed

ROOT = Path(__file__).parents[1]
README, OTHERS, CHART = ROOT / "README.md", ROOT / "bench" / "README.md", ROOT / "docs" / "speed.svg"
SPEED, SCALE = ROOT / "docs" / "explanation" / "speed.md", ROOT / "docs" / "howto" / "scale.md"
_BETWEEN = re.compile(r"<!-- figures: .*?-->\n.*?<!-- end of the figures -->", re.DOTALL)


def render(path: Path | None) -> None:
    """Write all of them; the results must be there."""
    if path is None:
        sys.exit("there are no results of all measures yet: make bench-full")
    results = Results(path)
    if left := missing(results):
        print(f"{path} has no figures for these rows, which are left out:", *left, sep="\n- ")
    for file, text in rendered(results).items():
        file.write_text(text)
        print(f"written to {file}")


def rendered(results: Results) -> dict[Path, str]:
    """What each file has to contain."""
    return {
        README: _put(README, results, short(results)),
        SPEED: _put(SPEED, results, figures(results) + goals(results)),
        SCALE: _put(SCALE, results, _where(results) + "\n" + operated.carries(results)),
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
        row("a tick with one run", seconds, "first run"),
        row(f"{results.size('runs'):,} runs that do nothing", rate, "drain, default settings"),
        row("one enqueue, in your transaction", milliseconds, "enqueue"),
        row("from enqueue to start, with `--linger`", milliseconds, "linger: commit to start"),
    )
    return _where(results) + "\n" + table(("", *BOTH), [each for each in rows if any(each[1:])])


def figures(results: Results) -> str:
    """The table of docs/explanation/speed.md."""
    rows = [row for row in _rows(results) if any(row[1:3])]
    return _where(results) + _parts(results) + "\n" + table(("", *BOTH, "compared with"), rows)


def goals(results: Results) -> str:
    """The second table of docs/explanation/speed.md; nothing where nothing of it was measured."""
    rows = [row for goal in GOALS if any((row := goal.row(results))[1:])]
    title = "Goals, each as a ratio to what was measured in the same rounds:"
    return f"\n{title}\n\n{table(('', *BOTH), rows)}" if rows else ""


def missing(results: Results) -> list[str]:
    """The rows of docs/explanation/speed.md, and the goals, for which these results have no figure."""
    left = [row[0] for row in _rows(results) if not any(row[1:3])]
    for goal in GOALS:
        what, *cells = goal.row(results)
        left += [f"goal: {what}, {db}" for db, cell in zip(BOTH, cells, strict=True) if db in goal.aims and not cell]
    return left


def others(results: Results) -> str:
    """The table of the other systems, ours in front: the rates of each size, one beside the other."""
    drains = _compared(results)
    idle, one_job = ({name: value for value, name in results.of_peers(line, less=True)} for line in (IDLE, ONE_JOB))
    starts = 2 if one_job else 1
    rows = [
        (
            f"jobrunner, {database}",
            joined(seconds(results.median(f"{name}, {database}")) for name in ("idle tick", "first run")[:starts]),
            joined(number(results.median(drain.ours.format(db=database))) for drain in drains),
            joined(number(best[0]) if best and drain.size == "runs" else "" for drain in drains),
            "child processes",
            "yes, in groups",
        )
        for database in BOTH
        for best in [results.best(database)]
    ]
    for name, about in results.peers().items():
        rates = [_rates(results, drains, name, settings) for settings in ("default", "best")]
        quickest = joined(seconds(each.get(name)) for each in (idle, one_job)[:starts])
        rows.append((f"{name}, {about['database']}", quickest, *rates, about["isolates"], about["durable"]))
    sizes = " / ".join(f"{results.size(drain.size):,}" for drain in drains)
    titles = (
        "",
        "idle / one job" if one_job else "idle",
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
    found = [drain for drain in DRAINS if results.of_peers(drain.peers)]
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


def _parts(results: Results) -> str:
    """Where the figures are from that were measured on their own."""
    files = ", ".join(f"`{part.resolve().relative_to(ROOT)}`" for part in results.parts)
    return f"Measured on their own: {files}.\n" if files else ""


def _rows(results: Results) -> Iterable[tuple[str, ...]]:
    # "×" in a cell: times what is beside it.
    runs = f"{results.size('runs'):,}"

    def row(what: str, say: Callable[[str], str], beside: str = "") -> tuple[str, ...]:
        return (what, *(say(database) for database in BOTH), beside)

    connect = "psycopg that connects and asks `select 1`; `python -c pass`"
    yield row(
        "tick with nothing to do, default settings",
        lambda db: timed(results, f"idle tick, {db}"),
        f"{connect}{cells.quickest(results)}",
    )
    yield row(
        "the processor time of such a tick, without the server's",
        lambda db: timed(results, PROCESSOR_TIME.format(db=db), milliseconds),
        "`python -c pass`",
    )
    one_job = cells.others(results, ONE_JOB, seconds, less=True)
    yield row(
        "tick with one run, default settings",
        lambda db: timed(results, f"first run, {db}"),
        "the tick with nothing to do" + (f". Others with one job: {one_job}" if one_job else ""),
    )
    for drain in DRAINS:
        peers = cells.others(results, drain.peers, number)
        yield row(
            f"{results.size(drain.size):,} runs that do nothing, default settings{cells.ticks(results, drain)}",
            lambda db, name=drain.ours: rate(results.median(name.format(db=db))),
            f"others at their best: {peers}" if peers else "",
        )
    yield row(
        f"the processor time of each of {results.size('spike'):,}: the tick; its children; the server",
        lambda db: cells.parts_of_a_run(results, db),
        cells.parts_of_jobs(results),
    )
    yield row(f"{runs} at the best `--concurrency`", lambda db: cells.best(results, db))
    yield row(
        f"{results.size('spike'):,} by one tick with all of them in its `--batch`, else default settings",
        lambda db: rate(results.median(f"spike, one tick, {db}")),
    )
    for size, line, batch in (("runs", "", ""), ("spike", "spike, ", " with all of them in its `--batch`")):
        yield row(
            f"{results.size(size):,} by two ticks at once, each of its own host, else default settings{batch}",
            lambda db, line=line: timed(results, f"{line}2 ticks side by side, {db}", rate),
            "one such tick",
        )
    yield row(
        f"{results.size('runs'):,} with `--strict`, else default settings: each outcome committed before the"
        " child's next run",
        lambda db: timed(results, f"drain, strict, {db}", rate, RAW_EACH.format(db=db)),
        "a plain loop that commits each outcome" if results.median(RAW_EACH.format(db=SQLITE)) else "",
    )
    yield row(
        f"{results.size('backlog'):,} by ticks of {results.size('backlog_seconds')} s, one after the other, a quarter"
        " of them in each `--batch`: the rate of the last full one; the most memory of a parent",
        lambda db: cells.backlog(results, db),
        "the rate of the first",
    )
    yield row(
        f"{results.size('slow_runs')} runs of 100 ms, `--concurrency 20`",
        lambda db: cells.share(results, db),
        "the ideal time; the parent's share of a core",
    )
    yield row(
        f"{results.size('waiting_runs'):,} coroutines that wait for 1 s, default settings: 500 at once",
        lambda db: timed(results, f"waiting runs, start to exit, {db}"),
        "the ideal time, 2 s",
    )
    yield row(
        "one `enqueue` in your transaction, without its commit",
        lambda db: timed(results, f"enqueue, {db}", milliseconds),
        "a bare INSERT",
    )
    peers, as_ours = cells.others(results, SINGLE_ENQUEUE, rate), cells.others(results, JOINED_ENQUEUE, rate)
    for what, line, bare in (
        ("psycopg or sqlite3", "driver's connection", SINGLE),
        ("a session of SQLAlchemy", "SQLAlchemy", SINGLE_THROUGH_SESSION),
    ):
        yield row(
            f"single enqueues through {what}, each committed",
            lambda db, line=line, bare=bare: timed(results, f"single enqueue, {line}, {db}", rate, bare.format(db=db)),
            f"bare INSERTs through {what}, each committed"
            + (f". Others: {peers}" if peers else "")
            + (f"; in the caller's transaction, as ours: {as_ours}" if as_ours else ""),
        )
    yield row(
        "enqueue to start, with `tick --linger`, else default settings",
        lambda db: milliseconds(results.median(f"linger: commit to start, {db}")),
    )
    yield from operated.rows(results)


__all__ = ["SQLITE", "Results", "figures", "others", "render", "rendered", "short", "shown"]
