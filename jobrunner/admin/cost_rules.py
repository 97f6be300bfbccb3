"""The rules about what the attempts of a type take, compared with those of the weeks before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from jobrunner.admin.finding import Said, Severity, at, listed_few, rule
from jobrunner.durations import format_duration
from jobrunner.settings.health import Thresholds
from jobrunner.store.questions.facts import Comparison, Facts, Least
from jobrunner.text import mebibytes


def least(limits: Thresholds) -> Least:
    """Of which types the attempts are compared."""
    nothing = Least()
    return Least(
        limits.compared,
        limits.slower_from.total_seconds() if limits.slower else nothing.seconds,
        limits.bigger_from_bytes if limits.bigger else nothing.memory_bytes,
    )


@rule(
    "type",
    Severity.WARNING,
    "find out what has changed for {job_type}, its code, its data or its host: jobrunner stats --type {job_type!q}",
)
def slower_than_usual(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Half of the recent attempts of a type took longer than `slower` times what is [usual](#what-is-usual) for it."""
    least_seconds = limits.slower_from.total_seconds()
    slow = [
        (each, each.run_seconds, each.usual_run_seconds)
        for each in facts.compared
        if _is_more(each.run_seconds, each.usual_run_seconds, limits.slower, least_seconds)
    ]
    yield from _said("half of the attempts took longer than is usual", slow, _seconds)


@rule(
    "type",
    Severity.WARNING,
    "find out what {job_type} keeps in memory, before its host has no more: jobrunner stats --type {job_type!q}",
)
def bigger_than_usual(facts: Facts, limits: Thresholds) -> Iterator[Said]:
    """Half of the recent attempts of a type had more memory than `bigger` times what is [usual](#what-is-usual) for
    it.
    """
    big = [
        (each, each.memory_bytes, each.usual_memory_bytes)
        for each in facts.compared
        if _is_more(each.memory_bytes, each.usual_memory_bytes, limits.bigger, limits.bigger_from_bytes)
    ]
    yield from _said("half of the attempts had more memory than is usual", big, mebibytes)


def _is_more(recent: float | None, usual: float | None, times: int, from_: float) -> bool:
    if not times or recent is None or usual is None:
        return False
    return recent > from_ and recent > times * usual


def _said(what: str, found: list[tuple[Comparison, Any, Any]], shown: Callable[[float], str]) -> Iterator[Said]:
    if found:
        listed = [
            f"{each.job_type} {shown(recent)} or more since {at(each.since)}, usually 95 of 100 up to {shown(usual)}"
            for each, recent, usual in found
        ]
        yield Said(f"{what}: {listed_few(listed)}", {"job_type": found[0][0].job_type})


def _seconds(seconds: float) -> str:
    return format_duration(timedelta(seconds=seconds))
