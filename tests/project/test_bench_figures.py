"""How `make bench` presents its results: the tables and the chart of what was measured."""

import re
import xml.etree.ElementTree as ET

from harness.bench import ROOT, line, peer, rates, results


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
    five = [
        {**line(f"drain: {name}, default settings", 0.5, unit="runs/s"), "settings": {"runs": 5}}
        for name in ("pg-boss", "django-tasks")
    ]
    sizes = {"few_runs": 1_000, "runs": 10_000, "spike": 50_000, "peer_seconds": 30.0}
    systems = {"pg-boss": peer(), "django-tasks": peer()}
    readme = room("readme")
    shown = readme.Results(results(tmp_path, "sizes", *lines, *five, sizes=sizes, peers=systems))
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
    assert "\n| django-tasks, PostgreSQL | 0.50 s | 0.5 (of 5) | 80 / – / – | nothing" in others
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


def test_processor_time_of_a_run_stands_beside_that_of_others(room, tmp_path):
    where = (
        "the tick itself, PostgreSQL",
        "its child, PostgreSQL",
        "the server, PostgreSQL",
        "the tick itself, SQLite",
    )
    lines = [line(f"a run's processor time: {each}", 10.4 + n, unit="µs") for n, each in enumerate(where)]
    lines += [
        line(f"a job's processor time{each}: {name}, best settings", took, unit="µs")
        for name, both in (("a", (70, 50)), ("b", (16, 48)), ("huey", (9,)))
        for each, took in zip(("", " in the server"), both, strict=False)
    ]
    readme = room("readme")
    path = results(tmp_path, "parts", *lines, peers={name: peer() for name in ("a", "b", "huey")})
    (row,) = (each for each in readme.figures(readme.Results(path)).splitlines() if "processor time of each" in each)
    assert row.endswith(
        "| 10 µs; 11 µs; 12 µs | 13 µs | others, their processes and the server: b 16 µs and 48 µs, a 70 µs and 50 µs |"
    )


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


def test_what_a_file_left_out_is_read_from_the_parts_of_its_commit_and_sizes(room, tmp_path):
    about = {"commit": "abc1234", "sizes": {"runs": 10_000}}
    whole = results(tmp_path, "2026-11-28-abc1234", line("idle tick, SQLite", 0.1), **about)
    more = [line("idle tick, SQLite", 0.9), line("first run, SQLite", 0.3)]
    part = results(tmp_path, "2026-11-29-abc1234-only-first", *more, **about)
    results(
        tmp_path,
        "2026-11-29-abc1234-only-few",
        line("drain, default settings, SQLite", 7.0),
        **{**about, "sizes": {"runs": 10}},
    )
    results(tmp_path, "2026-11-29-def5678-only-first", line("slow, SQLite", 0.3), **{**about, "commit": "def5678"})
    shown = room("published").Results(whole)
    assert shown.parts == [part]
    names = ("idle tick", "first run", "drain, default settings", "slow")
    assert [shown.median(f"{name}, SQLite") for name in names] == [0.1, 0.3, None, None]


def test_older_results_file_is_rendered_and_the_rows_that_it_lacks_are_listed(room):
    readme = room("readme")
    for path in (ROOT / "bench" / "results").glob("*.json"):
        shown = readme.Results(path)
        rows = [make(shown) for make in (readme.short, readme.figures, readme.goals)]
        # Of the other systems a part may lack a size.
        texts = [*rows, readme.others(shown)]
        left = readme.missing(shown)
        assert not any({"None", "nan", "failed"} & set(text.replace("<", " ").split()) for text in texts), path
        is_missing = any("single enqueues through" in row for row in left)
        assert is_missing == (shown.median("single INSERT, SQLite") is None), path
        assert not any(re.match(r"\| [^|]+\| \| \|", row) for text in rows for row in text.splitlines()), path


def test_strict_row_has_no_ratio_to_an_earlier_baseline(room, tmp_path):
    old = line("drain, strict, SQLite", 400, beside=800, unit="runs/s")
    readme = room("readme")
    assert "| 400/s |" in readme.figures(readme.Results(results(tmp_path, "old", old)))
    new = {**old, "baseline": "raw loop, each outcome committed, SQLite"}
    assert "| 400/s, 0.5 × |" in readme.figures(readme.Results(results(tmp_path, "new", new)))
