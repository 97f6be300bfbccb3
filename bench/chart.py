"""The chart of the drains, as SVG that follows the reader's light or dark mode."""

from typing import NamedTuple
from xml.sax.saxutils import escape

from published import Results
from sizes import BOTH

_WIDTH, _LABELS, _ROW, _TOP = 760, 210, 34, 62
_LONGEST = _WIDTH - _LABELS - 80
_STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600 } .small { font-size: 11px; fill: #59636e }
    .best { fill: #8c959f } .default { fill: #d1d9e0 } .ours.best { fill: #0969da } .ours.default { fill: #80ccff }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc } .small { fill: #9198a1 }
      .best { fill: #767e88 } .default { fill: #3d444d } .ours.best { fill: #4493f8 } .ours.default { fill: #1f4e8c }
    }
"""


class _Bar(NamedTuple):
    name: str
    default: float
    best: float
    is_ours: bool


def chart(results: Results) -> str:
    """Bars of runs a second, at default settings and at the best, the quickest first."""
    bars = sorted(_bars(results), key=lambda bar: -bar.best)
    scale = _LONGEST / max((max(bar.best, bar.default) for bar in bars), default=1)
    height = _TOP + _ROW * len(bars) + 10
    title = f"{results.size('runs'):,} runs that do nothing, start to exit: runs a second"
    rows = "".join(_row(bar, _TOP + _ROW * number, scale) for number, bar in enumerate(bars))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">\n'
        f"  <title>{title}</title>\n  <style>{_STYLE}  </style>\n"
        f'  <text x="10" y="22" class="title">{title}</text>\n'
        f'  <text x="10" y="42" class="small">thick: at the best settings that we found; thin: at default settings;'
        " jobrunner runs them in child processes</text>\n"
        f"{rows}</svg>\n"
    )


def _bars(results: Results) -> list[_Bar]:
    bars = []
    for database in BOTH:
        default, best = results.median(f"drain, default settings, {database}"), results.best(database)
        if default and best:
            bars.append(_Bar(f"jobrunner, {database}", default, best[0], is_ours=True))
    for name, about in results.peers().items():
        both = [results.median(f"drain: {name}, {settings} settings") for settings in ("default", "best")]
        if all(both):
            bars.append(_Bar(f"{name}, {about['database']}", both[0] or 0, both[1] or 0, is_ours=False))
    return bars


def _row(bar: _Bar, y: int, scale: float) -> str:
    ours = "ours " if bar.is_ours else ""
    best, default = (max(1.0, value * scale) for value in (bar.best, bar.default))
    return (
        f'  <text x="{_LABELS - 10}" y="{y + 16}" text-anchor="end">{escape(bar.name)}</text>\n'
        f'  <rect class="{ours}best" x="{_LABELS}" y="{y + 4}" width="{best:.1f}" height="14"/>\n'
        f'  <rect class="{ours}default" x="{_LABELS}" y="{y + 19}" width="{default:.1f}" height="6"/>\n'
        f'  <text x="{_LABELS + max(best, default) + 6:.1f}" y="{y + 16}">{bar.best:,.0f}</text>\n'
    )
