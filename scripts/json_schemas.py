"""Write docs/reference/json.md and, beside it, the JSON Schemas of what the commands print: a part of `make docs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jobrunner.cli import schemas
from jobrunner.cli.answers import VERSION, records
from jobrunner.cli.program import every_command

DOCS = Path(__file__).parents[1] / "docs" / "reference"
PAGE = DOCS / "json.md"
SCHEMAS = DOCS / "schemas" / f"v{VERSION}"
RECORDS = dict(records(every_command()))

_HEAD = f"""\
# JSON for programs

<!-- Made by `make docs` from the records that commands print. Change those, and not this page. -->

What a command prints with `--json` is one JSON document, and with `--jsonl` one document on each line. Each has
a JSON Schema, which the tests hold every command to.

- The shapes are of version {VERSION}. Within a version a field keeps its name, its type and its meaning; new
  fields may come, so a program must ignore what it does not know. What breaks a program that reads a field is a new
  version, and the [changelog](../../CHANGELOG.md) says so.
- Instants are texts in ISO 8601, in UTC, ending in `Z`, whatever the time zone of the reader. Durations are
  numbers of seconds.
- Every character outside ASCII is escaped (`\\u00e9`), so that no text of a job can control a terminal.
- A list of runs is continued by `--before` with the value of `next_before`, until that is null.
- If `searched_back_to` is not null, the search ran out of time: it looked at nothing that was enqueued before;
  `errors` looked at nothing that failed before.

| command | schema |
|---|---|
"""


def files() -> dict[Path, str]:
    """What must be in each file."""
    rows = "".join(f"| `jobrunner {name}` | [{_file(name)}](schemas/v{VERSION}/{_file(name)}) |\n" for name in RECORDS)
    texts = {SCHEMAS / _file(name): f"{json.dumps(schema(name), indent=2)}\n" for name in RECORDS}
    return {PAGE: _HEAD + rows, **texts}


def schema(name: str) -> dict[str, Any]:
    """The schema of what a command prints."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"jobrunner {name}, version {VERSION}"}
    return {**head, **schemas.schema(RECORDS[name])}


def _file(name: str) -> str:
    return name.replace(" --jsonl", " line").replace(" --json", "").replace(" ", "-") + ".json"


if __name__ == "__main__":
    wanted = files()
    for old in SCHEMAS.glob("*.json") if SCHEMAS.exists() else ():
        if old not in wanted:
            old.unlink()
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for path, text in wanted.items():
        path.write_text(text)
    print(f"written to {PAGE.relative_to(Path.cwd())} and {SCHEMAS.relative_to(Path.cwd())}")
