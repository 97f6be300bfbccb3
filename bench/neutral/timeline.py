#!/usr/bin/env python3
"""timeline.py CELL: the begin of each phase, executions in each second, ticks, and what the ticks warned of."""

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

_SECONDS_OF_A_LINE = 20
_MOST_WARNINGS = 60


def main() -> None:
    cell = Path(sys.argv[1])
    done = Counter(int(float(line.split()[5])) for path in cell.glob("done-[0-9].log") for line in path.open())
    first = min(done)
    for label, at in sorted(_begins(cell).items(), key=lambda each: each[1]):
        print(f"{label} from about +{at - first:.0f}s")
    seconds = range(first, max(done) + 1)
    for number in range(0, len(seconds), _SECONDS_OF_A_LINE):
        line = seconds[number : number + _SECONDS_OF_A_LINE]
        print(f"+{number:4}  " + " ".join(f"{done[second]:4}" for second in line))
    for path in sorted(cell.glob("ticks-[0-9].log")):
        print(path.name)
        for line in path.read_text().splitlines():
            stamp, _, text = line.partition(" ")
            print(f"  +{_seconds(stamp) - first:6.1f} {text}" if stamp.endswith("Z") else f"          {line[:220]}")
    for text, count in list(Counter(_warnings(cell, first)).items())[:_MOST_WARNINGS]:
        print(f"{count:5} {text}")


def _begins(cell: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in csv.DictReader((cell / "raw.csv").open()):
        if row["subject_kind"] != "wait_event":
            at = _seconds(row["sampled_at"])
            found[row["phase_label"]] = min(found.get(row["phase_label"], at), at)
    return found


def _warnings(cell: Path, first: int) -> Iterator[str]:
    for path in cell.glob("tick-[0-9].jsonl"):
        for line in path.open():
            event = json.loads(line)
            if event["level"] != "info":
                at = _seconds(event.pop("at")) - first
                told = {name: value for name, value in event.items() if name not in ("run_id", "attempt", "job_type")}
                yield f"+{at:5.0f} {json.dumps(told)[:260]}"


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


if __name__ == "__main__":
    main()
