"""The command line: choose the measures, take them in rounds, print the table, write the results."""

import argparse
import signal
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import compare
import measures  # noqa: F401 - puts them on the list
import peer_measures
import peers
import profiled
import readme
import report
from plan import MEASURES, Measure, chosen
from processes import NotThere
from sizes import FULL, SMALLEST, Sizes
from stage import Stage, opened

# What has taken so long in all is not taken again.
_PATIENCE_SECONDS = 180


@dataclass
class _Taken:
    """What came of the measures, by the name of each one's first line."""

    samples: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def main() -> int:
    """Returns 1 when a measure has failed, or a comparison found something worse."""
    # Told to end, it clears up what it has made.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = _options()
    if options.compare:
        return compare.compare(*options.compare)
    if options.render:
        readme.render(options.render)
        return 0
    sizes = FULL if options.full else SMALLEST if options.smallest else Sizes()
    given = {each.name: value for each in fields(Sizes) if (value := getattr(options, each.name))}
    sizes = replace(sizes, **given)
    if options.profile:
        return profiled.profile(options.profile, sizes, options.results or peers.PLACE)
    # A part of other sizes is a file of its own, beside that of the published ones.
    part = [*options.only, *(f"{name} {value:.10g}" for name, value in given.items())] if options.only else []
    return _measure(options, sizes, part)


def _measure(options: argparse.Namespace, sizes: Sizes, part: list[str]) -> int:
    about: dict[str, Any] = {
        **report.commit(),
        "machine": report.machine(),
        "sizes": asdict(sizes),
    }
    taken = _Taken()
    if options.peers:
        about["peers"], taken.left_out = peer_measures.install()
    wanted = chosen(options.only, options.without, full=options.full or options.smallest)
    if not wanted:
        sys.exit(f"no measure is called so; there are: {', '.join(sorted({each.group for each in MEASURES}))}")
    with opened(sizes) as stage:
        about["postgresql"] = stage.server_settings()
        for number in range(1, options.rounds + 1):
            _round(stage, wanted, taken, f"round {number} of {options.rounds}", once=options.smallest)
            # After each round, because a later one may be interrupted.
            about |= {"rounds": number, "left_out": taken.left_out}
            measured = [each for each in wanted if each.lines[0].name not in taken.left_out]
            path = report.write(options.results or report.RESULTS, measured, taken.samples, about, taken.failures, part)
    print(report.table(measured, taken.samples))
    for name, reason in [*taken.left_out.items(), *taken.failures.items()]:
        print(f"left out: {name}: {reason.splitlines()[0]}")
    print(f"written to {path}")
    return 1 if taken.failures else 0


def _round(stage: Stage, wanted: list[Measure], taken: _Taken, title: str, *, once: bool) -> None:
    """Each measure as often as it says, the short ones in turn: noise that comes and goes meets all of them."""
    for turn in range(1 if once else max(each.times for each in wanted)):
        for each in wanted:
            name = each.lines[0].name
            over = name in taken.failures or name in taken.left_out or taken.seconds[name] > _PATIENCE_SECONDS
            if turn < each.times and not over:
                print(f"{title}: {name}: {_take(stage, each, taken)}", file=sys.stderr)


def _take(stage: Stage, each: Measure, taken: _Taken) -> str:
    """One sample. One that cannot be taken is named, and the others go on."""
    name = each.lines[0].name
    began = time.monotonic()
    try:
        values = list(each.take(stage))
    except NotThere as reason:
        taken.left_out.update({line.name: str(reason) for line in each.lines})
        return f"left out: {reason}"
    except Exception as problem:
        taken.failures[name] = f"{type(problem).__name__}: {problem}"
        return taken.failures[name]
    for line, value in zip(each.lines, values, strict=True):
        taken.samples[line.name].append(value)
    seconds = time.monotonic() - began
    taken.seconds[name] += seconds
    return f"{seconds:.1f} s"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often all is taken [5]")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="a group, or part of a name")
    parser.add_argument("--without", action="append", default=[], metavar="GROUP", help="a group that is left out")
    parser.add_argument("--peers", action="store_true", help="other systems, too")
    parser.add_argument("--full", action="store_true", help="the sizes of the results that are shown to others")
    parser.add_argument("--smallest", action="store_true", help="to try whether all works; the figures mean nothing")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="[bench/results; a profile: .bench]")
    instead = parser.add_argument_group("instead of measuring").add_mutually_exclusive_group()
    instead.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="what has become worse")
    newest = report.newest()
    instead.add_argument(
        "--render",
        nargs="?",
        type=Path,
        const=newest,
        metavar="FILE",
        help="the README's figures and the chart [newest]",
    )
    instead.add_argument(
        "--profile", nargs="?", const="PostgreSQL", choices=["PostgreSQL", "SQLite"], help="a drain's parent"
    )
    for each in fields(Sizes):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=type(each.default), help=f"[{each.default}]")
    return parser.parse_args()
