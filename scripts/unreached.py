"""What is never reached in jobrunner/: functions, methods, classes, constants, fields, statements. `make lint` runs it.

vulture finds names that no code uses. Much of ours is used by its name alone: statements, commands, what templates and
pages read, what a library calls. Those names are collected here. Tests are no users: what only a test uses is dead,
but for what is public. Exits with 1 if something is found.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vulture import Vulture  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "jobrunner"
STATEMENTS = PACKAGE / "store" / "statements"
USERS = ("jobrunner", "alembic", "scripts", "bench", "proof", "examples")
CALLED_BY = {
    "scripts/statements.py": ("VARIANTS", "ONLY_ON"),
    "Python": ("__dir__", "__getattr__", "__call__", "writable", "whitespace_split", "redirect_request"),
    "click": ("format_commands",),
    "SQLAlchemy": (
        *("impl", "cache_ok", "inherit_cache", "process_bind_param", "process_result_value"),
        *("load_dialect_impl", "render_bind_cast", "create_function", "self_group"),
    ),
    "psycopg": ("prepare_threshold",),
    "Alembic": ("revision", "down_revision", "upgrade", "downgrade"),
    "uvicorn": ("main_loop", "should_exit"),
    "Jinja2": ("filters",),
    "the client of an agent": ("next_step",),
    "Django": (
        *("JobrunnerConfig", "verbose_name", "supports_defer", "supports_async_task", "supports_get_result"),
        *("supports_priority", "get_result", "requires_system_checks", "run_from_argv", "add_arguments"),
    ),
    "lru_cache, as a part of the key": ("changed_at",),
}
"""Names that others call or read."""
REGISTERED = ["@compiles*", "@jobrunner.around_run", "@*.command*"]
"""Decorators that keep what they decorate."""


@dataclass
class Module:
    """A file, and what is read in it: names with the statement of the module that reads them, `x.y` and strings."""

    path: Path
    tree: ast.Module
    names: set[tuple[str, ast.stmt]] = field(default_factory=set)
    dotted: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for statement in self.tree.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    self.names.add((node.id, statement))
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    self.dotted.add(f"{node.value.id}.{node.attr}")
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    self.texts.add(node.value)
                elif isinstance(node, ast.ImportFrom):
                    module = (node.module or "").rpartition(".")[2]
                    self.dotted |= {f"{module}.{alias.name}" for alias in node.names}

    def defined(self) -> Iterator[tuple[str, ast.stmt]]:
        """Its functions, classes and constants."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    yield from ((each.id, node) for each in ast.walk(target) if isinstance(each, ast.Name))

    def at(self, node: ast.stmt) -> str:
        """The place of a statement."""
        return f"{self.path.relative_to(ROOT)}:{node.lineno}"


def modules() -> Iterator[Module]:
    """Each file of our own that is a user. What is compiled ahead is written by a program."""
    for folder in USERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name != "compiled":
                yield Module(path, ast.parse(path.read_text()))


def names_in_texts(texts: set[str]) -> Iterator[str]:
    """Names that stand for themselves in strings, and those in quoted types, as in `"int | None"`, and in columns."""
    for text in texts:
        if text.isidentifier():
            yield text
        elif re.search("[|=]", text) and re.fullmatch(r"[\w.\[\], |=]+", text):
            yield from re.findall(r"\w+", text)


def names_in_pages() -> Iterator[str]:
    """What templates read, what the documentation calls, and the fields that programs read as JSON: that is public."""
    pages = [*(PACKAGE / "web" / "templates").rglob("*"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    for page in pages:
        if page.is_file() and page.parent.name != "adr":
            yield from re.findall(r"(?:\.|import )(\w+)", page.read_text())
    for schema in (ROOT / "docs" / "reference" / "schemas").rglob("*.json"):
        yield from re.findall(r'"(\w+)": \{', schema.read_text())


def unused_names(files: list[Module], texts: set[str]) -> Iterator[str]:
    """What vulture finds in the package, without the statements, which are known by module and name."""
    found = Vulture(ignore_names=[name for names in CALLED_BY.values() for name in names], ignore_decorators=REGISTERED)
    found.scavenge([each.path for each in files])
    found.used_names |= {*names_in_texts(texts), *names_in_pages()}
    for item in found.get_unused_code(min_confidence=60):
        is_statement = STATEMENTS in item.filename.parents and item.typ == "function"
        if PACKAGE in item.filename.parents and not is_statement:
            yield f"{item.filename.relative_to(ROOT)}:{item.first_lineno}: unused {item.typ} {item.name}"


def unused_private_names(files: list[Module]) -> Iterator[str]:
    """Private names that their own module does not read: another module may have one of the same name."""
    for file in files:
        readers = Counter(name for name, _ in file.names)
        for name, node in file.defined() if PACKAGE in file.path.parents else ():
            is_kept = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.decorator_list
            is_read = readers[name] > ((name, node) in file.names)
            if re.match("_[^_]", name) and not is_kept and not is_read:
                yield f"{file.at(node)}: unused private name {name}"


def unused_statements(files: list[Module], texts: set[str]) -> Iterator[str]:
    """Functions of `store/statements` that neither a `Prepared("module.function")` nor another statement names."""
    ours = [file for file in files if STATEMENTS in file.path.parents and file.path.stem != "__init__"]
    used = {*texts, *(name for file in files for name in file.dotted)}
    for file in ours:
        used |= {f"{file.path.stem}.{name}" for name, node in file.names if getattr(node, "name", "") != name}
    for file in ours:
        functions = {name: node for name, node in file.defined() if isinstance(node, ast.FunctionDef)}
        for name, node in functions.items():
            if f"{file.path.stem}.{name}" not in used:
                yield f"{file.at(node)}: unused statement {file.path.stem}.{name}"
        for name, table in file.defined():
            if name in ("VARIANTS", "ONLY_ON"):
                yield from (f"{file.at(table)}: {name} of no statement: {key}" for key in keys_of(table) - {*functions})


def keys_of(table: ast.stmt) -> set[str]:
    """The keys of a dictionary that is written out."""
    dicts = [node for node in ast.walk(table) if isinstance(node, ast.Dict)][:1]
    return {str(key.value) for each in dicts for key in each.keys if isinstance(key, ast.Constant)}


def main() -> int:
    """Print what is found, one line each."""
    files = list(modules())
    texts = {text for file in files for text in file.texts}
    found = [*unused_names(files, texts), *unused_private_names(files), *unused_statements(files, texts)]
    for line in sorted(set(found)):
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
