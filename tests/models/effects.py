"""A guarded effect (``ctx.once``) with a standby and a promotion: intent, call, outcome (P5; decisions 34, 56 and 73).

Modelled: one key, and runs that use it, each with some attempts; one that has lost its lease may go on. What the
primary has is its versions that the standby lacks yet, in the order of the server's log, and before them that of the
standby. A transaction makes one version. It is acknowledged when the standby has it, and with it all before it. Where
the watch cuts that wait, the version is visible and perhaps nowhere else. A promotion drops what the standby lacks.

Where COMMITs do not wait, the hosts keep notes (decision 73): after a promotion no effect begins until the notes are
put back. Each attempt may be on a host of its own; all of them come back before the pause is over, and none is
suspended for that long between the intent and its note.

Left out: ``on_uncertain`` other than to raise, outcomes that are kept, own transactions. A tick writes a claim and an
end only when they are acknowledged, and a recovery without that.
"""

from __future__ import annotations

from functools import partial

from models.effect_rules import State, Version, World, steps
from models.explorer import Goal, Model

ACTIONS = {
    "claims.claim": "a tick claims the run for the next attempt",
    "expiries.locked": "a tick ends an attempt whose lease has expired (expiries.recover)",
    "finalize.succeed": "the run ends after its handler has",
    "finalize.leave": "or fails, and is tried again while attempts are left",
    "effects.intend": "Once._decide: the intent, if the key has no row; else what its row says",
    "effects.find": "Once._decide again after a COMMIT without an answer: it finds its own token, and writes a marker",
    "effects.clear": "Once._withdraw and Once._clear: the row goes, because nothing was called or nothing was done",
    "effects.settle": "Once._record and Once._mark_uncertain: what became of the call",
    "effects.once.Once._call": "the function is called; the other side does the effect, or not",
    "effects.put_back": "a tick of the host that has called puts back what the database has forgotten",
    "ticks.note_server": "a tick notes the new server, which ends the pause of effects (servers.note_promotion)",
    "is killed": "a child, at any moment",
    "is promoted": "the standby, after the primary has died",
    "has all": "the standby has caught up",
}
EVENTS = frozenset[str]()

WORLDS = {
    "a run of three attempts, four faults": World(faults=4),
    "two runs, four faults": World(runs=(0, 0, 1), faults=4),
    "COMMITs that do not wait, and notes": World(is_synchronous=False, notes=True),
    "two runs, COMMITs that do not wait, and notes": World(runs=(0, 0, 1), is_synchronous=False, notes=True),
}
_ONCE = "P5: the effect is done at most once"
_DONE = "P5: what is shown as applied was done"
TWINS = {
    # Its own intent that it finds again counts, though no standby has it: no marker is written.
    "R1": (World(broken="R1"), _ONCE),
    # The intent is written with the outcome, after the call.
    "call first": (World(broken="call first"), _ONCE),
    # A host that has no folder for notes, after an asynchronous promotion.
    "asynchronous": (World(is_synchronous=False), _ONCE),
    # An effect may begin as soon as the standby is promoted.
    "no pause": (World(is_synchronous=False, notes=True, broken="no pause"), _ONCE),
    # The note is written after the call.
    "note late": (World(is_synchronous=False, notes=True, broken="note late"), _ONCE),
    # The host that has called comes back when the pause is over: docs/howto/failover.md says so.
    "host away": (World(is_synchronous=False, notes=True, broken="host away"), _ONCE),
}
ALWAYS = {
    _ONCE: lambda state: state.calls < 2,
    _DONE: lambda state: state.primary.effect != "applied" or state.calls,
    "P5: what was done has a row, also after a promotion": lambda state: not state.calls or state.standby.effect,
}
AT_LAST = {"P5: each run ends, and nobody waits for an uncertain effect": Goal(lambda s: all(s.primary.over), 3)}


def model(world: World) -> Model:
    """The model of this world. Twins are to show the second call, and not how it comes to be possible."""
    nobody = Version((0,) * (max(world.runs) + 1), (False,) * (max(world.runs) + 1))
    start = State(nobody, (), ("",) * len(world.runs), 0, world.faults, ("",) * len(world.runs))
    always = ALWAYS if world.is_synchronous else {name: ALWAYS[name] for name in (_ONCE, _DONE)}
    return Model(start, partial(steps, world), {_ONCE: ALWAYS[_ONCE]} if world.broken else always, tell, AT_LAST)


def tell(state: State) -> dict[str, object]:
    def words(version: Version) -> str:
        holders = ", ".join(f"attempt {each}" for each in version.holders if each) or "nobody"
        row = f"{version.effect} by attempt {version.call}" if version.effect else "no row"
        return f"{row}, lease of {holders}"

    attempts = {f"attempt {number}": does or "not yet" for number, does in enumerate(state.attempts, 1)}
    return {"primary": words(state.primary), "standby": words(state.standby), **attempts, "effects done": state.calls}
