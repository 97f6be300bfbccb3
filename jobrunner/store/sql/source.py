"""A compiled statement as data: what the compiler writes, and what a statement is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jobrunner.store.sql.encoding import Kind


class Source(NamedTuple):
    """A compiled statement as data. ``literals`` are its own parameters, encoded.

    ``encoded`` are the kinds of the parameters that must be encoded. ``columns`` are the names and kinds of the
    columns that it returns; None: they are those that the driver reports, as they are.
    """

    text: str
    literals: Mapping[str, Any]
    encoded: Mapping[str, Kind]
    columns: tuple[tuple[str, str | None], ...] | None
