"""The command line: choose the measures, take them in rounds, print the table, write the results."""

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import measures  # noqa: F401 - puts them on the list
import peers
import report
from plan import MEASURES, SMALLEST, Measure, Sizes, chosen
from stage import Stage, opened

_PEERS_WITH = {"idle", "drain", "peers"}


def main() -> int:
    """Returns 1 when a measure has failed."""
    options = _options()
    sizes = SMALLEST if options.smallest else Sizes()
    sizes = replace(sizes, **{each.name: given for each in fields(Sizes) if (given := getattr(options, each.name))})
    about: dict[str, Any] = {
        **report.commit(),
        "machine": report.machine(),
        "rounds": options.rounds,
        "sizes": asdict(sizes),
    }
    if options.peers:
        about["peers"], about["left_out"] = peers.install()
    groups = _PEERS_WITH if options.peers else {each.group for each in MEASURES} - {"peers"}
    wanted = chosen(options.only, groups)
    if not wanted:
        sys.exit(f"no measure is called so; there are: {', '.join(sorted({each.group for each in MEASURES}))}")
    samples: dict[str, list[float]] = defaultdict(list)
    failures: dict[str, str] = {}
    with opened(sizes) as stage:
        about["postgresql"] = stage.server_settings()
        for number in range(options.rounds):
            _round(stage, wanted, samples, failures, f"round {number + 1} of {options.rounds}", options.smallest)
    print(report.table(wanted, samples))
    for name, reason in [*about.get("left_out", {}).items(), *failures.items()]:
        print(f"left out: {name}: {reason.splitlines()[-1]}")
    print(f"written to {report.write(options.results, wanted, samples, about, failures)}")
    return 1 if failures else 0


def _round(
    stage: Stage,
    wanted: list[Measure],
    samples: dict[str, list[float]],
    failures: dict[str, str],
    title: str,
    once: bool,
) -> None:
    """Each measure as often as it says, the short ones in turn: noise that comes and goes meets all of them."""
    for turn in range(1 if once else max(each.times for each in wanted)):
        for each in wanted:
            name = each.lines[0].name
            if turn >= each.times or name in failures:
                continue
            began = time.monotonic()
            try:
                taken = list(each.take(stage))
            except Exception as problem:
                # One that cannot be taken is named, and the others go on.
                failures[name] = f"{type(problem).__name__}: {problem}"
                print(f"{title}: {name}: {failures[name]}", file=sys.stderr)
                continue
            for line, value in zip(each.lines, taken, strict=True):
                samples[line.name].append(value)
            print(f"{title}: {name} ({time.monotonic() - began:.1f} s)", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often all is taken [5]")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="a group, or part of a name")
    parser.add_argument("--peers", action="store_true", help="idle ticks and drains beside other systems")
    parser.add_argument("--smallest", action="store_true", help="to try whether all works; the figures mean nothing")
    results = Path(__file__).parent / "results"
    parser.add_argument("--results", type=Path, default=results, metavar="FOLDER", help="[bench/results]")
    for each in fields(Sizes):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=type(each.default), help=f"[{each.default}]")
    return parser.parse_args()
