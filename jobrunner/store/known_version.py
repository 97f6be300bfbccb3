"""Tells psycopg its own version, before it is imported.

psycopg asks importlib.metadata for it, which imports email, zipfile and some thirty other modules: more than a tenth
of the import of psycopg. The version also stands in the name of the folder that pip leaves beside a package.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from types import ModuleType

_PACKAGES = ("psycopg", "psycopg_binary")
_END = ".dist-info"


def tell_psycopg() -> None:
    """Do nothing for a package that is imported already, or whose version is not plain: it asks by itself."""
    for package in _PACKAGES:
        version = None if package in sys.modules else _version_of(package)
        if version is not None:
            module = ModuleType(f"{package}.version")
            vars(module)["__version__"] = version
            sys.modules[module.__name__] = module


def _version_of(package: str) -> str | None:
    """The version in the name of the one folder beside the package, as `psycopg-3.2.1.dist-info`."""
    for folder in sys.path:
        if os.path.isdir(os.path.join(folder, package)):
            # Nothing is imported from a folder that cannot be listed: the next one counts.
            with suppress(OSError):
                names = [name for name in os.listdir(folder) if name.startswith(f"{package}-") and name.endswith(_END)]
                return names[0][len(package) + 1 : -len(_END)] if len(names) == 1 else None
    return None
