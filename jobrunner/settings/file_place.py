"""Where the configuration file of an environment is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jobrunner.settings.paths import absolute

_FILE_NAME = "jobrunner.toml"


def path_of_file(environ: Mapping[str, str]) -> str | None:
    """The file that is named, else the one in the application folder. Cron chooses the current folder: not used."""
    if named := environ.get("JOBRUNNER_CONFIG", "").strip():
        return absolute(named)
    if app_dir := environ.get("JOBRUNNER_APP_DIR", "").strip():
        path = os.path.join(absolute(app_dir), _FILE_NAME)
        return None if _is_missing(path) else path
    return None


def _is_missing(path: str) -> bool:
    # Only these two errors mean that there is no file. Any other is reported when the file is read.
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
