"""jobrunner exports every error and every type that the signature or the docstring of an export names."""

import builtins
import collections.abc
import contextlib
import datetime as dt
import inspect
import os
import re
import typing
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

import jobrunner
from jobrunner import errors

_LIBRARY = (builtins, collections.abc, contextlib, dt, os, typing)
_ELSEWHERE = {name for module in _LIBRARY for name in dir(module)}
_INSIDE = {"Policy", "Declaration", "Exceptions"}
"""What only the fields of a ``Job`` name, which nobody makes."""
_ERRORS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, Exception)}


def functions(value: Any) -> Iterator[FunctionType]:
    """The function, or the methods and properties that people may call, each with its overloads."""
    members = [value] if not isinstance(value, type) else [
        each for name, each in vars(value).items() if not name.startswith("_") or name in ("__init__", "__call__")
    ]  # fmt: skip
    for member in members:
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function):
            yield from (*typing.get_overloads(function), function)


def named_in(value: Any) -> set[str]:
    """The types in its signatures, and the errors in its docstrings."""
    found, described = set(), [inspect.getdoc(value) or ""]
    for function in functions(value):
        signature = inspect.signature(function)
        annotations = [*(each.annotation for each in signature.parameters.values()), signature.return_annotation]
        for annotation in annotations:
            # What stands in quotes is a word, as in Literal["raise"].
            text = re.sub(r"(['\"]).*?\1", "", annotation) if isinstance(annotation, str) else ""
            found |= set(re.findall(r"(?<![.\w])[A-Z]\w+", text))
        described.append(inspect.getdoc(function) or "")
    return (found - _ELSEWHERE - _INSIDE) | {word for text in described for word in re.findall(r"\w+", text)} & _ERRORS


@pytest.mark.parametrize("name", jobrunner.__all__)
def test_every_type_and_error_that_an_export_names_is_exported(name: str) -> None:
    assert named_in(getattr(jobrunner, name)) - set(jobrunner.__all__) == set()


def test_the_search_finds_what_signatures_and_docstrings_name() -> None:
    assert {"JobOptions", "ConfigurationError", "Register", "Job"} <= named_in(jobrunner.job)
    assert {"Duration", "Backoff"} <= named_in(jobrunner.exponential)
    assert {"UsageError", "After", "Group"} <= named_in(jobrunner.group)


def test_dir_shows_all_exports() -> None:
    assert set(jobrunner.__all__) <= set(dir(jobrunner))
    assert sorted(jobrunner.__all__) == jobrunner.__all__


def test_no_two_exports_are_one_thing() -> None:
    values = [getattr(jobrunner, name) for name in jobrunner.__all__]
    assert len({id(value) for value in values}) == len(values)
