"""A statement in the form that a driver takes, and where it comes from: compiled ahead, or by SQLAlchemy when needed.

Each statement is written once, in SQLAlchemy Core. Those of a tick are functions of ``store/statements``. ``make
statements`` compiles them for both databases into ``store/sql/compiled``, so that a tick needs no SQLAlchemy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jobrunner.store.sql import plain_cursors, values_as_texts
from jobrunner.store.sql.encoding import decoder, encoder
from jobrunner.store.sql.namespace import qualified
from jobrunner.store.sql.source import Source

if TYPE_CHECKING:
    from sqlalchemy import Executable


_KEEP_THEIR_PLANS = frozenset(
    {"finalize.succeed", "finalize.locked", "finalize.record", "finalize.leave", "holding.renew"}
)
"""Statements that read runs by their ids only: one plan serves them whatever the tables have grown to."""


_PARAMETER = re.compile(r"%\((\w+)\)s|%%")


class Prepared(NamedTuple):
    """A statement of ``store/statements``: "module.function", and the arguments of the function."""

    name: str
    arguments: tuple[Any, ...] = ()


Statement: TypeAlias = "Prepared | Executable | str"
"""A statement; one of Core, or one in the driver's own words."""
Values: TypeAlias = Mapping[str, Any]
Question: TypeAlias = "tuple[Prepared | Executable, Mapping[str, Any]]"
"""A statement that reads, and its parameters."""


class Row(tuple[Any, ...]):
    """A row: a tuple whose values are attributes, too."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def _asdict(self) -> dict[str, Any]:
        """The values by the names of the columns, as of a named tuple."""
        return dict(zip(self._fields, self, strict=True))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Compiled:
    """A statement for one database: its text, what encodes its parameters, and what decodes its rows.

    ``keeps_plan``: a server may plan it once for the whole session.
    """

    def __init__(self, source: Source, database: str, *, keeps_plan: bool = False) -> None:
        self.text = source.text
        self.keeps_plan = keeps_plan
        self._literals = source.literals
        encoders = ((name, encoder(kind, database)) for name, kind in source.encoded.items())
        self._encoders = [(name, encode) for name, encode in encoders if encode is not None]
        columns = source.columns or ()
        self._names = None if source.columns is None else tuple(name for name, _ in columns)
        self.instants = frozenset(index for index, (_, kind) in enumerate(columns) if kind == "instant")
        self.documents = frozenset(index for index, (_, kind) in enumerate(columns) if kind == "json")
        decoders = ((index, decoder(kind, database)) for index, (_, kind) in enumerate(columns))
        self._decoders = [(index, decode) for index, decode in decoders if decode is not None]
        self._row_type: type[Row] | None = None

    @cached_property
    def as_texts(self) -> tuple[str, tuple[str, ...]]:
        """The text for ``values_as_texts``, with parameters by number, and their names in this order."""
        numbers: dict[str, int] = {}

        def marked(found: re.Match[str]) -> str:
            name = found[1]
            return "%" if name is None else values_as_texts.parameter(numbers.setdefault(name, len(numbers) + 1))

        text = _PARAMETER.sub(marked, self.text)
        if self._names is None and text.lstrip().startswith(("SELECT", "WITH")):
            return values_as_texts.answering_by_name(text), tuple(numbers)
        return values_as_texts.answering(text, len(self._names or ()), self.documents), tuple(numbers)

    @property
    def declares_columns(self) -> bool:
        """Whether the statement itself says which columns it returns. Otherwise the driver has to."""
        return self._names is not None

    @cached_property
    def undeclared(self) -> str:
        """The text for a connection to SQLite on which values of declared types are converted."""
        return plain_cursors.undeclared(self.text, len(self._names or ()))

    def parameters(self, values: Values) -> Values:
        """The parameters as the driver takes them."""
        if not self._literals and not self._encoders:
            return values
        parameters = {**self._literals, **values}
        for name, encode in self._encoders:
            if name in values:
                value = values[name]
                parameters[name] = None if value is None else encode(value)
        return parameters

    def rows(self, found: Sequence[tuple[Any, ...]], description: Sequence[Any]) -> list[Row]:
        """The rows that the driver has returned, with its description of the columns."""
        made = self._row_type
        if made is None:
            made = self._row_type = row_type(self._names or tuple(column[0] for column in description))
        if not self._decoders or not found:
            return [made(row) for row in found]
        columns: list[Iterable[Any]] = list(zip(*found, strict=True))
        for index, decode in self._decoders:
            columns[index] = [None if cell is None else decode(cell) for cell in columns[index]]
        return [made(cells) for cells in zip(*columns, strict=True)]


def row_type(names: tuple[str, ...]) -> type[Row]:
    """The type of rows with these columns."""
    by_name = {name: property(itemgetter(index)) for index, name in enumerate(names)}
    return type("Row", (Row,), {**by_name, "__slots__": (), "_fields": names})


@lru_cache(maxsize=512)
def compiled(statement: Statement, database: str, schema: str | None = None) -> Compiled:
    """The statement for this database, and on PostgreSQL for the schema that holds our tables.

    Build a statement of Core once, since it is compiled for each object.
    """
    source = _source(statement, database)
    keeps_plan = isinstance(statement, Prepared) and statement.name in _KEEP_THEIR_PLANS
    return Compiled(source._replace(text=qualified(source.text, schema)), database, keeps_plan=keeps_plan)


def _source(statement: Statement, database: str) -> Source:
    if isinstance(statement, str):
        return Source(statement, {}, {}, None)
    if isinstance(statement, Prepared):
        ahead = import_module(f"jobrunner.store.sql.compiled.{database}").STATEMENTS.get(statement)
        if ahead is not None:
            return Source(*ahead)
    compiler = import_module("jobrunner.store.sql.compiler")
    found: Source = compiler.source(core(statement), database)
    return found


def core(statement: Prepared | Executable) -> Executable:
    """The statement as SQLAlchemy Core has it."""
    return _built(statement) if isinstance(statement, Prepared) else statement


@lru_cache(maxsize=512)
def _built(statement: Prepared) -> Executable:
    module, _, function = statement.name.partition(".")
    found = import_module("jobrunner.store.statements").modules()[module]
    built: Executable = getattr(import_module(found), function)(*statement.arguments)
    return built
