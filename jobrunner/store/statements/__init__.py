"""The statements of a tick, written once in SQLAlchemy Core for both databases.

Each public function that returns a statement is one, named by its module and its name (``statement.Prepared``), so no
two rooms have a module of the same name. ``make statements`` compiles them into ``store/sql/compiled``; ``VARIANTS`` of
a module lists the arguments that it uses. With other arguments a statement is compiled when it is needed.
"""

from functools import cache
from pkgutil import walk_packages


@cache
def modules() -> dict[str, str]:
    """The modules of the statements: from the name in a ``Prepared`` to the name by which it is imported."""
    found = [each.name for each in walk_packages(__path__, f"{__name__}.") if not each.ispkg]
    return {name.rpartition(".")[2]: name for name in found}
