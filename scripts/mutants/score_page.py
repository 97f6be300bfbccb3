"""The table of the mutation score in tests/README.md, made from the newest file of results."""

import json
import re
from pathlib import Path
from typing import Any

from rooms import ROOMS
from sandbox import ROOT
from survivors import REASONS

RESULTS = Path(__file__).parent / "results"
PAGE = ROOT / "tests" / "README.md"
_PLACE = re.compile(r"(<!-- mutation score -->\n).*?(<!-- end of mutation score -->)", re.DOTALL)


def newest() -> Path | None:
    """The file of results that is shown, if there is one."""
    return max(RESULTS.glob("*.json"), default=None)


def place_of(one: dict[str, Any]) -> str:
    """How the tables of survivors name a mutant."""
    return f"{one['file']}:{one['name']}"


def unexplained(results: dict[str, Any]) -> list[str]:
    """The mutants that no test has killed, and about which nothing is said."""
    survived = (place_of(one) for one in results["mutants"] if not one["killer"] and not one.get("killed_later"))
    return [place for place in survived if place not in REASONS]


def table(results: dict[str, Any]) -> str:
    """The rows of the rooms, and of all."""
    lines = ["| room | tried | killed | killed by a test written since | no test can tell |", "|---|---|---|---|---|"]
    for room in [*ROOMS, None]:
        of_room = [one for one in results["mutants"] if room in (one["room"], None)]
        killed = sum(one["killer"] is not None for one in of_room)
        later = sum(bool(one.get("killed_later")) for one in of_room)
        counts = (len(of_room), killed, later, len(of_room) - killed - later)
        if of_room:
            lines.append(f"| {f'`{room}`' if room else 'all'} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines) + "\n"


def rendered() -> str:
    """The page with the newest results."""
    path = newest()
    if path is None:
        return PAGE.read_text()
    results = json.loads(path.read_text())
    said = f"Seed {results['seed']}, commit {results['commit']}, results: `{path.relative_to(ROOT).as_posix()}`.\n"
    return _PLACE.sub(lambda found: f"{found[1]}{said}\n{table(results)}{found[2]}", PAGE.read_text())


def write() -> None:
    """Write the page."""
    PAGE.write_text(rendered())
