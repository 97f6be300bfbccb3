"""The table of bad inputs, typed, piped or set, and the refusal of each."""

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Stands for the folder of `make_files` in the table.
HERE = "<here>"

SQL = "'; DROP TABLE job_runs; --"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\r\n\x9b31m\u202e"
NOT_UTF8 = "\udcff"
# The bytes of a lone surrogate, as an argument brings them.
SURROGATE = "\udced\udca0\udc80"


@dataclass(frozen=True)
class Bad:
    """One command line, what it must say in its one line, and its exit code."""

    words: tuple[str, ...]
    says: str
    code: int = 2
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)

    def placed(self, folder: Path) -> "Bad":
        """The same with the test's own folder in it."""
        words = tuple(word.replace(HERE, str(folder)) for word in self.words)
        env = {name: value.replace(HERE, str(folder)) for name, value in self.env.items()}
        return Bad(words, self.says.replace(HERE, str(folder)), self.code, self.stdin, env)


Section = dict[str, Bad]


def make_files(folder: Path) -> None:
    """What `<here>` holds: files and things that are none."""
    folder.mkdir()
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        # By its short name: the whole path may be longer than a socket's may be.
        place = os.open(folder, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{place}/socket")
        os.close(place)
    (folder / "empty").touch()
    (folder / "latin1").write_bytes('{"a": "é"}'.encode("latin-1"))
    (folder / "bom").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    (folder / "half").write_text('{"a": ')
    (folder / "large").write_text(json.dumps({"a": "x" * 300_000}))
    (folder / "loop").symlink_to("loop")


def enqueue(*words: str) -> tuple[str, ...]:
    return ("enqueue", "echo", *words)


def schedule(*words: str) -> tuple[str, ...]:
    """A schedule that is right but for the given options: the last one of a name counts."""
    return ("schedule", "add", "n", "--type", "echo", "--schedule", "@daily", *words)


PAYLOADS = {
    "empty": ("", "not JSON"),
    "blank": (" \n", "not JSON"),
    "a word": ("hello", "not JSON"),
    "half": ('{"a": ', "not JSON"),
    "more than one": ("{}{}", "not JSON"),
    "single quotes": ("{'a': 1}", "not JSON"),
    "a comma too many": ('{"a": 1,}', "not JSON"),
    "array": ("[1]", "must be a JSON object, not an array"),
    "text": ('"a"', "not a string"),
    "number": ("1", "not a number"),
    "true": ("true", "not true or false"),
    "null": ("null", "not null"),
    "NUL": ('{"a": "x\\u0000"}', "NUL"),
    "NUL in a key": ('{"x\\u0000": 1}', "NUL"),
    "NUL, deep": ('{"a": [{"b": ["\\u0000"]}]}', "NUL"),
    "NaN": ('{"a": NaN}', "NaN"),
    "Infinity": ('{"a": Infinity}', "Infinity"),
    "-Infinity": ('{"a": [-Infinity]}', "-Infinity"),
    "1e400": ('{"a": 1e400}', "inf"),
    "-1e400": ('{"a": [{"b": -1e400}]}', "inf"),
    "5000 digits": ('{"a": ' + "9" * 5000 + "}", "too many digits"),
    "lone surrogate": ('{"a": "\\ud800"}', "surrogate"),
    "lone surrogate in a key": ('{"\\udfff": 1}', "surrogate"),
    "surrogates the wrong way round": ('{"a": "\\udc00\\ud83d"}', "surrogate"),
    "lone surrogate, raw": (f'{{"a": "{SURROGATE}"}}', "surrogate"),
    "not UTF-8": (f'{{"a": "{NOT_UTF8}"}}', "surrogate"),
    "a control character, raw": (f'{{"a": "{ESCAPES}"}}', "not JSON"),
    "10 000 levels of arrays": ('{"a": ' + "[" * 10_000 + "]" * 10_000 + "}", "deeper"),
    "10 000 levels of objects": ('{"a": ' * 10_000 + "1" + "}" * 10_000, "deeper"),
    "65 levels": ('{"a": ' * 65 + "1" + "}" * 65, "deeper"),
    "a key twice": ('{"a": 1, "a": 2}', "twice"),
    "a key twice, deep": ('{"a": [{"b": 1, "b": 1}]}', "twice"),
    "an escaped key twice": ('{"a": 1, "\\u0061": 2}', "twice"),
    "a key of escapes twice": ('{"\\u001b[2J\\n": 1, "\\u001b[2J\\n": 2}', "twice"),
}

SOURCES = {
    "@ alone": ("@", "names no file"),
    "missing file": (f"@{HERE}/none", "No such file"),
    "missing file of escapes": (f"@{HERE}/{ESCAPES}", "No such file"),
    "FIFO": (f"@{HERE}/fifo", "not a regular file"),
    "socket": (f"@{HERE}/socket", "not a regular file"),
    "folder": (f"@{HERE}", "not a regular file"),
    "device": ("@/dev/zero", "not a regular file"),
    "terminal": ("@/dev/tty", "not a regular file"),
    "unreadable file": ("@/proc/self/mem", "Input/output error"),
    "a file taken for a folder": (f"@{HERE}/half/x", "Not a directory"),
    "a name too long": (f"@{HERE}/{'x' * 5000}", "File name too long"),
    "a link to itself": (f"@{HERE}/loop", "symbolic link"),
    "empty file": (f"@{HERE}/empty", "not JSON"),
    "half a file": (f"@{HERE}/half", "not JSON"),
    "file in Latin-1": (f"@{HERE}/latin1", "not UTF-8"),
    "file with a byte order mark": (f"@{HERE}/bom", "not JSON"),
    "file over the limit": (f"@{HERE}/large", "larger than 262144 bytes"),
}

STDIN = {
    "nothing": (b"", "not JSON"),
    "not UTF-8": (b'{"a": "\xff"}', "not UTF-8"),
    "a surrogate's bytes": (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
    "NUL": (b'{"a": "\x00"}', "not JSON"),
    "over the limit": (b'{"a": "' + b"x" * 300_000 + b'"}', "larger than 262144 bytes"),
    "over the limit and not UTF-8": (b'{"a": "' + b"\xff" * 300_000, "larger than 262144 bytes"),
    "two lines of JSON": (b'{"a": 1}\n{"a": 2}\n', "not JSON"),
}

LIMIT = {"JOBRUNNER_PAYLOAD_LIMIT": "20"}


def payload_rows() -> Section:
    rows = {name: Bad(enqueue("--payload", text), says) for name, (text, says) in PAYLOADS.items()}
    rows["over the limit"] = Bad(enqueue("--payload", '{"a": "xxxxxxxxxxxx"}'), "larger than 20 bytes", env=LIMIT)
    rows["over the limit in bytes"] = Bad(enqueue("--payload", '{"a": "ééééééé"}'), "larger than 20 bytes", env=LIMIT)
    return rows


def source_rows() -> Section:
    rows = {name: Bad(enqueue("--payload", text), says) for name, (text, says) in SOURCES.items()}
    rows |= {f"stdin: {name}": Bad(enqueue("--payload", "-"), says, stdin=data) for name, (data, says) in STDIN.items()}
    for name in ("a word", "array", "NUL", "1e400", "lone surrogate", "10 000 levels of arrays", "a key twice"):
        text, says = PAYLOADS[name]
        rows[f"schedule: {name}"] = Bad(schedule("--payload", text), says)
    for name in ("FIFO", "folder", "missing file", "file over the limit"):
        text, says = SOURCES[name]
        rows[f"schedule: {name}"] = Bad(schedule("--payload", text), says)
    return rows


IDS = ["abc", "-1", "0", "1.5", "+1", "1_0", "٣", "9" * 20, str(2**63), f"0{2**63 - 1}", "", SQL, ESCAPES]
ID_COMMANDS: dict[str, tuple[str, ...]] = {
    "retry": ("retry",),
    "cancel": ("cancel",),
    "discard": ("discard", "--reason", "x"),
    "reschedule": ("reschedule", "--run-at", "+1m"),
    "priority": ("priority", "1"),
    "show": ("show",),
}


def id_rows() -> Section:
    rows = {}
    for command, words in ID_COMMANDS.items():
        for text in IDS:
            rows[f"{command} {text!r}"] = Bad((*words, "--", text), "whole number")
        rows[f"{command} -1, bare"] = Bad((*words, "-1"), "-1")
        rows[f"{command} nothing"] = Bad(words, "JOB_ID")
        rows[f"{command} what is not there"] = Bad((*words, "4711"), "no run 4711", code=1)
        rows[f"{command} the largest id"] = Bad((*words, str(2**63 - 1)), f"no run {2**63 - 1}", code=1)
    # One that is no id spoils the whole request: nothing is done by halves.
    rows["retry one and none"] = Bad(("retry", "1", "abc"), "whole number")
    rows["discard without a reason"] = Bad(("discard", "1"), "--reason")
    rows["discard with an empty reason"] = Bad(("discard", "1", "--reason", " \n"), "--reason")
    return rows


TYPES = [
    "",
    " ",
    "two words",
    "a\nb",
    "../../etc/passwd",
    "-x",
    "x" * 201,
    "Zoë",
    NOT_UTF8,
    ESCAPES,
    SQL,
    "a;b",
    "$(x)",
]


def type_rows() -> Section:
    rows = {"unknown": Bad(("enqueue", "nope"), "'nope'")}
    for text in TYPES:
        name = text[:20].encode("unicode_escape", "replace").decode()
        rows[f"enqueue {name}"] = Bad(("enqueue", "--allow-unknown", "--", text), "cannot be a job type")
        rows[f"schedule {name}"] = Bad(schedule("--type", text), "cannot be a job type")
        rows[f"tick {name}"] = Bad(("tick", f"--type={text}"), "cannot be a job type")
    rows["tick, an unknown type"] = Bad(("tick", "--type", "nope"), "'nope'")
    return rows
