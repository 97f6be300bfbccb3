"""The JSON Schemas of what commands print, made from their records."""

from __future__ import annotations

import re
from typing import Any


def schema(record: Any) -> dict[str, Any]:
    """The schema of a record, or of a list of them."""
    # Only the documentation and programs that ask for schemas need it.
    import msgspec

    made: dict[str, Any] = _in_one_line(msgspec.json.schema(record))
    return made


def _in_one_line(node: Any) -> Any:
    """Without the line breaks and the marks that the texts of the code have."""
    if isinstance(node, list):
        return [_in_one_line(each) for each in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {name: _in_one_line(value) for name, value in node.items()}
    if "properties" in found:
        # What a record has by default is printed, too. The library says it of some defaults only, by its version.
        for each in found["properties"].values():
            each.pop("default", None)
        found["required"] = list(found["properties"])
    if isinstance(found.get("description"), str):
        found["description"] = re.sub(r"\s+", " ", found["description"]).replace("``", "")
    return found
