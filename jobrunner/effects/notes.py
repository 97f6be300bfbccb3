"""Notes on this host of the effects that were called in its last minutes, in case that the database forgets them.

A standby that is promoted may lack what was committed in the last moments. A payment of these moments was made all the
same, and the next attempt would make it again. So a child notes each call in the state folder of its tick, right before
the call, and on the disk. After a promotion the ticks of the host put back what is missing (``worker.promotion``).

Each line is a JSON object. A line that was cut by a crash is skipped, so each record begins a line of its own. What
cannot be noted does not keep an effect from being called.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from jobrunner import clock
from jobrunner.errors import UsageError
from jobrunner.settings.state_folder import files_in, is_private, number_of
from jobrunner.store.queue.effects import Note

_FILES = ("effects-", ".notes")
_FILE_SECONDS = 300
"""A new file is begun so often."""
_FILES_KEPT = 3
_FORGET_SECONDS = 7 * 86400
_LONGEST_LINE = 1 << 14
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class EffectNotes:
    """The notes of the effects in one database. Without a private folder nothing is noted.

    A file belongs to a cluster, by its identifier, and a database in it. The address of the server is in each record:
    two addresses with the same identifier may be a primary and its standby, or the copy of a database for tests.
    """

    def __init__(self, folders: Sequence[str], url: str, schema: str | None) -> None:
        self._folders = folders
        address, _, self._name = url.partition("?")[0].rpartition("@")[2].rpartition("/")
        self._address = number_of(address)
        self._schema = schema

    # What a child notes.

    def called(self, server: str | None, note: Note) -> None:
        """Note that a function is called now, for which this server has the intent. None: the server is not known."""
        instants = {"since": note.since.isoformat(), "run_created_at": note.run_created_at.isoformat()}
        self._write(server, {"address": self._address, **note._asdict(), **instants}, is_kept=True)

    def ended(self, server: str | None, call: str, **outcome: object) -> None:
        """Note that a call has returned ``outcome``; without one, that nothing has happened."""
        self._write(server, {"ended": call, **outcome})

    def _write(self, server: str | None, record: dict[str, Any], *, is_kept: bool = False) -> None:
        folder = next(filter(is_private, self._folders), None)
        line = f"\n{json.dumps(record)}\n".encode()
        if folder is None or server is None or len(line) > _LONGEST_LINE:
            # A call whose outcome is too long stays uncertain.
            return
        number = int(clock.utc_now().timestamp()) // _FILE_SECONDS
        path = os.path.join(folder, f"{self._beginning(server)}{number}{_FILES[1]}")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
            try:
                if not os.fstat(descriptor).st_size:
                    self._remove_old(folder, server)
                if os.write(descriptor, line) != len(line):
                    raise OSError(None, "there is no space")
                if is_kept:
                    # Also through a power cut. Without its end a call is uncertain, which is safe.
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            sys.stderr.write(f"jobrunner: the effect is not noted in the state folder: {error.strerror}\n")

    def _beginning(self, server: str) -> str:
        # A promotion keeps the identifier of the cluster, and raises the timeline behind it.
        return f"{_FILES[0]}{number_of(server.partition('/')[0], self._name, self._schema):016x}-"

    def _remove_old(self, folder: str, server: str) -> None:
        for path in files_in(folder, self._beginning(server), _FILES[1])[:-_FILES_KEPT]:
            with suppress(OSError):
                os.unlink(path)

    # What a tick reads.

    def forget_old(self, server: str) -> None:
        """Remove the notes of this database that are older than some minutes, and of others after a week."""
        now = clock.utc_now().timestamp()
        for path in (path for folder in filter(is_private, self._folders) for path in files_in(folder, *_FILES)):
            is_ours = os.path.basename(path).startswith(self._beginning(server))
            with suppress(OSError):
                if os.stat(path).st_mtime < now - (_FILE_SECONDS * _FILES_KEPT if is_ours else _FORGET_SECONDS):
                    os.unlink(path)

    def read(self, server: str) -> list[Note]:
        """The last call of each key that this host has made.

        One that was made at another address counts as not ended: whether that was this database is not known.
        """
        notes: dict[str, Note] = {}
        elsewhere: set[str] = set()
        for record in self._records(server):
            # What is in the files may be anything.
            with suppress(KeyError, TypeError, ValueError, OverflowError, UsageError):
                if "ended" in record:
                    note = notes.pop(record["ended"])
                    if "outcome" in record:
                        known = {"was_applied": True, "its_outcome": record["outcome"]}
                        notes[note.call] = note if note.call in elsewhere else note._replace(**known)
                    continue
                note = _note_of(record)
                notes[note.call] = note
                if record["address"] != self._address:
                    elsewhere.add(note.call)
        return list({note.effect: note for note in notes.values()}.values())

    def _records(self, server: str) -> Iterator[dict[str, Any]]:
        folders = filter(is_private, self._folders)
        for path in (path for folder in folders for path in files_in(folder, self._beginning(server), _FILES[1])):
            with suppress(OSError), open(os.open(path, os.O_RDONLY | _FLAGS), "rb") as file:
                while line := file.readline(_LONGEST_LINE):
                    with suppress(ValueError, RecursionError):
                        yield json.loads(line)


def _note_of(record: dict[str, Any]) -> Note:
    # Only after a promotion: it imports what a plain tick spares.
    from jobrunner.jobs.effect import check_key

    return Note(
        effect=check_key(record["effect"]),
        run=int(record["run"]),
        of_type=str(record["of_type"]),
        of_attempt=int(record["of_attempt"]),
        its_lease=str(record["its_lease"]),
        call=str(record["call"]),
        since=datetime.fromisoformat(record["since"]),
        run_created_at=datetime.fromisoformat(record["run_created_at"]),
    )
