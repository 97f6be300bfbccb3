"""What `make bench` measures, of us and of other systems, and what it leaves out."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from harness.bench import ROOT


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
    room("measures")  # registers them
    baselines = [each for each in plan.MEASURES if each.group in {"baselines", "enqueue"}]
    (huey,) = (peer for peer in peers.PEERS if peer.name == "huey")
    monkeypatch.setattr(plan, "MEASURES", [*baselines, *room("peer_measures")._measures(huey)])
    larger = "spike: huey, best settings"
    assert larger not in names(plan.chosen([]))
    assert larger not in names(plan.chosen(["peers", "drain"]))
    assert larger in names(plan.chosen([], full=True))
    assert larger not in names(plan.chosen([], ["sizes"], full=True))
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
    parts = ("a job's processor time", "a job's processor time in the server")
    best = {f"{size}: pg-boss, best settings" for size in (*sizes, *parts)}
    assert of["pg-boss"] == best | {f"{size}: pg-boss, default settings" for size in each}
    assert {f"{size}: huey, default settings" for size in (*sizes, "single enqueue")} < of["huey"]
    assert "single enqueue in the caller's transaction: pgqueuer, best settings" in of["pgqueuer"]


def test_every_aim_refers_to_lines_that_are_measured(room):
    """The row of a misspelt name would silently be left out."""
    importlib.import_module("measures")
    there = names(room("plan").MEASURES) | {
        name for peer in room("peers").PEERS for name in names(room("peer_measures")._measures(peer))
    }
    for goal in room("goals").GOALS:
        for db, aim in goal.aims.items():
            assert {goal.ours.format(db=db), aim.line.format(db=db, settings="best")} <= there, goal


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
