"""The trace to which a run belongs, in the text form of W3C Trace Context: a ``traceparent``."""

from __future__ import annotations

import re

_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


def checked(traceparent: str | None) -> str | None:
    """The traceparent, or None for a text that is none: as the standard says, it is ignored, and is no error."""
    return traceparent if traceparent is not None and _FORM.fullmatch(traceparent) else None


def trace_id(traceparent: str | None) -> str | None:
    """The id of the trace, to look it up where traces are kept."""
    found = None if traceparent is None else _FORM.fullmatch(traceparent)
    return None if found is None else found[1]
