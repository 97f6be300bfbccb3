"""What a test tells to the processes that it starts: which databases are its own. They open no other ones.

It is in the environment, so that it also reaches the processes that a handler or a command starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jobrunner.names import TESTED


def variables(told: Mapping[str, Any], refusals: str | None = None) -> dict[str, str]:
    """The variable for a process of this test. To the file ``refusals`` it writes what it has refused to open."""
    return {TESTED: json.dumps({**told, "refusals": refusals})}


def told() -> dict[str, Any] | None:
    """What the test has told to this process. None means that no test has started it."""
    text = os.environ.get(TESTED)
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found


def note_refusal(sentence: str) -> None:
    """Tell the test what this process does not open."""
    name = (told() or {}).get("refusals")
    # The test may have ended; the run has failed in any case.
    with suppress(OSError):
        if name is not None:
            with open(name, "a") as file:
                file.write(f"{sentence}\n")
