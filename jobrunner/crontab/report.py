"""The report of an import, which accounts for every line of the crontab. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jobrunner.crontab.import_records import Takeover
from jobrunner.crontab.parse import Crontab
from jobrunner.text import visible


def report(crontab: Crontab, takeover: Takeover) -> list[str]:
    """A line for each remark, and the counts of all lines."""
    shown = [f"line {remark.line}: {remark.text}" for remark in takeover.remarks]
    left = [number for number in takeover.comments if number not in takeover.described]
    if left:
        shown.append(f"{_listed(left)}: comment, not imported")
    if takeover.described:
        shown.append(f"{_listed(takeover.described)}: comment, the description of the job below")
    shown += [f"the file: {remark}" for remark in crontab.remarks]
    return [*map(visible, shown), _counts(crontab, takeover)]


def _counts(crontab: Crontab, takeover: Takeover) -> str:
    variables = len(takeover.remarks) - len(takeover.jobs) - takeover.known - len(takeover.refused)
    counts = [
        _counted(len(takeover.jobs), "job"),
        *([f"{takeover.known} already there"] if takeover.known else []),
        f"{len(takeover.refused)} not imported",
        _counted(variables, "variable"),
        _counted(len(takeover.comments), "comment"),
        f"{takeover.blank} blank",
    ]
    return f"{_counted(len(crontab.lines), 'line')}: {', '.join(counts)}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _listed(numbers: Sequence[int]) -> str:
    """``lines 1-3, 7``."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"
