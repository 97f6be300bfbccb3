"""How figures are written: with two significant digits, in cells of a Markdown table; what is missing is empty."""

from collections.abc import Callable, Iterable

from published import Results


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(titles), *map(tuple, rows)]
    lines.insert(1, tuple("---" for _ in lines[0]))
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in line)}|\n" for line in lines)


def short(value: float) -> str:
    """With two significant digits, and never as a power of ten."""
    return f"{float(f'{value:.2g}'):g}"


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{float(f'{value:.2g}'):,.0f}" if value >= 10 else f"{value:.1f}"


def rate(value: float | None) -> str:
    return f"{number(value)}/s" if value else ""


def seconds(value: float | None) -> str:
    return f"{value:.2f} s" if value else ""


def milliseconds(value: float | None) -> str:
    return f"{short(value)} ms" if value else ""


def microseconds(value: float | None) -> str:
    return f"{value:.0f} µs" if value else ""


def joined(rates: Iterable[str]) -> str:
    each = list(rates)
    return " / ".join(rate or "–" for rate in each) if any(each) else ""


def timed(results: Results, name: str, say: Callable[[float | None], str] = seconds, baseline: str = "") -> str:
    """A line's median, and its ratio to its baseline."""
    ratio = results.ratio(name, baseline)
    return say(results.median(name)) + ("" if ratio is None else f", {short(ratio)} ×")
