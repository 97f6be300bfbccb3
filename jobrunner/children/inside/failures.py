"""Why a child cannot use a handler module: one line with the place in the user's own code, and the whole traceback.

It is imported when there is a failure: a child that has none does not pay for it.
"""

from __future__ import annotations

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
    return ImportFailed(user_code.placed(line, place), stack(error))


def of_handler(error: Exception, function: Any) -> ImportFailed:
    """The answer of a child that has imported all modules and cannot use this handler."""
    return ImportFailed(user_code.placed(str(error), user_code.place_of_function(function)))
