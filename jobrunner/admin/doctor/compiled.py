"""Whether Python finds this package compiled. If not, each tick and each child compiles its modules anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import jobrunner
from jobrunner.admin.doctor.checks import Check, ok, warning

_HEADER_BYTES = 16
_UINT32 = 0xFFFFFFFF


def check() -> Check:
    """Of the modules that this process has imported: by now Python has written what it may write."""
    package = jobrunner.__name__
    modules = [module for name, module in sorted(sys.modules.items()) if name.split(".")[0] == package]
    anew = sum(map(_is_compiled_anew, modules))
    if not anew:
        return ok("compiled code", "Python finds it for each module")
    folder = Path(jobrunner.__file__).parent
    why = "PYTHONDONTWRITEBYTECODE is set" if sys.dont_write_bytecode else f"this user may not write in {folder}"
    return warning(
        "compiled code",
        f"each start compiles {anew} of {len(modules)} modules anew, and takes longer: {why}",
        f"{sys.executable} -m compileall -q {folder}; as the user to whom that folder belongs",
    )


def _is_compiled_anew(module: ModuleType) -> bool:
    """Python compares the time and the size of the source with those in the header, or asks nothing (PEP 552)."""
    source, compiled = getattr(module, "__file__", None), getattr(module, "__cached__", None)
    if source is None or compiled is None:
        return False
    try:
        with open(compiled, "rb") as file:
            header = file.read(_HEADER_BYTES)
        found = os.stat(source)
    except OSError:
        return True
    flags, modified_at, size = (int.from_bytes(header[at : at + 4], "little") for at in (4, 8, 12))
    return not flags and (modified_at, size) != (int(found.st_mtime) & _UINT32, found.st_size & _UINT32)
