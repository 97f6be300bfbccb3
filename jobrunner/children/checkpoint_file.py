"""The file by which a command keeps a place to go on from: it finds the last one there, and writes the next one there.

Each run has a folder of its own for it, so that a program can write another file beside it and rename that. The folders
of a tick stand beside its note, under the same name, and go with it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobrunner.errors import BadPayload
from jobrunner.jobs.payload import check_payload, encode_payload, parse_value
from jobrunner.jobs.payload_limits import CHECKPOINT_BYTES

_NAME = "checkpoint.json"
_FOLDERS = ".checkpoints"


def folders_beside(note: Path) -> Path:
    """Where the folders of the tick with this note are."""
    return note.with_suffix(_FOLDERS)


def remove(folder: Path) -> None:
    """Remove a folder with all that a program has left in it."""
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        pass
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


class CheckpointFile:
    """The file of one run. ``kept`` is what its earlier attempts have kept, None: nothing.

    Raises OSError if it cannot be made.
    """

    def __init__(self, folders: Path | None, run_id: int, kept: Any) -> None:
        self._folder = _made(folders, run_id)
        self.path = self._folder / _NAME
        self._kept: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
        # What it was when it was last read, and the state of what could not be taken at the last look.
        self._state: tuple[int, ...] | None = None
        self._content = b""
        self._doubted: tuple[int, ...] | None = None
        if self._kept.get("value") is not None:
            self._content = encode_payload(self._kept["value"]).encode()
            try:
                self.path.write_bytes(self._content)
            except BaseException:
                self.close()
                raise

    def newest(self, *, is_last: bool) -> dict[str, Any] | None:
        """What is to be kept, if it has changed since the last call. None: nothing new.

        Raises BadPayload, with what is wrong: unless it ``is_last``, only for what was the same at the call before.
        """
        try:
            state, content = self._look(is_last=is_last)
        except FileNotFoundError:
            return None
        except OSError as error:
            state, content = (), str(error.strerror).encode()
        if not content or content == self._content:
            return None
        try:
            checkpoint = self._parsed(state, content)
        except BadPayload:
            if is_last or state == self._doubted:
                self._state, self._content = state, content
                raise
            # Perhaps it is being written at this moment.
            self._doubted = state
            return None
        self._state, self._content = state, content
        return checkpoint

    def _look(self, *, is_last: bool) -> tuple[tuple[int, ...], bytes]:
        """The state of the file, and its content unless that is read already. What is no regular file has no state."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return (), b"it is not a regular file"
            # Two writes in one instant of the file system leave the same state, so the last look does not trust it.
            state = (found.st_ino, found.st_mtime_ns, found.st_size)
            if state == self._state and not is_last:
                return state, b""
            with open(descriptor, "rb", closefd=False) as file:
                return state, file.read(CHECKPOINT_BYTES + 1)
        finally:
            os.close(descriptor)

    def _parsed(self, state: tuple[int, ...], content: bytes) -> dict[str, Any]:
        if not state:
            raise BadPayload(content.decode())
        if len(content) > CHECKPOINT_BYTES:
            raise BadPayload(f"it is larger than {CHECKPOINT_BYTES} bytes")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise BadPayload("it is not in UTF-8") from None
        try:
            document = {"value": parse_value(text), "steps": self._kept.get("steps") or {}}
            return check_payload(document, CHECKPOINT_BYTES)
        except BadPayload as error:
            raise BadPayload(str(error).replace("the payload", "it")) from None

    def close(self) -> None:
        """Remove it."""
        with suppress(OSError):
            os.unlink(self.path)
        remove(self._folder)


def _made(folders: Path | None, run_id: int) -> Path:
    if folders is None:
        import tempfile

        return Path(tempfile.mkdtemp(prefix="jobrunner-"))
    os.makedirs(folders, 0o700, exist_ok=True)
    folder = folders / str(run_id)
    remove(folder)
    os.mkdir(folder, 0o700)
    return folder
