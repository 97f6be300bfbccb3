"""What a child imports to know the handlers of a Flask application: the application itself."""

from __future__ import annotations

import os
from collections.abc import Iterator

from flask.cli import ScriptInfo

import jobrunner
from jobrunner import Context


@jobrunner.around_run
def in_app_context(_: Context) -> Iterator[None]:
    """Give each run an application context, as each request has one; its end closes the session of Flask-SQLAlchemy."""
    with app.app_context():
        yield


# After the function, so that it is around what the application itself registers.
app = ScriptInfo(app_import_path=os.environ.get("FLASK_APP")).load_app()
