"""The JSON Schemas of what the commands print, from the script that writes them."""

import importlib.util
from typing import Any

from harness.pages import ROOT


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("json_schemas", ROOT / "scripts" / "json_schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


schemas = _script()


def strict(node: Any) -> Any:
    """The schema of this version exactly: a field that is not in it is an error, which it is not for a program."""
    if isinstance(node, list):
        return [strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {name: strict(value) for name, value in node.items()}
    return {"additionalProperties": False, **found} if "properties" in node else found
