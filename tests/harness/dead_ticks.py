"""What a killed tick leaves in the state folder of its host, for a test to read and to change."""

import json
from pathlib import Path


def note_of(state: Path) -> Path:
    """The note of the one tick."""
    (note,) = state.glob("tick-*.json")
    return note


def change(note: Path, **fields: object) -> None:
    """Have the note say something else."""
    note.write_text(json.dumps(json.loads(note.read_text()) | fields))


def started(pid: int) -> str:
    """When a process has begun, as notes say it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
