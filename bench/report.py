"""The table, and the file of results."""

import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plan import Line, Measure, median

Samples = Mapping[str, list[float]]
_ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
_COLUMNS = ("measure", "baseline", "ours", "baseline's", "unit", "ratio", "spread")


def figures(line: Line, samples: Samples) -> dict[str, Any]:
    """The medians of a line and of its baseline, their ratio, and how far the samples lie apart."""
    own = samples.get(line.name, [])
    middle = median(own)
    beside = median(samples.get(line.baseline, [])) if line.baseline else middle
    return {
        "name": line.name,
        "unit": line.unit,
        "baseline": line.baseline,
        "median": _number(middle),
        "baseline_median": _number(beside),
        "ratio": _number(middle / beside) if beside else None,
        "spread": _number((max(own) - min(own)) / middle) if own and middle else None,
        "samples": own,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def table(measures: list[Measure], samples: Samples) -> str:
    """One line per measure, in the order in which they are taken."""
    rows = [list(_COLUMNS)]
    for each in (figures(line, samples) for measure in measures for line in measure.lines):
        spread = "-" if each["spread"] is None else f"{each['spread']:.0%}"
        ratio = "" if each["baseline"] is None else _text(each["ratio"])
        beside = "" if each["baseline"] is None else _text(each["baseline_median"])
        rows.append([each["name"], each["baseline"] or "", _text(each["median"]), beside, each["unit"], ratio, spread])
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    numbers = {2, 3, 5, 6}
    return "\n".join(
        "  ".join(
            word.rjust(width) if column in numbers else word.ljust(width)
            for column, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _text(value: float | None) -> str:
    if value is None:
        return "failed"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write(
    folder: Path,
    measures: list[Measure],
    samples: Samples,
    about: Mapping[str, Any],
    failures: Mapping[str, str],
    part: list[str],
) -> Path:
    """Write DATE-COMMIT.json, or DATE-COMMIT-only-PART.json; a second one of that name replaces the first."""
    lines = [
        {**figures(line, samples), "what": each.what, "group": each.group, "settings": each.settings}
        for each in measures
        for line in each.lines
    ]
    at = datetime.now(UTC)
    content = {
        "at": at.isoformat(timespec="seconds"),
        **about,
        "load_after": list(os.getloadavg()),
        "failures": failures,
        "lines": lines,
    }
    folder.mkdir(parents=True, exist_ok=True)
    words = re.sub(r"[\W_]+", "-", " ".join(["", "only", *part]).rstrip()) if part else ""
    path = folder / f"{at:%Y-%m-%d}-{about['commit']}{words}.json"
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
    return path


def newest(folder: Path = RESULTS) -> Path | None:
    """The newest results of all measures; those of a part are nobody's figures."""
    whole = [path for path in folder.glob("*.json") if "-only-" not in path.name]
    return max(whole, key=lambda path: json.loads(path.read_text())["at"], default=None)


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code; taken before the first measure."""
    return {
        "cores": os.cpu_count(),
        "cpu": _cpu(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_before": list(os.getloadavg()),
    }


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def commit() -> dict[str, Any]:
    """What is measured; asked before, for a checkout can move on meanwhile."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", _ROOT, *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    return {
        "commit": git("rev-parse", "--short", "HEAD") or "unknown",
        "uncommitted_changes": bool(git("status", "--porcelain", "--", "jobrunner")),
    }
