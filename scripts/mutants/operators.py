"""Finds what may be changed in a function: each guard, by a few operators. So a new function needs no row of a table.

operand  takes an operand out of `and`, `or`, `and_`, `or_`
negate   turns a condition round
guard    takes out an `if` whose block leaves: return, raise, continue, break
edge     `>=` becomes `>`, and so on
where    takes a condition out of a statement
lock     takes out FOR UPDATE, or an argument of it, such as SKIP LOCKED
order    takes out ORDER BY
status   another status, event, outcome or phase
call     leaves out a call or a statement that is sent, whose answer nobody reads
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from reach import functions
from sandbox import ROOT

_EDGES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
}
_ENUMERATIONS = {"Status": "lifecycle", "Event": "lifecycle", "Outcome": "lifecycle", "Phase": "worker/phase"}
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TOLD_TO_PEOPLE = {"hit", "debug", "info", "warning", "error", "exception", "log"}
"""Calls that change nothing: points of faults, and lines of the log."""
_LONGEST = 100


class Site(NamedTuple):
    """A place that may be changed. ``name`` is the same until this line is. ``change`` changes its tree."""

    function: str
    operator: str
    name: str
    change: Callable[[], None]


def sites(tree: ast.Module) -> list[Site]:
    """All that may be changed in a module."""
    found = []
    seen: Counter[str] = Counter()
    for function, scope in _scopes(tree):
        for node in ast.walk(scope):
            for operator, text, change in _of(node):
                name = f"{function}: {operator} `{_short(text)}`"
                seen[name] += 1
                if seen[name] > 1:
                    name += f" ({seen[name]})"
                found.append(Site(function, operator, name, change))
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


def changed(source: str, name: str) -> str:
    """The module with the change of this name."""
    tree = ast.parse(source)
    (site,) = (each for each in sites(tree) if each.name == name)
    site.change()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _scopes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions, and the statements that are constants of the module."""
    yield from functions(tree)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


_Change = tuple[str, str, Callable[[], None]]


def _of(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.BoolOp():
            yield from _without_each("operand", node, "values")
        case ast.If() | ast.IfExp() | ast.comprehension():
            yield from _of_condition(node)
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _EDGES:
            yield "edge", ast.unparse(node), _setting(node, "ops", [_EDGES[type(node.ops[0])]()])
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.Await()) if not _is_for_people(node.value):
            yield "call", ast.unparse(node.value), _setting(node, "value", ast.Constant(None))
        case ast.Attribute(value=ast.Name(id=of)) if node.attr in _members(of):
            members = _members(of)
            other = members[(members.index(node.attr) + 1) % len(members)]
            yield "status", ast.unparse(node), _setting(node, "attr", other)
        case ast.Call():
            yield from _of_call(node)


def _of_condition(node: ast.If | ast.IfExp | ast.comprehension) -> Iterator[_Change]:
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield "guard", ast.unparse(condition), _removing(node.ifs, condition)
    elif (text := ast.unparse(node.test)) != "TYPE_CHECKING":
        yield "negate", text, _negating(node)
        if isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES) and not node.orelse:
            yield "guard", text, _setting(node, "test", ast.Constant(False))


def _of_call(node: ast.Call) -> Iterator[_Change]:
    if isinstance(node.func, ast.Name) and node.func.id in ("and_", "or_"):
        yield from _without_each("operand", node, "args")
    if not isinstance(node.func, ast.Attribute):
        return
    is_true = [ast.unparse(each) for each in node.args] == ["true()"]
    match node.func.attr:
        case "where" if len(node.args) > 1:
            yield from _without_each("where", node, "args")
        case "where" if not is_true:
            yield "where", ", ".join(map(ast.unparse, node.args)), _unchaining(node)
        case "order_by":
            yield "order", ", ".join(map(ast.unparse, node.args)), _unchaining(node)
        case "with_for_update":
            yield "lock", "with_for_update", _unchaining(node)
            for keyword in node.keywords:
                yield "lock", ast.unparse(keyword), _removing(node.keywords, keyword)


def _without_each(operator: str, node: Any, field: str) -> Iterator[_Change]:
    for each in getattr(node, field) if len(getattr(node, field)) > 1 else ():
        yield operator, ast.unparse(each), _removing(getattr(node, field), each)


def _is_for_people(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Await) else node
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _TOLD_TO_PEOPLE


def _removing(of: list[Any], what: Any) -> Callable[[], None]:
    # By identity: a list of nodes has no equal ones.
    return lambda: of.__delitem__(next(index for index, each in enumerate(of) if each is what))


def _setting(node: ast.AST, field: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def _negating(node: ast.If | ast.IfExp) -> Callable[[], None]:
    return lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))


def _unchaining(node: ast.Call) -> Callable[[], None]:
    """The node becomes what the method was called of. ``x.where(y)`` is ``x``, written as a call of the identity."""

    def change() -> None:
        assert isinstance(node.func, ast.Attribute)
        node.args, node.keywords = [node.func.value], []
        node.func = ast.parse("(lambda it: it)", mode="eval").body

    return change


@cache
def _members(name: str) -> list[str]:
    """The members of one of our enumerations, in their order."""
    if name not in _ENUMERATIONS:
        return []
    tree = ast.parse((ROOT / "jobrunner" / f"{_ENUMERATIONS[name]}.py").read_text())
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return [node.targets[0].id for node in found.body if isinstance(node, ast.Assign)]
