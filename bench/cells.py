"""Cells of the table of speed.md, and what stands beside them, that take more than one line of the results."""

from collections.abc import Callable

from measures.parts import CHILDREN, PARENT, SERVER
from peers import PEERS
from plan import IDLE, PEERS_SERVER, PEERS_TIME, Drain
from published import Results
from sizes import BOTH, POSTGRESQL
from words import microseconds, number, rate, seconds, timed

_NOT_PYTHON = {peer.name for peer in PEERS if not peer.is_python}


def ticks(results: Results, drain: Drain) -> str:
    """How many ticks a spike took, where it took several."""
    most = max((results.median(f"spike, ticks, {db}") or 1 for db in BOTH), default=1)
    return f": {most:.0f} ticks, one after the other" if drain.size == "spike" and most > 1 else ""


def parts_of_a_run(results: Results, database: str) -> str:
    """What a short run takes of the tick, of its children and of the server."""
    found = [results.median(line.format(db=database)) for line in (PARENT, CHILDREN, SERVER)]
    return "; ".join(microseconds(each) for each in found if each is not None)


def parts_of_jobs(results: Results) -> str:
    """What others need, in their own processes and in the server, the least of both together first."""
    found = []
    for name in results.peers():
        for settings in ("best", "default"):
            both = [results.median(line.format(peer=name, settings=settings)) for line in (PEERS_TIME, PEERS_SERVER)]
            if None not in both:
                found.append((sum(both), f"{name} {microseconds(both[0])} and {microseconds(both[1])}"))
                break
    listed = ", ".join(said for _, said in sorted(found))
    return f"others, their processes and the server: {listed}" if listed else ""


def backlog(results: Results, database: str) -> str:
    """The rate of the last full tick of a backlog, and the most memory of one."""
    told = timed(results, f"backlog, last full tick, {database}", rate)
    peak = results.median(f"backlog, peak memory of a parent, {database}")
    return f"{told}; {number(peak)} MB" if told and peak else ""


def best(results: Results, database: str) -> str:
    """Our quickest drain, and its setting."""
    found = results.best(database)
    if found is None or found[1] == "default settings":
        return "the default is the best" if found else ""
    return f"{rate(found[0])} at {found[1].split()[-1]}"


def share(results: Results, database: str) -> str:
    """How near runs of 100 ms come to the ideal, and what the parent takes of a core."""
    ratio = results.ratio(f"slow runs, first start to last end, {database}")
    cores = results.median(f"slow runs, processor time of the parent at work, {database}")
    if ratio is None or cores is None:
        return ""
    return f"{1 / ratio:.0%}; {cores:.0%}"


def quickest(results: Results) -> str:
    """The quickest idle one-shot of another Python system on PostgreSQL."""
    for value, name in results.of_peers(IDLE, less=True):
        if results.peers()[name]["database"] == POSTGRESQL and name not in _NOT_PYTHON:
            return f". The quickest other Python system on PostgreSQL, {name}: {seconds(value)}"
    return ""


def others(results: Results, line: str, say: Callable[[float | None], str], *, less: bool = False) -> str:
    """What the others reach at the settings that suit them better."""
    return ", ".join(f"{name} {say(value)}" for value, name in results.of_peers(line, less=less))
