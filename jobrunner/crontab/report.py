"""What a person is told of an import: every line of the crontab is accounted for. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from jobrunner.crontab.parse import Crontab
from jobrunner.crontab.takeover import Takeover
from jobrunner.text import visible


def report(crontab: Crontab, takeover: Takeover) -> list[str]:
    """A line for each remark, and the sum of all lines."""
    said = [f"line {remark.line}: {remark.text}" for remark in takeover.remarks]
    left = [number for number in takeover.comments if number not in takeover.described]
    if left:
        said.append(f"{_listed(left)}: comment, left behind")
    if takeover.described:
        said.append(f"{_listed(takeover.described)}: comment, the description of the job below")
    said += [f"the file: {remark}" for remark in crontab.remarks]
    return [*map(visible, said), _sum(crontab, takeover)]


def _sum(crontab: Crontab, takeover: Takeover) -> str:
    variables = len(takeover.remarks) - len(takeover.jobs) - takeover.known - len(takeover.refused)
    counts = [
        _counted(len(takeover.jobs), "job"),
        *([f"{takeover.known} there already"] if takeover.known else []),
        f"{len(takeover.refused)} not taken over",
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
