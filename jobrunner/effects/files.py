"""An effect on a file: it has the old content or the new one, also after a crash or a power cut."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from secrets import token_hex
from typing import Any

from jobrunner.jobs.effect import NotApplied
from jobrunner.settings.whole_file import replace_file, synchronize_folder


def write_file(path: str | os.PathLike[str], content: str | bytes, *, key: str) -> dict[str, Any]:
    """Replace a file as a whole: ``ctx.once(key, write_file, path, content, key=key, on_uncertain="repeat")``.

    The content is written and synchronized under a temporary name beside the file, renamed, and the folder is
    synchronized. Until the rename the file is untouched: an error raises NotApplied. A repeated call with the key
    removes what an earlier one has left. Text is written as UTF-8. Returns the path, the size and the SHA-256.
    """
    target = Path(path).absolute()
    data = content.encode() if isinstance(content, str) else content
    begin = f".{target.name}.{hashlib.sha256(key.encode()).hexdigest()[:16]}."
    # Another name for each call: a handler that lost its lease may still be writing under the same key.
    temporary = target.with_name(f"{begin}{token_hex(4)}.tmp")
    try:
        for left in target.parent.glob(f"{_literal(begin)}*.tmp"):
            left.unlink(missing_ok=True)
        replace_file(target, data, temporary, mode=0o666, keeps_mode=False)
    except OSError as error:
        raise NotApplied(f"{target} was not written: {error.strerror}") from error
    synchronize_folder(target.parent)
    return {"path": str(target), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _literal(text: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in text)
