"""Write docs/reference/api.md, the reference of what an application imports, from the docstrings: `make docs`."""

from __future__ import annotations

import ast
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import jobrunner
from jobrunner import ask, testing
from jobrunner.durations import format_duration

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
TEST = "tests/project/test_api_page.py::test_reference_of_the_api_is_up_to_date"

_GROUPS = {
    "Decorators and schedules": (
        *("job", "JobOptions", "Job", "Schedule", "exponential", "fixed", "waits", "polynomial"),
        *("around_run", "before_run", "after_run"),
    ),
    "Enqueue": (
        *(
            "enqueue",
            "enqueue_many",
            "enqueue_async",
            "enqueue_many_async",
            "JobWithOptions",
            "Entry",
            "HandlerEntry",
            "Enqueued",
        ),
        *("RunOptions", "EntryOptions", "ManyOptions"),
        *("group", "Group"),
    ),
    "The context, and how a handler ends": ("Context", "Retry", "Discard", "Snooze", "HandlerStopped"),
    "Effects": ("Effect", "NotApplied", "UncertainEffect", "EffectInProgress", "write_file", "post_webhook"),
    "Set up": ("migrate",),
}
_ERRORS, _OTHERS = "Errors", "Types that signatures name"
_MODULES: dict[str, ModuleType] = {"Ask": ask, "Testing": testing}
# What the decorator and its methods return, where it is not exported.
_RETURNED = {
    "Job": "jobrunner.application.job",
    "JobWithOptions": "jobrunner.application.with_options",
    "Group": "jobrunner.application.grouping",
    "HandlerEntry": "jobrunner.application.enqueueing",
}

_HEAD = """\
# API reference

<!-- Made by `make docs` from the docstrings of the code. Change those, and not this page. -->

What an application imports from `jobrunner`, and from `jobrunner.ask` to ask; its tests import from
`jobrunner.testing`. How these are used together: [Handlers](handlers.md), [Enqueue](enqueue.md),
[Ask](ask.md), [Schedules](schedules.md), [Effects](../howto/effects.md),
[Tests of your application](../howto/testing.md).

"""


def page() -> str:
    """The whole page."""
    groups = {title: list(_found(title)) for title in [*_GROUPS, _OTHERS, _ERRORS, *_MODULES]}
    groups = {title: found for title, found in groups.items() if found}
    index = "".join(
        f"- **{title}**: {', '.join(f'[`{name}`](#{_anchor(name, each)})' for name, each in found)}\n"
        for title, found in groups.items()
    )
    return _HEAD + index + "".join(f"\n## {title}\n{_sections(found)}" for title, found in groups.items())


def signatures() -> list[str]:
    """What stands in the blocks of the page, in its order."""
    titles = [*_GROUPS, _OTHERS, _ERRORS, *_MODULES]
    return [_signature(name, each) for title in titles for name, each in _found(title)]


def _found(title: str) -> Iterator[tuple[str, Any]]:
    """The names of a group, with what they are. An export that no group names has its place by what it is."""
    if title in _MODULES:
        # What is called comes first.
        names = sorted(_MODULES[title].__all__, key=lambda name: name[0].isupper())
        yield from ((name, getattr(_MODULES[title], name)) for name in names)
    elif title in _GROUPS:
        for name in _GROUPS[title]:
            yield name, getattr(importlib.import_module(_RETURNED.get(name, "jobrunner")), name)
    else:
        grouped = {name for names in _GROUPS.values() for name in names}
        for name in sorted(set(jobrunner.__all__) - grouped):
            value = getattr(jobrunner, name)
            if (isinstance(value, type) and issubclass(value, BaseException)) == (title == _ERRORS):
                yield name, value


def _sections(found: list[tuple[str, Any]]) -> str:
    return "".join("\n" + "\n".join(_section(name, each)) for name, each in found)


def _section(name: str, value: Any) -> Iterator[str]:
    yield from (f"### {_title(name, value)}", "", f"<!-- checked by: {TEST} -->")
    yield f"```python\n{_signature(name, value)}```\n"
    words = _paragraphs(value) if _is_described(value) else [_alias(name)[1].replace("``", "`")]
    yield from (f"{paragraph}\n" for paragraph in words)
    if isinstance(value, type):
        members = [f"- `{shown}`: {' '.join(' '.join(_paragraphs(each)).split())}\n" for shown, each in _shown(value)]
        yield from ["".join(members)] if members else []


def _title(name: str, value: Any) -> str:
    return f"class `{name}`" if isinstance(value, type) else f"`{name}`"


def _anchor(name: str, value: Any) -> str:
    return _title(name, value).replace("`", "").replace(" ", "-").lower()


def _signature(name: str, value: Any) -> str:
    """How it is called: in one line, or with a line for each parameter."""
    if not _is_described(value):
        return f"{name} = {_in_lines(_alias(name)[0], len(name))}\n"
    parameters, returned = _parameters(value)
    head, tail = ("class " if isinstance(value, type) else "") + name, f" -> {returned}" if returned else ""
    if isinstance(value, type) and (name in _RETURNED or not parameters):
        return f"{head}\n"  # nobody calls it
    line = f"{head}({', '.join(parameters)}){tail}\n"
    if len(line) <= 100:
        return line
    return f"{head}(\n" + "".join(f"    {each},\n" for each in parameters) + f"){tail}\n"


def _is_described(value: Any) -> bool:
    """Whether it has a docstring of its own; an alias of a type has none."""
    return isinstance(value, type | property | classmethod | staticmethod) or inspect.isroutine(value)


def _alias(name: str) -> tuple[str, str]:
    """What an exported alias stands for, and the words below it, as its module has both."""
    modules = vars(jobrunner)["_MODULES"]
    module = importlib.import_module(f"jobrunner.{modules[name]}")
    body = ast.parse(inspect.getsource(module)).body
    for statement, following in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                words = following.value if isinstance(following, ast.Expr) else None
                text = words.value if isinstance(words, ast.Constant) and isinstance(words.value, str) else ""
                # A type that is imported for type checkers only stands in a text.
                texts = [each.value for each in ast.walk(value) if _is_text_of_types(each)]
                return " | ".join(texts) or ast.unparse(value).replace("'", '"'), inspect.cleandoc(text)
    raise AssertionError(f"no alias {name} in {module.__name__}")


def _in_lines(types: str, already: int) -> str:
    """As the formatter of the blocks has it."""
    if already + len(types) <= 117:
        return types
    return f"(\n    {types}\n)" if len(types) <= 116 else "(\n    " + types.replace(" | ", "\n    | ") + "\n)"


def _is_text_of_types(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and " | " in node.value


def _parameters(value: Any) -> tuple[list[str], str]:
    if isinstance(value, type) and issubclass(value, BaseException) and not inspect.isfunction(value.__init__):
        return [], ""
    if typing.is_typeddict(value):
        # The annotation of a row holds more than its type.
        rows = value.__annotations__.items()
        return [f"{name}: {_annotation(typing.get_args(hint)[0])}" for name, hint in rows], ""
    overloads = typing.get_overloads(value) if inspect.isfunction(value) else []
    signature = inspect.signature(overloads[-1] if overloads else value)
    shown: list[str] = []
    kinds = inspect.Parameter
    own = [each for each in signature.parameters.values() if each.name != "self" and not each.name.startswith("_")]
    for number, each in enumerate(own):
        is_first_keyword = each.kind is kinds.KEYWORD_ONLY and not any(
            before.kind in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL) for before in own[:number]
        )
        shown += ["*"] if is_first_keyword else []
        shown.append(_parameter(each))
        is_last_positional = each.kind is kinds.POSITIONAL_ONLY and (
            number + 1 == len(own) or own[number + 1].kind is not kinds.POSITIONAL_ONLY
        )
        shown += ["/"] if is_last_positional else []
    returned = "" if isinstance(value, type) else _annotation(signature.return_annotation)
    return shown, returned


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    annotation = _annotation(parameter.annotation)
    typed = f"{stars}{parameter.name}" + (f": {annotation}" if annotation else "")
    if parameter.default is inspect.Parameter.empty:
        return typed
    return f"{typed} = {_default(parameter.default)}" if annotation else f"{typed}={_default(parameter.default)}"


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    if isinstance(annotation, typing.ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(value: object) -> str:
    if isinstance(value, timedelta):
        return f'"{format_duration(value)}"'
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value) if value is None or isinstance(value, bool | int | float) or value == () else "..."


def _paragraphs(value: Any) -> list[str]:
    """The docstring in Markdown, with its first line as a paragraph of its own."""
    if isinstance(value, type) and value.__doc__ and value.__doc__.startswith(f"{value.__name__}("):
        return []  # made by dataclass or NamedTuple
    return (inspect.getdoc(value) or "").replace("``", "`").split("\n\n")


def _shown(value: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties that a class itself has, as they are called."""
    for name, member in vars(value).items():
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if isinstance(member, property):
            assert member.fget is not None
            returned = _annotation(inspect.signature(member.fget).return_annotation)
            yield f"{name}: {returned}", member
        elif inspect.isfunction(member) or isinstance(member, staticmethod | classmethod):
            function: Callable[..., Any] = getattr(value, name)
            yield (
                _signature(name, function).replace("\n    ", " ").replace("( ", "(").replace(",\n)", ")").strip(),
                member,
            )


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"written to {PAGE.relative_to(Path.cwd())}")
