"""A file of results, as the pages that show figures read it."""

import json
from pathlib import Path
from typing import Any

from sizes import FULL

_BEST = ("default settings", "--concurrency 2", "--concurrency 8")


class Results:
    """A file of results; what is not in it is None.

    What it left out may be measured on its own: it is read from the files of parts of the same commit and sizes, which
    are its ``parts``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = json.loads(path.read_text())
        self.parts: list[Path] = []
        self._lines = {line["name"]: line for line in self.about["lines"]}
        for part in sorted(path.parent.glob(f"*-{self.about['commit']}-only-*.json")):
            about = json.loads(part.read_text())
            more = {each["name"]: each for each in about["lines"] if each["name"] not in self._lines}
            if more and part != path and about["sizes"] == self.about["sizes"]:
                self.parts.append(part)
                self._lines |= more

    def size(self, name: str) -> int:
        """Results without a size have no measure of it either: it is told as what to measure."""
        return int(self.about["sizes"].get(name, getattr(FULL, name)))

    def median(self, name: str) -> float | None:
        return self._of(name, "median")

    def unit(self, name: str) -> str:
        return str(self._of(name, "unit") or "")

    def ratio(self, name: str, baseline: str = "") -> float | None:
        """To the line's baseline; where that was another one in earlier versions, it is named."""
        was = self._of(name, "baseline")
        return None if baseline and was != baseline else self._of(name, "ratio")

    def of_peers(self, line: str, *, less: bool = False) -> list[tuple[float, str]]:
        """The medians of such a line of each peer, at the settings that suit it better; the best first.

        A line for which the peer was given few jobs only is not among them.
        """
        found = []
        for name in self.peers():
            both = [line.format(peer=name, settings=settings) for settings in ("default", "best")]
            medians = [self.median(each) for each in both if self.at_most(each) is None]
            if values := [value for value in medians if value is not None]:
                found.append((min(values) if less else max(values), name))
        return sorted(found, reverse=not less)

    def at_most(self, name: str) -> int | None:
        """So many jobs, where a peer was given fewer than the size says."""
        line = self._lines.get(name)
        return None if line is None else line.get("settings", {}).get("runs")

    def best(self, database: str) -> tuple[float, str] | None:
        """Our quickest drain, and its settings."""
        found = [(value, each) for each in _BEST if (value := self.median(f"drain, {each}, {database}"))]
        return max(found, default=None)

    def peers(self) -> dict[str, dict[str, Any]]:
        return dict(self.about.get("peers", {}))

    def _of(self, name: str, figure: str) -> Any:
        line = self._lines.get(name)
        return None if line is None else line[figure]
