"""The page docs/explanation/proof.md, and the files of results that it is made from."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "proof" / "results"
PAGE = ROOT / "docs" / "explanation" / "proof.md"
PROMISES = {
    "P1": "P1: runs done",
    "P2": "P2: one owner",
    "P3": "P3: slots",
    "P4": "P4: keys",
    "P5 once": "P5: `ctx.once`",
    "P5 transaction": "P5: `ctx.transaction`",
    "limits": "limits",
    "order": "children after parents",
}
"""The columns, by the names that the judge has for them."""
_TEMPLATE = ROOT / "proof" / "page.template"
Results = dict[str, Any]


def save(results: Results, folder: Path | None) -> Path:
    """Write DATE-COMMIT.json; a second one of that name replaces the first."""
    place = folder or RESULTS
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{results['at'][:10]}-{results['commit']}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    return path


def newest() -> Path:
    return max(RESULTS.glob("*.json"), key=lambda path: str(json.loads(path.read_text())["at"]))


def shown() -> Path:
    """The results that the page says it is from."""
    found = re.search(r"<!-- proof: (\S+),", PAGE.read_text())
    if found is None:
        raise LookupError("the page has no table")
    return ROOT / found[1]


def write(path: Path) -> None:
    """Write the page from these results."""
    PAGE.write_text(rendered(path))


def rendered(path: Path) -> str:
    """The page as it has to be."""
    source = path.resolve().relative_to(ROOT)
    block = (
        f"<!-- proof: {source}, written by: make proof -->\n{block_of(json.loads(path.read_text()))}"
        "<!-- end of the proof -->"
    )
    return _TEMPLATE.read_text().replace("<!-- the run -->", block)


def block_of(results: Results) -> str:
    """All of the page that a run has made."""
    phases = _judged(results)
    promises = _table(
        ["fault", *PROMISES.values(), "`verify`", "all of it done"],
        [
            [each["title"], *(_cell(each, name) for name in PROMISES), _verified(each), _drained(each)]
            for each in phases
        ],
    )
    counts = _table(
        ["fault", "enqueued", "a second", "refused", "done again", "uncertain", "forgotten"],
        [_counted(each) for each in phases],
    )
    left_out = [f"- Not done: {each['title']}: {each['left_out']}." for each in results["phases"] if each["left_out"]]
    parts = [_conditions(results), promises, "### What did not hold", _red(phases), "### What was counted beside it"]
    return "\n\n".join([*parts, counts, "### What was done", "\n".join([*map(_done, phases), *left_out])]) + "\n"


def _judged(results: Results) -> list[Results]:
    return [each for each in results["phases"] if not each["left_out"]]


def summary(results: Results) -> str:
    """What a terminal shows at the end."""
    total = sum(each["load"]["acknowledged"] for each in results["phases"])
    lines = [f"{total:,} enqueues were acknowledged in {results['seconds']} s; seed {results['seed']}"]
    for each, name, cell in _broken(results["phases"]):
        kind = "not promised" if each["forgets"] else "BROKEN"
        lines.append(f"{kind}: {each['title']}: {PROMISES[name]}: {cell['broken']}, as {'; '.join(cell['examples'])}")
    return "\n".join(lines)


def broken(results: Results) -> bool:
    """Whether a promise did not hold that is one."""
    wrong = any(each["verify"]["code"] for each in results["phases"])
    stuck = any(each["drained_seconds"] is None for each in results["phases"])
    return wrong or stuck or any(not each["forgets"] for each, _, _ in _broken(results["phases"]))


def _broken(phases: list[Results]) -> Iterator[tuple[Results, str, Results]]:
    for each in phases:
        for name, cell in each["cells"].items():
            if cell["broken"]:
                yield each, name, cell


def _cell(phase: Results, name: str) -> str:
    cell = phase["cells"][name]
    total = cell["held"] + cell["broken"]
    return f"**{cell['broken']:,} of {total:,} broken**" if cell["broken"] else f"{total:,}"


def _verified(phase: Results) -> str:
    """What the command says of the database itself, which is another question than what was done outside."""
    code = phase["verify"]["code"]
    return "holds" if code == 0 else "**does not hold**" if code == 1 else "**no answer**"


def _drained(phase: Results) -> str:
    seconds = phase["drained_seconds"]
    return "**not in time**" if seconds is None else f"after {seconds:.0f} s"


def _red(phases: list[Results]) -> str:
    lines = []
    for each, name, cell in _broken(phases):
        why = (
            "not promised there: the database has forgotten what it knew"
            if each["forgets"]
            else "**this is promised, and did not hold**"
        )
        told = "; ".join(f"`{text}`" for text in cell["examples"])
        lines.append(f"- {each['title']}: {PROMISES[name]}: {cell['broken']:,} ({why}), as {told}.")
    refuted = [each for each in phases if each["verify"]["code"]]
    lines += [
        f"- {each['title']}: `jobrunner verify`: {' '.join(each['verify']['says'].split())[:600]}" for each in refuted
    ]
    stuck = [each["title"] for each in phases if each["drained_seconds"] is None]
    lines += [f"- {title}: when the time was over, runs were still waiting or running." for title in stuck]
    return "\n".join(lines) or "Nothing."


def _counted(phase: Results) -> list[str]:
    load, counts = phase["load"], phase["counts"]
    rate = load["acknowledged"] / load["seconds"]
    numbers = [counts.get(name, 0) for name in ("repeated", "uncertain", "forgotten")]
    shown = [load["acknowledged"], round(rate), load["failures"], *numbers]
    return [phase["title"], *(f"{number:,}" for number in shown)]


def _done(phase: Results) -> str:
    notes = "; ".join(phase["notes"])
    return f"- {phase['title']}{f': {notes}' if notes else ''}."


def _conditions(results: Results) -> str:
    machine = results["machine"]
    changed = " with uncommitted changes" if results["uncommitted_changes"] else ""
    load = sum(each["load"]["acknowledged"] for each in _judged(results))
    spent = sum(each["load"]["seconds"] for each in _judged(results))
    return (
        f"Seed {results['seed']}, {results['at'][:10]}, commit {results['commit']}{changed}, {results['seconds']} s.\n"
        f"All machines are namespaces of one with {machine['cores']} virtual cores ({machine['cpu']}), load"
        f" {machine['load_before']:.1f} before,\n"
        f"{machine['system'].partition('-')[0]}, Python {machine['python']}; PostgreSQL {results['postgresql']}, three"
        f" servers; PgBouncer {results['pgbouncer']};\n{results['hosts']} hosts with"
        f" `--concurrency {results['concurrency']}`, leases of {results['lease_seconds']} s.\n"
        f"The aim was {results['aimed_rate']:,} runs a second: {load:,} were enqueued, {load / spent:,.0f} a second."
    )


def _table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
