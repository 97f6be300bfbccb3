"""Two files of results of `make bench`: when a result is worse, and what is not compared or published."""

import pytest

from harness.bench import compared, line, results


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
