"""How `make bench` presents its results: the figures that are shown, and the comparison of two files."""

import importlib
import json
import re
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


def rates(**of: float) -> list[dict[str, Any]]:
    """Lines of runs a second, by name."""
    return [line(name, value, unit="runs/s") for name, value in of.items()]


def peer(database: str = "PostgreSQL") -> dict[str, Any]:
    return {"database": database, "commands": {"default": [], "best": []}, "isolates": "nothing", "durable": "yes"}


def compared(room: Any, capsys: pytest.CaptureFixture[str], old: Path, new: Path) -> tuple[int, str]:
    code = room("compare").compare(old, new)
    return code, capsys.readouterr().out


def test_the_figures_shown_are_those_of_a_committed_file_of_results(room):
    readme = room("readme")
    path = readme.shown()
    assert path.parent == ROOT / "bench" / "results"
    for file, text in readme.rendered(readme.Results(path)).items():
        assert file.read_text() == text, f"make bench-readme ARGS={path.relative_to(ROOT)}"


def test_missing_figures_leave_no_empty_cell(room, tmp_path):
    """Of a part of the measures, or of a version without an option: rows and words go, the rest stays."""
    readme = room("readme")
    path = results(tmp_path, "part", line("idle tick, SQLite", 0.1, beside=0.05), left_out={"rq": "there is no Redis"})
    part = readme.Results(path)
    table = readme.figures(part)
    assert "tick with nothing to do, default settings | | 0.10 s, 2 ×" in table
    assert table.count("\n| ") == 3, table
    assert "Left out: rq: there is no Redis." in readme.others(part)
    for text in (table, readme.others(part), room("chart").chart(part)):
        assert not {"None", "nan", "failed"} & set(text.replace("<", " ").split())


def test_the_sizes_that_are_shown_are_a_thousand_ten_thousand_and_fifty_thousand_runs(room):
    plan = room("plan")
    assert [getattr(room("sizes").FULL, drain.size) for drain in plan.DRAINS] == [1_000, 10_000, 50_000]


def test_each_size_has_its_figures_and_what_a_peer_is_too_slow_for_is_said(room, tmp_path):
    lines = rates(
        **{
            "drain of few, default settings, SQLite": 1500,
            "drain, default settings, SQLite": 3000,
            "drain, --concurrency 2, SQLite": 3200,
            "spike, SQLite": 3500,
            "spike, ticks, SQLite": 5,
            "drain of few: pg-boss, best settings": 1700,
            "drain: pg-boss, best settings": 9000,
            "spike: pg-boss, best settings": 12_000,
            "drain of few: django-tasks, best settings": 80,
            "idle: pg-boss, best settings": 0.1,
            "idle: django-tasks, best settings": 0.5,
        }
    )
    few = {**line("drain: pg-boss, default settings", 0.5, unit="runs/s"), "settings": {"runs": 5}}
    sizes = {"few_runs": 1_000, "runs": 10_000, "spike": 50_000, "peer_seconds": 30.0}
    systems = {"pg-boss": peer(), "django-tasks": peer()}
    readme = room("readme")
    shown = readme.Results(results(tmp_path, "sizes", *lines, few, sizes=sizes, peers=systems))
    table, others = readme.figures(shown), readme.others(shown)
    few = "others at their best: pg-boss 1,700, django-tasks 80"
    assert f"\n| 1,000 runs that do nothing, default settings | | 1,500/s | {few} |\n" in table
    assert (
        "\n| 10,000 runs that do nothing, default settings | | 3,000/s | others at their best: pg-boss 9,000 |" in table
    )
    assert (
        "\n| 50,000 runs that do nothing, default settings: 5 ticks, one after the other | | 3,500/s"
        " | others at their best: pg-boss 12,000 |\n" in table
    )
    assert "runs/s of 1,000 / 10,000 / 50,000, default | runs/s of 1,000 / 10,000 / 50,000, best" in others
    assert "\n| jobrunner, SQLite | | 1,500 / 3,000 / 3,500 | – / 3,200 / – | child" in others
    assert "\n| pg-boss, PostgreSQL | 0.10 s | 0.5 (of 5) | 1,700 / 9,000 / 12,000 | nothing" in others
    assert "\n| django-tasks, PostgreSQL | 0.50 s | | 80 / – / – | nothing" in others
    assert "A size of which one sample would take longer than 30 s, its filling included, is left out" in others


def test_the_strict_row_is_that_of_the_default_settings(room, tmp_path):
    """The row of the faster setting does not apply to the default settings."""
    lines = rates(**{"drain, strict, SQLite": 400, "drain, strict, --concurrency 8, SQLite": 900})
    readme = room("readme")
    table = readme.figures(readme.Results(results(tmp_path, "strict", *lines, sizes={"runs": 1_000})))
    (row,) = (each for each in table.splitlines() if "--strict" in each)
    assert row.startswith("| 1,000 with `--strict`, else default settings: ")
    assert row.endswith(" | | 400/s | |")


def test_fastest_other_python_system_is_not_one_of_another_language(room, tmp_path):
    lines = [line("idle tick, PostgreSQL", 0.2), line("idle: chancy, best settings", 0.3)]
    lines += [line(f"idle: {name}, best settings", 0.1) for name in ("pg-boss", "graphile-worker")]
    systems = {name: peer() for name in ("chancy", "pg-boss", "graphile-worker")}
    readme = room("readme")
    table = readme.figures(readme.Results(results(tmp_path, "idle", *lines, peers=systems)))
    assert "The quickest other Python system on PostgreSQL, chancy: 0.30 s" in table


def test_short_table_has_every_measured_value_and_no_empty_cell(room, tmp_path):
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
def test_result_counts_as_worse_beyond_a_tenth_and_beyond_its_spread(room, tmp_path, capsys, unit, was, now, is_worse):
    old, new = (results(tmp_path, name, line("x", *them, unit=unit)) for name, them in (("old", was), ("new", now)))
    code, told = compared(room, capsys, old, new)
    assert code == is_worse
    assert ("x: " in told and "worse" in told) == is_worse


def test_slower_machine_makes_no_result_worse(room, tmp_path, capsys):
    old = results(tmp_path, "old", line("x", 1.0, beside=0.5), line("pass", 0.5, group="baselines"))
    new = results(tmp_path, "new", line("x", 2.0, beside=1.0), line("pass", 1.0, group="baselines"))
    assert compared(room, capsys, old, new)[0] == 0


def test_result_with_another_baseline_is_reported_and_not_compared(room, tmp_path, capsys):
    other = {**line("x", 1.0, beside=0.5), "baseline": "another"}
    code, told = compared(
        room, capsys, results(tmp_path, "old", line("x", 1.0, beside=0.5)), results(tmp_path, "new", other)
    )
    assert (code, told) == (1, "x: not compared: its baseline was another one\n")


def test_result_that_is_no_longer_measured_is_reported(room, tmp_path, capsys):
    code, told = compared(room, capsys, results(tmp_path, "old", line("x", 1.0)), results(tmp_path, "new"))
    assert (code, told) == (1, "x: is not in the new results\n")


def test_results_of_other_sizes_are_not_compared(room, tmp_path, capsys):
    old, new = results(tmp_path, "old"), results(tmp_path, "new", sizes={"runs": 1_000})
    assert compared(room, capsys, old, new) == (1, "not comparable: other sizes of runs\n")


def test_results_of_a_part_are_never_published(room, tmp_path):
    whole = results(tmp_path, "2026-01-01-abc", at="2026-01-01T00:00:00+00:00")
    results(tmp_path, "2026-01-02-abc-only-idle", at="2026-01-02T00:00:00+00:00")
    assert room("report").newest(tmp_path) == whole


def test_measures_that_this_version_lacks_are_left_out_without_failure(room):
    plan, program = room("plan"), room("program")

    def take(_):
        raise room("processes").NotThere("tick has no --fly yet")

    taken = program._Taken()
    lines = (plan.Line("flight", "s"), plan.Line("landing", "s"))
    program._round(None, [plan.Measure(lines, take, "air", 1)], taken, "", once=True)
    assert taken.left_out == dict.fromkeys(("flight", "landing"), "tick has no --fly yet")
    assert taken.failures == {}


def test_slow_measure_is_not_repeated(room):
    """Ten minutes of a slow system's jobs are enough."""
    plan, program = room("plan"), room("program")
    quick, slow = (plan.Measure((plan.Line(name, "s"),), lambda _: [1.0], "", 1) for name in ("quick", "slow"))
    taken = program._Taken()
    for _ in range(2):
        program._round(None, [quick, slow], taken, "", once=True)
        taken.seconds["slow"] += 600
    assert (len(taken.samples["quick"]), len(taken.samples["slow"])) == (2, 1)


def names(measures: Any) -> set[str]:
    return {each.name for measure in measures for each in measure.lines}


def test_other_sizes_of_peers_are_measured_in_a_full_run_or_on_request(room, monkeypatch):
    """The everyday run stays short."""
    plan, peers = room("plan"), room("peers")
    baselines = [each for each in room("plan").MEASURES if each.group in {"baselines", "enqueue"}]
    (huey,) = (peer for peer in peers.PEERS if peer.name == "huey")
    monkeypatch.setattr(plan, "MEASURES", [*baselines, *room("peer_measures")._measures(huey)])
    larger = "spike: huey, best settings"
    assert larger not in names(plan.chosen([]))
    assert larger not in names(plan.chosen(["peers", "drain"]))
    assert larger in names(plan.chosen([], full=True))
    assert larger in names(plan.chosen(["sizes"]))
    assert "drain: huey, best settings" not in names(plan.chosen(["sizes"]))


def test_baseline_without_a_measure_is_an_error_that_names_it(room, monkeypatch):
    """The search for it does not go on for ever."""
    plan = room("plan")
    lost = plan.Measure((plan.Line("x", "s", "the lost one"),), lambda _: [1.0], "", 1)
    monkeypatch.setattr(plan, "MEASURES", [lost])
    with pytest.raises(LookupError, match="the lost one"):
        plan.chosen([])


def test_a_peer_is_measured_at_each_size_and_at_one_if_it_is_given_few(room):
    of = {peer.name: names(room("peer_measures")._measures(peer)) for peer in room("peers").PEERS}
    each, sizes = ("idle", "one job", "drain"), ("idle", "one job", "drain of few", "drain", "spike")
    best = {f"{size}: pg-boss, best settings" for size in sizes}
    assert of["pg-boss"] == best | {f"{size}: pg-boss, default settings" for size in each}
    assert {f"{size}: huey, default settings" for size in (*sizes, "single enqueue")} < of["huey"]


def test_every_aim_refers_to_lines_that_are_measured(room):
    """The row of a misspelt name would silently be left out."""
    importlib.import_module("measures")
    there = names(room("plan").MEASURES) | {
        name for peer in room("peers").PEERS for name in names(room("peer_measures")._measures(peer))
    }
    for goal in room("goals").GOALS:
        for db, aim in goal.aims.items():
            assert {goal.ours.format(db=db), aim.line.format(db=db, settings="best")} <= there, goal


def test_aim_shows_the_ratio_to_the_peers_better_settings_and_whether_it_is_reached(room, tmp_path):
    lines = [
        line("first run, PostgreSQL", 0.6),
        line("first run, SQLite", 0.3),
        line("idle tick, SQLite", 0.1),
        line("one job: procrastinate, default settings", 0.5),
        line("one job: procrastinate, best settings", 0.4),
        *rates(**{"drain, default settings, PostgreSQL": 3000, "drain: pgqueuer, default settings": 2000}),
    ]
    readme = room("readme")
    shown = readme.Results(results(tmp_path, "aims", *lines, peers={"procrastinate": peer(), "pgqueuer": peer()}))
    rows = readme.goals(shown).splitlines()
    of_one = "1.5 × procrastinate (at most 1: not reached) | 3 × a tick with nothing to do (at most 4)"
    assert rows[-2] == f"| a tick with one run | {of_one} |"
    assert rows[-1] == "| 10,000 runs that do nothing | 1.5 × pgqueuer (at least 1) | |"
    assert "Others with one job: procrastinate 0.40 s" in readme.figures(shown)
    others = readme.others(shown).splitlines()
    assert others[0].startswith("| | idle / one job | ")
    assert any(row.startswith("| jobrunner, SQLite | 0.10 s / 0.30 s |") for row in others)
    assert any(row.startswith("| procrastinate, PostgreSQL | – / 0.40 s |") for row in others)


def test_older_results_file_is_rendered_and_the_rows_that_it_lacks_are_listed(room):
    readme = room("readme")
    for path in (ROOT / "bench" / "results").glob("*.json"):
        shown = readme.Results(path)
        texts = [make(shown) for make in (readme.short, readme.figures, readme.goals, readme.others)]
        left = readme.missing(shown)
        assert not any({"None", "nan", "failed"} & set(text.replace("<", " ").split()) for text in texts), path
        assert any("single enqueues" in row for row in left) == (shown.median("single INSERT, SQLite") is None), path
        assert not any(re.match(r"\| [^|]+\| \| \|", row) for text in texts for row in text.splitlines()), path


def test_strict_row_has_no_ratio_to_an_earlier_baseline(room, tmp_path):
    old = line("drain, strict, SQLite", 400, beside=800, unit="runs/s")
    readme = room("readme")
    assert "| 400/s |" in readme.figures(readme.Results(results(tmp_path, "old", old)))
    new = {**old, "baseline": "raw loop, each outcome committed, SQLite"}
    assert "| 400/s, 0.5 × |" in readme.figures(readme.Results(results(tmp_path, "new", new)))


def test_a_size_that_would_take_a_peer_too_long_is_left_out(room):
    """Judged without its start, which does not grow; and what was taken once is taken again in each round."""
    not_there = room("processes").NotThere
    pace = room("peer_measures")._Pace()
    pace.check(1_000, 30)
    pace.took(0, 2.0)
    pace.took(1_000, 4.5)
    pace.check(10_000, 30)
    pace.took(10_000, 29.0)
    with pytest.raises(not_there, match="50,000 jobs would take about 137 s, their filling included: more than 30"):
        pace.check(50_000, 30)
    pace.took(1_000, 9.0)
    pace.check(10_000, 30)


def test_every_peer_has_an_application_and_settings_that_are_written_down(room):
    peers = room("peers")
    assert {peer.name for peer in peers.PEERS} == {
        *("procrastinate", "pgqueuer", "chancy", "django-tasks", "huey", "graphile-worker", "pg-boss", "rq", "celery"),
    }
    for peer in peers.PEERS:
        assert set(peer.drain) == {"default", "best"}
        assert "best" in Path(peer.app[1]).read_text().lower(), "its docstring says what best means"
        assert peer.tells_left or '"left"' in Path(peer.app[1]).read_text(), "it is checked that all ran"
        commands = [room("peer_measures")._shown(peer, settings) for settings in peer.drain]
        assert not any(str(ROOT) in word for command in commands for word in command), "the same on each machine"
    (boss,) = (peer for peer in peers.PEERS if peer.name == "pg-boss")
    assert room("peer_measures")._shown(boss, "best") == ["node", "pg_boss/app.js", "drain"]
