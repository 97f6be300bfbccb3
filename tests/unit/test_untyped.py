"""The named tuples of an idle tick: they can do what those of ``typing`` can."""

from __future__ import annotations

from jobrunner.untyped import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 2
    unit: str = "m"

    @property
    def sum(self) -> int:
        return self.x + self.y

    @classmethod
    def origin(cls) -> Point:
        return cls(0, 0)


def test_record_has_the_fields_defaults_and_methods_of_its_class() -> None:
    assert (Point(1), Point._fields, Point._field_defaults) == ((1, 2, "m"), ("x", "y", "unit"), {"y": 2, "unit": "m"})
    assert (Point(1).x, Point(1).sum, Point.origin(), Point(1)._replace(y=5)) == (1, 3, (0, 0, "m"), (1, 5, "m"))
    assert (repr(Point(1)), Point.__doc__) == ("Point(x=1, y=2, unit='m')", "A place.")
