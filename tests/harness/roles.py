"""The roles of docs/howto/operations.md, with the GRANTs of the page, in a schema of their own."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from harness import pages
from harness.database import Database, PostgresDatabase

PASSWORD = "of-a-role"
SCHEMA = {"JOBRUNNER_SCHEMA": "jobs"}
ROLES = ("jobs_tick", "jobs_app", "jobs_look")


@contextmanager
def granted(database: Database) -> Iterator[dict[str, str]]:
    """Roles belong to the whole server: their names are unique."""
    assert isinstance(database, PostgresDatabase)
    (block,) = pages.checked_by(
        "tests/store/test_roles.py::test_grants_of_the_page_suffice_for_each_role_and_for_no_more"
    )
    names = {role: f"{role}_{database.database}" for role in ROLES}
    with database.access.admin() as admin:
        for name in names.values():
            admin.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD '{PASSWORD}'")
    try:
        statements = re.sub(r"\bjobs_(?:tick|app|look)\b", lambda found: f'"{names[found[0]]}"', block.text)
        for statement in filter(str.strip, statements.split(";")):
            database.execute(statement)
        parts = urlsplit(database.url)
        yield {
            role: f"postgresql://{name}:{PASSWORD}@{parts.hostname}:{parts.port}{parts.path}"
            for role, name in names.items()
        }
    finally:
        database.forget_sessions()
        for name in names.values():
            with database.access.admin(database.database) as admin:
                admin.execute(f'DROP OWNED BY "{name}"')
                admin.execute(f'DROP ROLE "{name}"')
