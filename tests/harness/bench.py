"""The modules of bench/, and files of results that no measurement has made."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of bench/ by its name, as `python bench` does."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))

    def of(name: str) -> ModuleType:
        return importlib.import_module(name)

    return of


def line(
    name: str, *samples: float, unit: str = "s", beside: float | None = None, group: str = "idle"
) -> dict[str, Any]:
    middle = sorted(samples)[len(samples) // 2]
    return {
        "name": name,
        "group": group,
        "unit": unit,
        "samples": list(samples),
        "median": middle,
        "baseline": None if beside is None else "the baseline",
        "baseline_median": middle if beside is None else beside,
        "ratio": 1.0 if beside is None else middle / beside,
    }


def results(folder: Path, name: str, *lines: dict[str, Any], **about: Any) -> Path:
    path = folder / f"{name}.json"
    shown = json.loads(next((ROOT / "bench" / "results").glob("*.json")).read_text())
    path.write_text(json.dumps({**shown, "sizes": {"runs": 10_000}, "lines": lines, **about}))
    return path


def rates(**of: float) -> list[dict[str, Any]]:
    """Lines of runs a second, by name."""
    return [line(name, value, unit="runs/s") for name, value in of.items()]


def peer(database: str = "PostgreSQL") -> dict[str, Any]:
    return {"database": database, "commands": {"default": [], "best": []}, "isolates": "nothing", "durable": "yes"}


def compared(room: Any, capsys: pytest.CaptureFixture[str], old: Path, new: Path) -> tuple[int, str]:
    code = room("compare").compare(old, new)
    return code, capsys.readouterr().out
