"""A file of results, as the pages that show figures read it."""

import json
from pathlib import Path
from typing import Any

_BEST = ("default settings", "--concurrency 2", "--concurrency 8")


class Results:
    """A file of results; what is not in it is None."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = json.loads(path.read_text())
        self._lines = {line["name"]: line for line in self.about["lines"]}

    def size(self, name: str) -> int:
        return int(self.about["sizes"].get(name, 0))

    def median(self, name: str) -> float | None:
        return self._of(name, "median")

    def ratio(self, name: str) -> float | None:
        return self._of(name, "ratio")

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

    def _of(self, name: str, figure: str) -> float | None:
        line = self._lines.get(name)
        return None if line is None else line[figure]
