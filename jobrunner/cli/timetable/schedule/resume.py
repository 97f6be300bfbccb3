"""schedule resume: make runs of a paused schedule again."""

from __future__ import annotations

from dataclasses import replace

import click

from jobrunner.cli import environment, options, render, schedule_options, session
from jobrunner.errors import UsageError
from jobrunner.store.changes import pausing
from jobrunner.store.changes.due_slots import Changed
from jobrunner.text import visible


@click.command()
@schedule_options.one_or_all
@click.option(
    "--from",
    "begin",
    type=click.Choice(["now", "missed"]),
    help="now: no slot before now gets a run; missed: the misfire policy decides. [default: now]",
)
@options.REASON
def resume(name: str | None, begin: str | None) -> None:
    """Make runs of a paused schedule again.

    With --from now it also repairs a schedule that makes no runs because a host's clock was ahead: its future slots are
    expanded again. `--all --from now` skips the missed slots of every schedule, paused or not: do this after you
    restored a backup (docs/howto/restored.md).

    Example: jobrunner schedule resume nightly --from now
    """
    if name is None and begin is None:
        raise UsageError("with --all also give --from now or --from missed")
    missed = begin == "missed"
    who = session.actor()
    config = environment.load()
    database = session.open_database(config, for_many_rows=True)
    if name is not None:
        resumed = database.write(
            lambda each: pausing.resume(each, name, schedule_options.plan(config), who, missed=missed)
        )
        render.done(f"schedule {visible(name)}: not paused" if resumed is None else _resumed(resumed, missed))
        return
    found = database.write(lambda each: pausing.resume_all(each, schedule_options.plan(config), who, missed=missed))
    lines = [_resumed(each, missed) for each in found if each.was_paused or each.skipped.count or each.was_ahead]
    render.done("\n".join([*lines, f"active{'' if missed else ' from now'}: {len(found)}"]))


def _resumed(resumed: Changed, missed: bool) -> str:
    count, state = resumed.skipped.count, "resumed" if resumed.was_paused else "not paused"
    if missed and count:
        return f"schedule {visible(resumed.name)}: {state}; the next tick decides on {_slots(count)}"
    passed = f"; {_slots(count)} passed over" if count else ""
    if resumed.was_ahead is not None:
        state += f"; slots up to {render.instant(resumed.was_ahead)} are expanded again, because a clock was ahead"
    following = schedule_options.next_of(replace(resumed, was_paused=None))
    return f"schedule {visible(resumed.name)}: {state}; {following}{passed}"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"
