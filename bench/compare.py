"""Two files of results: which lines have become worse."""

import json
from pathlib import Path
from typing import Any

from plan import LESS_IS_BETTER, PEERS, SIZES, median

_TENTH = 0.1


def compare(old_path: Path, new_path: Path) -> int:
    """Print what is worse by more than a tenth, and more than the samples' own spread explains; return 1 for any.

    Compared are the ratios to the baselines: the machine may have had a slower day. A line without a baseline is
    compared as it is; the baselines themselves are not.
    """
    old, new = (json.loads(path.read_text()) for path in (old_path, new_path))
    differing = [name for name, size in old["sizes"].items() if new["sizes"].get(name) != size]
    if differing:
        print(f"not comparable: other sizes of {', '.join(differing)}")
        return 1
    if (there := old["machine"]["cpu"]) != (here := new["machine"]["cpu"]):
        print(f"note: measured on {there}, then on {here}: only the ratios tell something")
    before = {line["name"]: line for line in old["lines"]}
    after = {line["name"]: line for line in new["lines"]}
    worse = [said for name in before if (said := _judge(before[name], after.get(name)))]
    print("\n".join(worse) or f"no line is worse by more than a tenth ({len(before)} lines)")
    return 1 if worse else 0


def _judge(old: dict[str, Any], new: dict[str, Any] | None) -> str:
    """What is to be said of a line; nothing if it is as good as it was."""
    was = _costs(old)
    if old["group"] in {"baselines", PEERS, SIZES} or not was:
        return ""
    costs = _costs(new) if new is not None else []
    if new is None or not costs:
        return f"{old['name']}: is not in the new results"
    if new["baseline"] != old["baseline"]:
        return f"{old['name']}: not compared: its baseline was another one"
    change = median(costs) / median(was) - 1
    # The middle halves of both lie apart: noise does not explain it.
    if change <= _TENTH or _quartiles(costs)[0] <= _quartiles(was)[1]:
        return ""
    unit = f"times {old['baseline']}" if old["baseline"] else old["unit"]
    figures = [line["ratio"] if line["baseline"] else line["median"] for line in (old, new)]
    return f"{old['name']}: {change:.0%} worse: {figures[0]:.3g} -> {figures[1]:.3g} {unit}"


def _costs(line: dict[str, Any]) -> list[float]:
    """The samples in such units that less is better, relative to the baseline of their own run."""
    scale = line["baseline_median"] if line["baseline"] else 1.0
    if not scale:
        return []
    samples = [each / scale for each in line["samples"] if each > 0]
    return sorted(samples if line["unit"] in LESS_IS_BETTER else [1 / each for each in samples])


def _quartiles(ordered: list[float]) -> tuple[float, float]:
    last = len(ordered) - 1
    return ordered[round(last / 4)], ordered[round(last * 3 / 4)]
