"""Alembic's entry for developers, who make the next migration here: `alembic revision --rev-id 0002 -m "..."`.

The migrations lie in the package, jobrunner/store/schema/migrations, where `jobrunner migrate` runs them.
"""

from alembic.util import CommandError

raise CommandError("a database is migrated by: jobrunner migrate; here only a new migration is made: alembic revision")
