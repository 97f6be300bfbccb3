"""Why a child cannot use a handler module: one line with the place in the user's own code, and the whole traceback.

It is imported when there is a failure: a child that has none does not pay for it.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from jobrunner.children.inside.reports import stack, text_of
from jobrunner.children.messages import ImportFailed
from jobrunner.errors import JobrunnerError
from jobrunner.jobs import user_code


def of_import(error: BaseException) -> ImportFailed:
    """The answer of a child whose module has raised this."""
    place = user_code.place_of_error(error)
    # The text of a SyntaxError has only the last part of the file's name.
    text = str(error.msg) if isinstance(error, SyntaxError) and place is not None else text_of(error)
    # The message of our own errors is enough without the type.
    line = text if isinstance(error, JobrunnerError) else f"{type(error).__name__}: {text}"
    return ImportFailed(user_code.placed(line, place) + _what_is_missing(error, place), stack(error))


def _what_is_missing(error: BaseException, place: user_code.Place | None) -> str:
    """Said of a library of the application: an environment of jobrunner's own, as pipx makes one, has none."""
    if place is None or not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    package = error.name.partition(".")[0]
    if package in sys.modules or importlib.util.find_spec(package) is not None:
        return ""
    return f"; {sys.prefix} has no {package}, and handlers need the environment of their application"


def of_handler(error: Exception, function: Any) -> ImportFailed:
    """The answer of a child that has imported all modules and cannot use this handler."""
    return ImportFailed(user_code.placed(str(error), user_code.place_of_function(function)))
