"""Changes of a function for `make mutants`, named by what they change: they hold however the code is formatted.

``Swap("run.attempts >= run.max_attempts", "run.attempts > run.max_attempts")`` replaces one expression or statement.
``Drop(".with_for_update")`` takes a call out of a chain, and ``Drop(".order_by(x)")`` the one with these arguments;
``Drop("skip_locked=True")`` an argument, an operand of `and` and `or`, or a statement. What is changed must occur once
in its function.
"""

import ast
import textwrap
from dataclasses import dataclass
from typing import Any


class NotThere(Exception):
    """There is no such function, or what is to be changed does not occur exactly once in it."""


@dataclass(frozen=True)
class Swap:
    """``old`` becomes ``new``: both an expression, or both statements."""

    old: str
    new: str


@dataclass(frozen=True)
class Drop:
    """Takes this out: a method of a chain (with its dot, perhaps with arguments), an argument, operand or statement."""

    what: str


Change = Swap | Drop


def changed(source: str, place: str, changes: tuple[Change, ...]) -> str:
    """The module with its changes. ``place`` is a function, as `Class.method`, or a constant of the module."""
    tree = ast.parse(source)
    scope = _find(tree, place)
    for change in changes:
        worker = _Swapping(change) if isinstance(change, Swap) else _Dropping(change)
        worker.visit(scope)
        if worker.count != 1:
            raise NotThere(f"{worker.what!r} occurs {worker.count} times in {place}")
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def as_written(source: str) -> str:
    """The module in the form of ``changed``."""
    return ast.unparse(ast.parse(source)) + "\n"


def _find(tree: ast.Module, place: str) -> ast.AST:
    scope: ast.AST = tree
    for name in place.split("."):
        for node in ast.walk(scope):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
                scope = node
                break
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(each, ast.Name) and each.id == name for each in targets) and scope is tree:
                    scope = node
                    break
        else:
            raise NotThere(f"there is no {place}")
    return scope


def _parsed(text: str) -> ast.expr | ast.stmt:
    (statement,) = ast.parse(textwrap.dedent(text)).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def _arguments(text: str) -> list[ast.expr | ast.keyword]:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    return [*call.args, *call.keywords]


class _Changing(ast.NodeTransformer):
    """Counts how often it has changed something."""

    count = 0
    what = ""

    def done(self, node: Any) -> Any:
        """One change."""
        self.count += 1
        return node


class _Swapping(_Changing):
    def __init__(self, change: Swap) -> None:
        self.what = change.old
        self._old, self._new = ast.dump(_parsed(change.old)), change.new

    def visit(self, node: ast.AST) -> Any:
        return self.done(_parsed(self._new)) if ast.dump(node) == self._old else self.generic_visit(node)


class _Dropping(_Changing):
    def __init__(self, change: Drop) -> None:
        self.what = change.what
        self._method, is_called, _ = change.what[1:].partition("(") if change.what.startswith(".") else (None, "", "")
        self._arguments = [ast.dump(each) for each in _arguments(f"f{change.what}")] if is_called else None
        self._wanted: set[str] = set()
        if self._method is None:
            self._wanted.add(ast.dump(_parsed(change.what)))
            try:
                self._wanted |= {ast.dump(each) for each in _arguments(f"f({change.what})")}
            except SyntaxError:
                return

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt) and self._is_wanted(node.value if isinstance(node, ast.Expr) else node):
            return self.done(ast.Pass())
        self.generic_visit(node)
        if isinstance(node, ast.Call):
            return self._without_argument(node)
        if isinstance(node, ast.BoolOp):
            node.values = self._without(node.values)
            return node.values[0] if len(node.values) == 1 else node
        return node

    def _without_argument(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute) and node.func.attr == self._method and self._fits(node):
            value: ast.expr = self.done(node.func.value)
            return value
        node.args, node.keywords = self._without(node.args), self._without(node.keywords)
        return node

    def _fits(self, node: ast.Call) -> bool:
        return self._arguments is None or self._arguments == [ast.dump(each) for each in (*node.args, *node.keywords)]

    def _is_wanted(self, node: ast.AST) -> bool:
        return ast.dump(node) in self._wanted

    def _without(self, nodes: list[Any]) -> list[Any]:
        left = [each for each in nodes if not self._is_wanted(each)]
        self.count += len(nodes) - len(left)
        return left
