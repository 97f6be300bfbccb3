#!/usr/bin/env python3
"""table.py CELLS [PART...]: a line for each phase of each cell: rates, latencies, depth, dead rows; and the verdict.

And the longest time without an end, by the ledgers, since the harness looks each five seconds only.
"""

import csv
import json
import statistics
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

_CHAOS = ("jobs_lost", "chaos_recovery_time_s", "baseline_completion_rate_median")


def main() -> None:
    folder, *parts = sys.argv[1:]
    for cell in sorted(Path(folder).iterdir()):
        if not parts or any(part in cell.name for part in parts):
            print("\n".join(_told(cell)))


def _told(cell: Path) -> list[str]:
    lines = [f"\n## {cell.name}  {_load(cell)}{_longest_pause(cell)}"]
    if (cell / "summary.json").exists():
        systems = json.loads((cell / "summary.json").read_text())["systems"]
        rows = list(csv.DictReader((cell / "raw.csv").open()))
        for system, data in systems.items():
            for label, phase in data["phases"].items():
                lines.append(_of_phase(system, label, phase, _dead(rows, system, label)))
    if (cell / "verdict.json").exists():
        for line in (cell / "verdict.json").read_text().splitlines():
            verdict = json.loads(line)
            verdict.pop("done_twice_examples", None)
            lines.append(f"  verdict {json.dumps(verdict)}")
    return lines


def _load(cell: Path) -> str:
    """How busy the machine was before and during the cell."""
    path = cell / "load"
    lines = path.read_text().splitlines() if path.exists() else []
    busy = [int(line.split("busy ")[1].rstrip("%")) for line in lines if "busy" in line]
    others = next((line.split()[1] for line in lines if line.startswith("background")), "?")
    code = lines[-1].split()[0] if lines else "?"
    return f"{code}; others kept {others} busy before; median {statistics.median(busy) if busy else '?'}% busy"


def _longest_pause(cell: Path) -> str:
    # Replica 9 is the judge's.
    ends = sorted(float(line.split()[5]) for path in cell.glob("done-[0-8].log") for line in path.open())
    pauses = [after - before for before, after in pairwise(ends)]
    return f"; at most {max(pauses):.2f} s without an end" if pauses else ""


def _dead(rows: list[dict[str, str]], system: str, label: str) -> list[float]:
    """Dead rows of all tables at each sample."""
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        if (row["system"], row["phase_label"], row["metric"]) == (system, label, "n_dead_tup"):
            found[row["elapsed_s"]] += float(row["value"])
    return list(found.values())


def _of_phase(system: str, label: str, phase: dict[str, Any], dead: list[float]) -> str:
    metrics = phase["metrics"]

    def of(metric: str, kind: str = "median") -> str:
        return f"{metrics[metric][kind]:.0f}" if metric in metrics else "-"

    def percentiles(name: str) -> str:
        return "/".join(of(f"{name}_{each}_ms") for each in ("p50", "p95", "p99"))

    chaos = {name: phase[name] for name in _CHAOS if name in phase}
    return (
        f"  {system:14}{label:11} enqueued {of('enqueue_rate'):>5} done {of('completion_rate'):>5}"
        f" claim p50/95/99 {percentiles('claim')} end to end {percentiles('end_to_end')}"
        f" depth {of('queue_depth')}/{of('queue_depth', 'peak')}"
        f" dead rows {max(dead, default=0):.0f}, last {dead[-1] if dead else 0:.0f}"
        f" {json.dumps(chaos) if chaos else ''}"
    )


if __name__ == "__main__":
    main()
