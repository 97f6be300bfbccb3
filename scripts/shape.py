"""The shape of the code as a picture and figures: rooms, layers, circles, sizes. Beauty is judged by reading."""

import ast
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "jobrunner"
LONGEST_FILE, MOST_FLAT, MOST_LAYERS, MOST_ARGUMENTS, MOST_HOPS = 300, 14, 10, 5, 15


def modules(folder: Path) -> dict[str, Path]:
    """Dotted names, as they are imported, to files."""
    found = {}
    # What is compiled ahead is written by a program.
    for path in sorted(path for path in folder.rglob("*.py") if path.parent.name != "compiled"):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """What a file imports of ours, for types only included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in known or node.module in known:
                    yield full if full in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)


def circles(known: dict[str, Path]) -> list[list[str]]:
    """Each circle of imports that there is, once."""
    arrows = {name: set(imports(path, known)) - {name} for name, path in known.items()}
    found: list[list[str]] = []
    state: dict[str, int] = {}

    def visit(name: str, way: list[str]) -> None:
        state[name] = 1
        for other in sorted(arrows[name]):
            if state.get(other) == 1:
                found.append([*way[way.index(other) :], other])
            elif other not in state:
                visit(other, [*way, other])
        state[name] = 2

    for name in known:
        # The package itself names the public names for type checkers only.
        if name not in state and name != "jobrunner":
            visit(name, [name])
    return [circle for circle in found if "jobrunner" not in circle]


def constructors(known: dict[str, Path]) -> list[tuple[int, str]]:
    """How many arguments each written constructor takes, the most first."""
    found = [
        (len(each.args.args) - 1 + len(each.args.kwonlyargs), f"{name}.{node.name}")
        for name, path in known.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and each.name == "__init__"
    ]
    return sorted(found, reverse=True)


def layers() -> dict[str, int]:
    """How many layers each contract about the direction of imports has."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {each["containers"][0]: len(each["layers"]) for each in contracts if each["type"] == "layers"}


def pool_methods() -> list[str]:
    """The public methods of the pool protocol."""
    tree = ast.parse((PACKAGE / "worker/pools/pool.py").read_text())
    (pool,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Pool")
    return [each.name for each in pool.body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]


def hops() -> list[str]:
    """The rows of the table in docs/explanation/architecture.md that says which way a run goes."""
    return re.findall(r"^\| *\d+ *\| *`([^`]+)`", (ROOT / "docs/explanation/architecture.md").read_text(), re.MULTILINE)


def bench_modules() -> dict[str, Path]:
    """The benchmarks' own modules, which import each other by their bare names."""
    folder = ROOT / "bench"
    return {".".join(path.relative_to(folder).with_suffix("").parts): path for path in sorted(folder.rglob("*.py"))}


def lengths(known: dict[str, Path]) -> dict[str, int]:
    """Lines of each file."""
    return {name: len(path.read_text().splitlines()) for name, path in known.items()}


_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@cache
def code_lines(path: Path) -> int:
    """Lines without blanks, comments and docstrings, those of fields and constants included."""
    text, lines = path.read_text(encoding="utf-8"), set[int]()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    lines -= {number for number, line in enumerate(text.split("\n"), 1) if not line.strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def code_in(folder: Path, *, compiled: bool = False) -> int:
    """Code lines of a folder: by hand, or those that a program has written."""
    return sum(code_lines(path) for path in folder.rglob("*.py") if (path.parent.name == "compiled") is compiled)


def picture(known: dict[str, Path]) -> Iterator[str]:
    """One line for each room: how many files, how many lines of code, and the longest file as it is."""
    sizes = lengths(known)
    rooms: dict[str, list[str]] = {}
    for name, path in known.items():
        parts = name.split(".")
        room = ".".join(parts[1:-1]) if len(parts) > 2 or path.name != "__init__.py" else ".".join(parts[1:])
        rooms.setdefault(room, []).append(name)
    for room, names in sorted(rooms.items()):
        longest = max(names, key=sizes.__getitem__)
        code = sum(code_lines(known[name]) for name in names)
        bar = "#" * round(code / 100)
        yield f"  {room or '(flat)':22} {len(names):3} files {code:6} of code, at most {sizes[longest]:3} lines  {bar}"


def main() -> None:
    """Print all of it."""
    known = modules(PACKAGE)
    sizes = sorted(lengths(known).values())
    flat = [name for name in known if name.count(".") == 1 and known[name].name != "__init__.py"]
    tested = [
        path for path in (ROOT / "tests").rglob("*.py") if re.search(r"^from test_", path.read_text(), re.MULTILINE)
    ]
    print("rooms")
    print("\n".join(picture(known)))
    print("rooms of the tests")
    print("\n".join(picture(modules(ROOT / "tests"))))
    print("figures")
    for what, value, most in (
        ("modules lying flat", len(flat) + 1, MOST_FLAT),
        ("files above 300 lines", sum(size > LONGEST_FILE for size in sizes), 0),
        ("median lines of a file", sizes[len(sizes) // 2], 100),
        ("methods of the pool protocol", len(pool_methods()), 5),
        ("arguments of a constructor", constructors(known)[0][0], MOST_ARGUMENTS),
        ("hops of a run", len(hops()), MOST_HOPS),
        ("circles, types included", len(circles(known)) + len(circles(bench_modules())), 0),
        ("test files that import a test file", len(tested), 0),
        *((f"layers in {name}", count, MOST_LAYERS) for name, count in layers().items()),
    ):
        print(f"  {what:36} {value:4}   at most {most}{'' if value <= most else '   <--'}")
    print("lines of code: without blanks, comments and docstrings")
    for what, code in (
        ("jobrunner/, by hand", code_in(PACKAGE)),
        ("jobrunner/, compiled", code_in(PACKAGE, compiled=True)),
        ("tests/", code_in(ROOT / "tests")),
        ("scripts/, bench/ and examples/", sum(code_in(ROOT / each) for each in ("scripts", "bench", "examples"))),
    ):
        print(f"  {what:36} {code:5}")


if __name__ == "__main__":
    sys.exit(main())
