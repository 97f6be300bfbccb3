"""The command ``jobrunner`` under the command of a framework, such as ``flask jobrunner``, with its variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence


def run(words: Sequence[str], variables: Callable[[], Mapping[str, str]], own_name: str) -> None:
    """Become ``jobrunner`` with these words, on the framework's variables. It ends the process.

    The one word ``env`` prints the variables as an env file. ``own_name`` is how this command is typed.
    """
    if list(words) == ["env"]:
        from jobrunner.settings.env_file import written

        sys.stdout.write(written(variables()))
        return
    os.environ.update(variables())
    sys.argv = ["jobrunner", *words]
    from jobrunner.cli import environment, main

    environment.prints_env_file = f"{own_name} env"
    main()
