"""What an idle tick needs in place of ``typing``, whose import alone is a fifth of Python's own start.

Type checkers see the real ones. At run time annotations stay texts, and nothing reads them.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NamedTuple
else:

    class _Maker(type):
        """Makes a named tuple of the annotated names of a class, with its defaults, methods and properties."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body.pop(each) for each in fields if each in body]
            # With types it would be that of typing.
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024
            for each in body.keys() - {"__module__", "__qualname__"}:
                setattr(made, each, body[each])
            return made

    class NamedTuple(metaclass=_Maker):
        """The base class of such a record."""


__all__ = ["TYPE_CHECKING", "NamedTuple"]
