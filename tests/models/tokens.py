"""Which runs a child may begin: tokens between parent and child, the page, and the bell (P2, P7; decisions 28 and 60).

Modelled: a tick with three runs in its hand, of one claim; children that take one run after the other, and one with an
event loop; the tokens in the socket, and the reports that nobody has read; the page in which a child notes that it
begins a run; and whether it is too late to begin (three quarters of the lease have passed).

Left out: what handlers do to the socket, contents without tokens, frames that are not valid, permits, and the looks of
the parent every 30 ms: without them no bell may be missed. From the look at the clock until the handler begins, a child
makes no pause; only a suspended host could.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from jobrunner.lifecycle import Event
from models.explorer import Goal, Model, Step

ACTIONS = {
    "children.tokens.TokenQueue.give": "the parent lets a child begin a run, now or behind others",
    "children.tokens.TokenQueue.recall": "the parent reads the tokens that the child has not taken",
    "children.tokens.Tokens.take": "the child takes the next token, when it has sent the report of the run before",
    "children.tokens.Tokens.ring": "the child wakes the parent, because it has no token and there is a report",
    "children.begun_marks.BegunMarks.begin": "the child looks at the clock, and notes that it begins the run",
    "children.inside.main.Child._run": "the handler begins, or it is too late (NOT_BEGUN)",
    "children.inside.to_parent.ToParent.send_encoded": "the handler has ended: the child reports, and perhaps rings",
    "children.inside.event_loop._Server._begin": "an event loop reads a message or takes a token, and makes a task",
    "children.inside.event_loop._Server._attempt": "the first step of the task, which looks at the clock; or its end",
    "worker.life.Life.hear": "the parent reads the reports of a child that has rung",
    "worker.life.Life.reap": "the parent learns that a child has died: recalls, and charges what may have begun",
    "claims.return_unstarted": "a run that has not begun goes back to the database",
    "children.begun_page.abandoned": "the next tick of the host reads the page of the killed one, and acts on it",
    "is killed": "a child, or the tick with all of them, at any instruction",
    "time passes": "until it is too late to begin",
}
EVENTS = frozenset({Event.RETURN})


class World(NamedTuple):
    """``loops``: of each child, whether it has an event loop. ``faults``: how many die."""

    loops: tuple[bool, ...] = (False, False)
    faults: int = 1
    runs: int = 3
    broken: str = ""


class Child(NamedTuple):
    """A child and the parent's queue for it. ``sent``: what it has not taken; ``read``: by the loop, not begun.

    ``at``: the run it works on, with how far it is: took, noted, begun. ``is_heard``: no report is without a bell.
    """

    is_loop: bool
    is_alive: bool = True
    queue: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    read: tuple[int, ...] = ()
    at: tuple[tuple[int, str], ...] = ()
    reports: tuple[tuple[int, str], ...] = ()
    has_rung: bool = False
    is_heard: bool = True


class State(NamedTuple):
    """``runs``: of each what the parent knows: waits, given, ended, charged, returned. ``page``: what has not begun.

    ``begun`` counts how often each has begun. ``tick``: up, killed, over.
    """

    runs: tuple[str, ...]
    children: tuple[Child, ...]
    page: frozenset[int]
    begun: tuple[int, ...]
    is_late: bool = False
    tick: str = "up"
    faults: int = 0
    foul: str = ""


_MOST_GIVEN = 2  # at work and behind it


def steps(world: World, state: State) -> Iterator[Step]:
    """All that may happen next."""
    if state.tick == "killed":
        yield _of_next_tick(state)
    if state.tick != "up":
        return
    for number, child in enumerate(state.children):
        turn = Turn(world, state, number, child)
        if child.is_alive:
            yield from turn.of_loop() if child.is_loop else turn.of_plain()
            yield from turn.of_parent()
        if not child.is_alive and child.queue:
            yield turn.reap()
    for run, does in enumerate(state.runs):
        if does == "waits":
            # When it is late, or no child is left, or the tick has to stop.
            is_fault = not state.is_late and any(child.is_alive for child in state.children)
            after = state._replace(runs=_put(state.runs, run, "returned"), page=state.page - {run})
            yield Step("parent", "claims.return_unstarted", after, Event.RETURN, is_fault)
    # Between the look at the clock and the begin there is no pause.
    if not state.is_late and not any(stage == "noted" for child in state.children for _, stage in child.at):
        yield Step("clock", "time passes", state._replace(is_late=True), is_fault=True)
    if state.faults:
        dead = tuple(child._replace(is_alive=False) for child in state.children)
        killed = state._replace(tick="killed", children=dead, faults=state.faults - 1)
        yield Step("tick", "is killed", killed, is_fault=True)


def _of_next_tick(state: State) -> Step:
    """All processes are gone. What the page has is returned, all else that was in hand is charged."""
    runs = [
        ("returned" if run in state.page else "charged") if does in ("waits", "given") else does
        for run, does in enumerate(state.runs)
    ]
    return Step("next tick", "children.begun_page.abandoned", state._replace(runs=tuple(runs), tick="over"))


class Turn(NamedTuple):
    """A child to which a state is put."""

    world: World
    state: State
    number: int
    child: Child

    def step(self, action: str, child: Child, *, actor: str = "", **changes: Any) -> Step:
        after = self.state._replace(children=_put(self.state.children, self.number, child), **changes)
        return Step(actor or f"child {self.number + 1}", action, after)

    # A child that runs one handler after the other.

    def of_plain(self) -> Iterator[Step]:
        child, state = self.child, self.state
        yield from self.dies()
        if not child.at:
            if child.sent:
                taken = child._replace(sent=child.sent[1:], at=((child.sent[0], "took"),))
                yield self.step("children.tokens.Tokens.take", taken)
            elif not child.is_heard and self.world.broken != "bell":
                yield self.step("children.tokens.Tokens.ring", child._replace(has_rung=True, is_heard=True))
            return
        ((run, stage),) = child.at
        notes_late = self.world.broken == "page"
        if stage == "took" and state.is_late and self.world.broken != "begin_before":
            told = child._replace(at=(), reports=(*child.reports, (run, "not begun")), is_heard=False)
            yield self.step("children.inside.main.Child._run", told)
        elif stage == "took":
            noted = child._replace(at=((run, "noted"),))
            page = state.page if notes_late else state.page - {run}
            yield self.step("children.begun_marks.BegunMarks.begin", noted, page=page)
        elif stage == "noted":
            yield self.begins("children.inside.main.Child._run", child._replace(at=((run, "begun"),)), run)
        else:
            done = child._replace(at=(), reports=(*child.reports, (run, "ended")))
            page = state.page - {run}
            action = "children.inside.to_parent.ToParent.send_encoded"
            yield self.step(action, done._replace(is_heard=False), page=page)
            yield self.step(action, done._replace(has_rung=True, is_heard=True), page=page)

    def begins(self, action: str, child: Child, run: int) -> Step:
        foul = "begun too late" if self.state.is_late else self.state.foul
        begun = _put(self.state.begun, run, self.state.begun[run] + 1)
        return self.step(action, child, begun=begun, foul=foul)

    def dies(self) -> Iterator[Step]:
        if self.state.faults:
            dead = self.child._replace(is_alive=False)
            yield self.step("is killed", dead, faults=self.state.faults - 1)._replace(is_fault=True)

    # A child with an event loop, in which all handlers are at work together.

    def of_loop(self) -> Iterator[Step]:
        child, state = self.child, self.state
        yield from self.dies()
        if child.sent:
            run, *left = child.sent
            is_late = state.is_late and self.world.broken == "H2"
            if is_late:
                read = child._replace(sent=tuple(left), reports=(*child.reports, (run, "not begun")), has_rung=True)
            else:
                read = child._replace(sent=tuple(left), read=(*child.read, run))
            yield self.step("children.inside.event_loop._Server._begin", read)
        for run in child.read:
            left = [each for each in child.read if each != run]
            first = child._replace(read=tuple(left))
            action = "children.inside.event_loop._Server._attempt"
            if state.is_late and self.world.broken != "H2":
                yield self.step(action, first._replace(reports=(*child.reports, (run, "not begun")), has_rung=True))
            else:
                begun = self.begins(action, first._replace(at=(*child.at, (run, "begun"))), run)
                yield begun._replace(after=begun.after._replace(page=state.page - {run}))
        for run, stage in child.at:
            going = tuple(each for each in child.at if each != (run, stage))
            done = child._replace(at=going, reports=(*child.reports, (run, "ended")), has_rung=True)
            yield self.step("children.inside.event_loop._Server._attempt", done)

    # The parent.

    def of_parent(self) -> Iterator[Step]:
        child, state = self.child, self.state
        waiting = next((run for run, does in enumerate(state.runs) if does == "waits"), None)
        if waiting is not None and len(child.queue) < _MOST_GIVEN and not state.is_late:
            given = child._replace(queue=(*child.queue, waiting), sent=(*child.sent, waiting))
            runs = _put(state.runs, waiting, "given")
            yield self.step("children.tokens.TokenQueue.give", given, actor="parent", runs=runs)
        if child.has_rung:
            yield self.hear("worker.life.Life.hear", child._replace(has_rung=False), recalled=())
        if child.queue:
            # What waits behind a run that takes long; or before a handler is stopped. An event loop reads a token when
            # one of its runs has ended.
            recalled = child.sent
            if self.world.broken == "recall":
                recalled = tuple({*child.sent, *child.queue[1:]})
            step = self.hear("children.tokens.TokenQueue.recall", child._replace(sent=()), recalled=recalled)
            if recalled:
                yield step._replace(is_fault=True)

    def reap(self) -> Step:
        """The reports that it has sent are read first. The rest of its queue has its tokens in the socket, or not."""
        child = self.child
        return self.hear("worker.life.Life.reap", child._replace(sent=()), recalled=child.sent, is_dead=True)

    def hear(self, action: str, child: Child, *, recalled: tuple[int, ...], is_dead: bool = False) -> Step:
        reads = is_dead or action.endswith("hear")
        runs, page, queue = [*self.state.runs], self.state.page, [*child.queue]
        # A report of a run that this child does not work on is dropped.
        for run, outcome in [each for each in child.reports if reads and each[0] in queue]:
            runs[run] = "ended" if outcome == "ended" else "waits"
            page = page - {run} if outcome == "ended" else page
            queue.remove(run)
        for run in recalled:
            runs[run] = "waits"
            queue.remove(run)
        if is_dead:
            for run in queue:
                runs[run] = "charged"
            queue, page = [], page - {run for run, does in enumerate(runs) if does == "charged"}
        child = child._replace(queue=tuple(queue), reports=() if reads else child.reports)
        return self.step(action, child, actor="parent", runs=tuple(runs), page=page)


def _put(values: tuple[Any, ...], place: int, value: object) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


WORLDS = {
    "two children": World(),
    "a child and an event loop": World(loops=(False, True), runs=2),
    "an event loop": World(loops=(True,)),
}
_LATE, _NOT_BEGUN = "P2: no run begins too late", "P7: what goes back uncharged has not begun"
_PAGE, _AT_LAST = "P7: what the page of a killed tick has not noted has not begun", "P1: the parent learns of every end"
TWINS = {
    # H2: an event loop asks when it reads the message, and not in the first step, which another handler may delay.
    "H2": (World(loops=(True,), broken="H2"), _LATE),
    # A child does not look at the clock.
    "begin_before": (World(broken="begin_before"), _LATE),
    # The parent takes for recalled what it has queued, and not what it has read from the socket.
    "recall": (World(faults=0, broken="recall"), _NOT_BEGUN),
    # The child notes the run when it has ended.
    "page": (World(broken="page"), _PAGE),
    # A child that has no token does not ring for the reports that it has sent.
    "bell": (World(faults=0, broken="bell"), _AT_LAST),
}
ALWAYS = {
    _LATE: lambda state: not state.foul,
    "P2: no run begins twice": lambda state: max(state.begun) < 2,
    _NOT_BEGUN: lambda state: (
        not any(begun and does in ("waits", "returned") for does, begun in zip(state.runs, state.begun, strict=True))
    ),
    _PAGE: lambda state: state.tick != "killed" or not any(state.begun[run] for run in state.page),
}
AT_LAST = {_AT_LAST: Goal(lambda state: all(does in ("ended", "charged", "returned") for does in state.runs), 0)}


def model(world: World) -> Model:
    """The model of this world."""
    children = tuple(Child(is_loop) for is_loop in world.loops)
    start = State(
        ("waits",) * world.runs, children, frozenset(range(world.runs)), (0,) * world.runs, faults=world.faults
    )
    return Model(start, partial(steps, world), ALWAYS, tell, AT_LAST)


def tell(state: State) -> dict[str, object]:
    told: dict[str, object] = {f"run {run + 1}": does for run, does in enumerate(state.runs)}
    told |= {"page": sorted(run + 1 for run in state.page), "late": state.is_late, "tick": state.tick}
    for number, child in enumerate(state.children, 1):
        at = [f"{stage} {run + 1}" for run, stage in child.at]
        sent, reports = [run + 1 for run in child.sent], [run + 1 for run, _ in child.reports]
        words = [*at, sent and f"tokens {sent}", reports and f"reports {reports}", child.has_rung and "has rung"]
        told[f"child {number}"] = ", ".join(str(each) for each in words if each) if child.is_alive else "dead"
    return told
