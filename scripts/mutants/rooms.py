"""The rooms that hold the promises, whose guards are counted."""

from sandbox import ROOT

ROOMS = {
    "lifecycle": ("lifecycle.py",),
    "store/statements": ("store/statements/queue", "store/statements/ticks", "store/statements/timetable"),
    "store/queue": ("store/queue",),
    "store/changes": ("store/changes",),
    "store/timetable": ("store/timetable",),
    "store/upkeep": ("store/upkeep",),
    "store/drivers": ("store/drivers",),
    "effects": ("effects",),
    "worker": ("worker",),
    "children": ("children",),
    "ticker": ("ticker",),
    "schedules": ("schedules",),
    "jobs": ("jobs",),
}


def files(room: str) -> list[str]:
    """The files of a room, as the sandbox names them."""
    places = [ROOT / "jobrunner" / each for each in ROOMS[room]]
    found = [file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    return [file.relative_to(ROOT).as_posix() for file in found]
