"""What the witness's book says about each promise. It knows no database: what was called is counted from outside.

The judge reads the book once, from its begin to its end, and says after each phase what it has found since the last.
The work of one phase has tokens of its own: ``PHASE-TYPE-NUMBER``.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from proof.witness import Line

MOST_RUNNING = 3
_SHOWN = 5


@dataclass
class Cell:
    """What was counted for one promise: how many held, how many did not, and some of those."""

    held: int = 0
    broken: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, total: int, broken: Collection[str]) -> "Cell":
        self.held += total - len(broken)
        self.broken += len(broken)
        self.examples += sorted(broken)[: _SHOWN - len(self.examples)]
        return self


@dataclass
class Interval:
    """When a handler worked on something, by the clock of the machine. ``until`` None: it works on it still."""

    token: str
    since: int
    until: int | None = None


class Judge:
    """Reads lines in the order of the book."""

    def __init__(self) -> None:
        self._acknowledged: dict[str, str] = {}
        self._done: dict[str, int] = defaultdict(int)
        self._first_done: dict[str, int] = {}
        self._effects: dict[str, int] = defaultdict(int)
        self._uncertain: set[str] = set()
        self._runs_of_key: dict[str, set[int]] = defaultdict(set)
        self._runs_of_slot: dict[str, set[int]] = defaultdict(set)
        self._intervals: dict[str, list[Interval]] = defaultdict(list)
        self._open: dict[int, Interval] = {}
        self._told: dict[str, set[str]] = defaultdict(set)
        self._repeated_before = 0
        self._slots_before = 0

    def read(self, lines: Iterable[Line]) -> None:
        for line in lines:
            match line.kind:
                case "acked":
                    self._acknowledged[line.token] = line.detail
                    if line.run:
                        self._runs_of_key[line.token].add(line.run)
                case "done" | "leave":
                    self._finish(line)
                case "enter":
                    self._enter(line)
                case "effect":
                    self._effects[line.token] += 1
                case "uncertain":
                    self._uncertain.add(line.token)
                case "slot":
                    self._runs_of_slot[line.token].add(line.run)
                case "gone" if line.process in self._open:
                    self._open.pop(line.process).until = line.at

    def _enter(self, line: Line) -> None:
        interval = Interval(line.token, line.at)
        self._intervals[_type(line.token)].append(interval)
        self._open[line.process] = interval

    def _finish(self, line: Line) -> None:
        if line.kind == "leave" and line.process in self._open:
            self._open.pop(line.process).until = line.at
        self._done[line.token] += 1
        self._first_done.setdefault(line.token, line.at)
        if _type(line.token) == "keyed":
            self._runs_of_key[line.token].add(line.run)

    def judge(self, phase: str, ledger: Mapping[str, int], waiting: Collection[str] = ()) -> dict[str, Cell]:
        """The cells of a phase that has ended. ``ledger`` counts the rows that own transactions have committed.

        What is still ``waiting`` in the database, or running, is late and not lost.
        """
        cells = {
            "P1": self._runs(phase, ledger, waiting),
            "P2": self._owners(),
            "P3": self._slots(),
            "P4": self._new("P4", len(self._of(phase, "keyed")), _several(self._runs_of_key)),
            "P5 once": self._once(phase),
            "P5 transaction": self._transactions(phase, ledger),
            "limits": self._limits(),
            "order": self._order(phase),
        }
        self._intervals.clear()
        for interval in self._open.values():
            self._intervals[_type(interval.token)].append(interval)
        return cells

    def repeated(self) -> int:
        """How many runs were done again since the last question: at least once allows it, and nobody wants it."""
        total = sum(count - 1 for count in self._done.values() if count > 1)
        new, self._repeated_before = total - self._repeated_before, total
        return new

    def uncertain(self, phase: str) -> int:
        return sum(1 for token in self._uncertain if _phase(token) == phase)

    def open_tokens(self, phase: str) -> set[str]:
        """What was acknowledged and is not done."""
        return {token for token in self._of(phase) if token not in self._done}

    def forgotten(self, phase: str, kept: Collection[str]) -> int:
        """How many acknowledged enqueues have no row any more, done or not."""
        return len(set(self._of(phase)).difference(kept))

    def _slots(self) -> Cell:
        new, self._slots_before = len(self._runs_of_slot) - self._slots_before, len(self._runs_of_slot)
        return self._new("P3", new, _several(self._runs_of_slot))

    def _runs(self, phase: str, ledger: Mapping[str, int], waiting: Collection[str]) -> Cell:
        """An own transaction that has committed has done its run, whatever became of its process."""
        lost = self.open_tokens(phase).difference(ledger, waiting)
        return Cell().add(len(self._of(phase)), lost)

    def _once(self, phase: str) -> Cell:
        """At most one call for each key, and none that is missing, unless it is shown as uncertain."""
        keys = self._of(phase, "keyed")
        twice = {f"{key} was called {count} times" for key, count in self._effects.items() if count > 1}
        never = {
            f"{key} was never called, and its run has ended"
            for key in keys
            if key in self._done and not self._effects.get(key) and key not in self._uncertain
        }
        return self._new("P5 once", len(keys), twice | never)

    def _transactions(self, phase: str, ledger: Mapping[str, int]) -> Cell:
        own = self._of(phase, "own")
        wrong = {f"{each}: {ledger.get(each, 0)} rows" for each in own if each in self._done and each not in ledger}
        wrong |= {f"{token}: {count} rows" for token, count in ledger.items() if count > 1}
        return self._new("P5 transaction", len(own), wrong)

    def _owners(self) -> Cell:
        """Two handlers that worked on the same run at the same time."""
        total, both = 0, set()
        for intervals in self._intervals.values():
            by_token = defaultdict(list)
            for each in intervals:
                by_token[each.token].append(each)
            total += len(by_token)
            both |= {token for token, found in by_token.items() if most_at_once(found) > 1}
        return Cell().add(total, both)

    def _limits(self) -> Cell:
        found = self._intervals.get("limited", [])
        over = {f"{count} at once, with {token}" for token, count in crowds(found) if count > MOST_RUNNING}
        return Cell().add(len(found), over)

    def _order(self, phase: str) -> Cell:
        """Each child began after its parents had been done."""
        began = {each.token: each.since for each in reversed(self._intervals.get("whole", []))}
        children = {token: self._acknowledged[token].split() for token in self._of(phase, "whole")}
        early = {
            child
            for child, parents in children.items()
            if child in began and any(self._first_done.get(each, began[child] + 1) > began[child] for each in parents)
        }
        return Cell().add(len(children), early)

    def _of(self, phase: str, job_type: str = "") -> list[str]:
        return [
            token
            for token in self._acknowledged
            if _phase(token) == phase and (not job_type or _type(token) == job_type)
        ]

    def _new(self, promise: str, total: int, broken: set[str]) -> Cell:
        """What an earlier phase has told is not told again."""
        fresh = broken - self._told[promise]
        self._told[promise] |= fresh
        return Cell().add(max(total, len(fresh)), fresh)


def most_at_once(intervals: Iterable[Interval]) -> int:
    return max((count for _, count in crowds(intervals)), default=0)


def crowds(intervals: Iterable[Interval]) -> list[tuple[str, int]]:
    """For each begin of an interval: what began, and how many were at work then. Ends come before begins."""
    moments = [(each.since, 1, each.token) for each in intervals]
    moments += [(each.until, 0, each.token) for each in intervals if each.until is not None]
    found, count = [], 0
    for _, is_begin, token in sorted(moments):
        count += 1 if is_begin else -1
        if is_begin:
            found.append((token, count))
    return found


def _several(runs: Mapping[str, set[int]]) -> set[str]:
    return {f"{name} has the runs {sorted(found)}" for name, found in runs.items() if len(found) > 1}


def _phase(token: str) -> str:
    return token.partition("-")[0]


def _type(token: str) -> str:
    return token.split("-")[1] if "-" in token else ""
