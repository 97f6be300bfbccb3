"""Writes jobrunner/store/sql/compiled: the statements of a tick, compiled for each database. `make statements`."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import getmembers, isfunction
from itertools import chain
from pathlib import Path
from types import ModuleType

from sqlalchemy import Executable

from jobrunner.store import statements
from jobrunner.store.sql.compiler import source
from jobrunner.store.sql.statement import Prepared, core
from jobrunner.store.sql.traits import TRAITS

FOLDER = Path(__file__).resolve().parent.parent / "jobrunner" / "store" / "sql" / "compiled"


def prepared(database: str) -> list[Prepared]:
    """The statements of this database, with the arguments that are compiled ahead."""
    modules = [import_module(name) for _, name in sorted(statements.modules().items())]
    return list(chain.from_iterable(_of_module(module, database) for module in modules))


def _of_module(module: ModuleType, database: str) -> Iterator[Prepared]:
    variants, only_on = getattr(module, "VARIANTS", {}), getattr(module, "ONLY_ON", {})
    for name, function in getmembers(module, isfunction):
        is_own = function.__module__ == module.__name__ and not name.startswith("_")
        if not is_own or database not in only_on.get(name, TRAITS):
            continue
        for arguments in variants.get(name, [] if function.__code__.co_argcount else [()]):
            each = Prepared(f"{module.__name__.rpartition('.')[2]}.{name}", arguments)
            of_another = any(name in arguments for name in TRAITS if name != database)
            # Other public functions make parts of statements.
            if not of_another and isinstance(core(each), Executable):
                yield each


def text(database: str) -> str:
    """The module for this database."""
    lines = [f'"""The statements of a tick for {database}, written by `make statements`."""', "", "STATEMENTS = {"]
    for each in prepared(database):
        found = source(core(each), database)
        lines.append(f"    {(each.name, each.arguments)!r}: (")
        lines.append(f"        {literal(found.text)},")
        lines += [f"        {part!r}," for part in (found.literals, found.encoded, found.columns)]
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def literal(text: str) -> str:
    """The text as Python writes it, in as many lines as it has."""
    # A quote before another one, or at the end, would be a part of the quotes that end the text.
    body = re.sub(r'"(?="|\Z)', r'\\"', text.replace("\\", "\\\\"))
    return f'"""{body}"""'


def main() -> int:
    """Write the files; with --check only say whether they are as they would be written."""
    stale = 0
    for database in TRAITS:
        file, new = FOLDER / f"{database}.py", text(database)
        if not file.exists() or file.read_text(encoding="utf-8") != new:
            stale += 1
            if "--check" not in sys.argv:
                file.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print("jobrunner/store/sql/compiled is not what the statements say; run: make statements", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
