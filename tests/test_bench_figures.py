"""What `make bench` makes of its results: the figures that are shown, and the comparison of two files."""

import importlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


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


def compared(room: Any, capsys: pytest.CaptureFixture[str], old: Path, new: Path) -> tuple[int, str]:
    code = room("compare").compare(old, new)
    return code, capsys.readouterr().out


def test_the_figures_shown_are_those_of_a_committed_file_of_results(room):
    readme = room("readme")
    path = readme.shown()
    assert path.parent == ROOT / "bench" / "results"
    for file, text in readme.rendered(readme.Results(path)).items():
        assert file.read_text() == text, f"make bench-readme ARGS={path.relative_to(ROOT)}"


def test_figures_that_are_missing_leave_no_hole(room, tmp_path):
    """Of a part of the measures, or of a version without an option: rows and words go, the rest stays."""
    readme = room("readme")
    path = results(tmp_path, "part", line("idle tick, SQLite", 0.1, beside=0.05), left_out={"rq": "there is no Redis"})
    part = readme.Results(path)
    table = readme.figures(part)
    assert "tick with nothing to do | | 0.10 s, 2 ×" in table
    assert table.count("\n| ") == 3, table
    assert "Left out: rq: there is no Redis." in readme.others(part)
    for text in (table, readme.others(part), room("chart").chart(part)):
        assert not {"None", "nan", "failed"} & set(text.replace("<", " ").split())


def test_short_table_has_what_was_measured_and_no_hole(room, tmp_path):
    readme = room("readme")
    lines = [line("idle tick, SQLite", 0.1), line("drain, default settings, PostgreSQL", 4000.0, unit="runs/s")]
    table = readme.short(readme.Results(results(tmp_path, "short", *lines)))
    rows = ["| a tick with nothing to do | | 0.10 s |", "| 10,000 runs that do nothing | 4,000/s | |"]
    assert table.splitlines()[-2:] == rows


def test_the_chart_names_every_system_and_can_be_read_in_the_dark(room, tmp_path):
    drains = [line(f"drain: rq, {settings} settings", 100.0, unit="runs/s") for settings in ("default", "best")]
    ours = line("drain, default settings, SQLite", 900.0, unit="runs/s")
    about = {"rq": {"database": "Redis", "commands": {"default": [], "best": []}, "isolates": "", "durable": ""}}
    drawn = room("chart").chart(room("readme").Results(results(tmp_path, "drains", ours, *drains, peers=about)))
    texts = [each.text for each in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"jobrunner, SQLite", "900", "rq, Redis", "100"} <= set(texts)
    assert "prefers-color-scheme: dark" in drawn


@pytest.mark.parametrize(
    ("unit", "was", "now", "is_worse"),
    [
        ("s", (1.0, 1.01, 1.02), (1.2, 1.21, 1.22), True),
        ("s", (1.0, 1.01, 1.02), (1.05, 1.06, 1.07), False),
        ("s", (1.0, 1.01, 1.02), (0.5, 0.51, 0.52), False),
        ("runs/s", (100.0, 101.0, 102.0), (80.0, 81.0, 82.0), True),
        ("runs/s", (100.0, 101.0, 102.0), (120.0, 121.0, 122.0), False),
        # Noise: the middle halves of the samples overlap.
        ("s", (0.8, 0.9, 1.0, 1.5, 1.6), (0.9, 1.0, 1.2, 1.6, 1.7), False),
    ],
)
def test_a_line_is_worse_that_lost_more_than_a_tenth_and_more_than_its_spread(
    room, tmp_path, capsys, unit, was, now, is_worse
):
    old, new = (results(tmp_path, name, line("x", *them, unit=unit)) for name, them in (("old", was), ("new", now)))
    code, told = compared(room, capsys, old, new)
    assert code == is_worse
    assert ("x: " in told and "worse" in told) == is_worse


def test_a_slower_day_of_the_machine_makes_nothing_worse(room, tmp_path, capsys):
    old = results(tmp_path, "old", line("x", 1.0, beside=0.5), line("pass", 0.5, group="baselines"))
    new = results(tmp_path, "new", line("x", 2.0, beside=1.0), line("pass", 1.0, group="baselines"))
    assert compared(room, capsys, old, new)[0] == 0


def test_a_line_that_is_no_longer_measured_is_told(room, tmp_path, capsys):
    code, told = compared(room, capsys, results(tmp_path, "old", line("x", 1.0)), results(tmp_path, "new"))
    assert (code, told) == (1, "x: is not in the new results\n")


def test_results_of_other_sizes_are_not_compared(room, tmp_path, capsys):
    old, new = results(tmp_path, "old"), results(tmp_path, "new", sizes={"runs": 1_000})
    assert compared(room, capsys, old, new) == (1, "not comparable: other sizes of runs\n")


def test_results_of_a_part_are_never_those_that_are_shown(room, tmp_path):
    whole = results(tmp_path, "2026-01-01-abc", at="2026-01-01T00:00:00+00:00")
    results(tmp_path, "2026-01-02-abc-only-idle", at="2026-01-02T00:00:00+00:00")
    assert room("report").newest(tmp_path) == whole


def test_what_this_version_does_not_have_is_left_out_and_no_failure(room):
    plan, program = room("plan"), room("program")

    def take(_):
        raise room("processes").NotThere("tick has no --fly yet")

    taken = program._Taken()
    lines = (plan.Line("flight", "s"), plan.Line("landing", "s"))
    program._round(None, [plan.Measure(lines, take, "air", 1)], taken, "", once=True)
    assert taken.left_out == dict.fromkeys(("flight", "landing"), "tick has no --fly yet")
    assert taken.failures == {}


def test_what_has_taken_its_time_is_not_taken_again(room):
    """Ten minutes of a slow system's jobs are enough."""
    plan, program = room("plan"), room("program")
    quick, slow = (plan.Measure((plan.Line(name, "s"),), lambda _: [1.0], "", 1) for name in ("quick", "slow"))
    taken = program._Taken()
    for _ in range(2):
        program._round(None, [quick, slow], taken, "", once=True)
        taken.seconds["slow"] += 600
    assert (len(taken.samples["quick"]), len(taken.samples["slow"])) == (2, 1)


def test_every_peer_has_an_application_and_settings_that_are_written_down(room):
    peers = room("peers")
    assert {peer.name for peer in peers.PEERS} == {
        *("procrastinate", "pgqueuer", "chancy", "django-tasks", "huey", "graphile-worker", "rq", "celery"),
    }
    for peer in peers.PEERS:
        assert set(peer.drain) == {"default", "best"}
        assert "best" in Path(peer.app[1]).read_text().lower(), "its docstring says what best means"
        assert peer.tells_left or '"left"' in Path(peer.app[1]).read_text(), "it is checked that all ran"
