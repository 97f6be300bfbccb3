"""The SQL of the schema as text, for an administrator to run: of all of it, or of the steps from an older version on.

The steps do what ``migrate`` does in its transaction: views and triggers go first, and are made again from this code
with the functions; those of the older schema are kept for a downgrade, and roles keep their rights on the views.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial

from jobrunner.errors import UsageError
from jobrunner.store.drivers.location import Location
from jobrunner.store.drivers.sqlite import WAL
from jobrunner.store.sql.namespace import qualified, qualifier
from jobrunner.store.sql.versions import MOVED_CODE, OLDEST_CODE_OF, SCHEMA_REVISION
from jobrunner.store.upkeep import kept_programs, revisions
from jobrunner.store.upkeep.repair import RIGHTS, dropping
from jobrunner.store.upkeep.repeatable import PROGRAMS, not_yet_in, pieces

# A setting of the transaction holds the rights: to make a temporary table is a right of its own.
_KEEP_RIGHTS = """DO $step$ BEGIN PERFORM set_config('jobrunner.rights', coalesce((
  SELECT string_agg('GRANT ' || granted || ' ON {before}' || name || ' TO ' || role || option, '; ')
  FROM ({rights}) AS given
), ''), true); END $step$"""
_GIVE_RIGHTS = """DO $step$ BEGIN
  EXECUTE coalesce(nullif(current_setting('jobrunner.rights', true), ''), 'SELECT 1'); END $step$"""
_DROP_OTHERS = """DO $step$ DECLARE other text; BEGIN
  FOR other IN {others} LOOP EXECUTE 'DROP FUNCTION ' || other; END LOOP; END $step$"""


def of_schema(location: Location, version: int = 0) -> str:
    """The SQL that makes the newest schema of this version, 0 for none. Needs no database.

    Raises UsageError where a step between changes many rows: only ``migrate`` does that beside ticks.
    """
    slow = [each for each in revisions.slices(location.database) if each > version > 0]
    if slow:
        raise UsageError(f"the step to schema {slow[0]} changes many rows; that is for jobrunner migrate alone")
    first = "" if location.schema is None or version else f'CREATE SCHEMA IF NOT EXISTS "{location.schema}";\n\n'
    output = io.StringIO(first if location.has_server or version else f"{WAL};\n\n")
    output.seek(0, io.SEEK_END)
    given = {"dialect_name": location.database, "output": output}
    if version:
        given |= {"beforehand": [*_before(location, version)], "afterwards": partial(_after, location=location)}
        revisions.run("upgrade", f"{version:04}:head", location.schema, sql=True, **given)
    else:
        afterwards = partial(not_yet_in, dialect_name=location.database, schema=location.schema)
        revisions.run("upgrade", "head", location.schema, sql=True, **given, afterwards=afterwards)
    return output.getvalue()


def _before(location: Location, version: int) -> Iterator[str]:
    programs = [each for each in pieces(location.database, location.schema) if each.kind in PROGRAMS]
    names = [each.name for each in programs]
    if location.has_server:
        rights = kept_programs.with_literals(RIGHTS, names, location.schema)
        # Not a line for each index that is there already.
        yield "SET LOCAL client_min_messages = warning"
        yield _KEEP_RIGHTS.format(rights=rights, before=qualifier(location.schema))
    yield kept_programs.keeping(version, names, location)
    for each in reversed(programs):
        if each.kind in ("trigger", "view"):
            yield qualified(dropping(each, has_server=location.has_server, if_exists=True), location.schema)


def _after(script: str, location: Location) -> Iterator[str]:
    oldest = OLDEST_CODE_OF[SCHEMA_REVISION]
    table = f"{qualifier(location.schema)}job_state"
    # What a move has closed stays so.
    yield f"UPDATE {table} SET oldest_code = {oldest} WHERE oldest_code <> {MOVED_CODE}"  # noqa: S608 - our own words
    for each in not_yet_in(script, location.database, location.schema):
        # What the older schema has already: its indexes stay, its functions may be other ones.
        statement = re.sub("^(CREATE (?:UNIQUE )?INDEX)", r"\1 IF NOT EXISTS", each)
        yield statement.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)
    if location.has_server:
        names = [each.name for each in pieces(location.database, location.schema) if each.kind == "function"]
        yield _DROP_OTHERS.format(others=kept_programs.with_literals(kept_programs.OTHERS, names, location.schema))
        yield _GIVE_RIGHTS
