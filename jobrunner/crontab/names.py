"""Names imported jobs: after the program, then its first argument, then a number. Pure."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile

from jobrunner.crontab.import_records import Job

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?", re.ASCII)
_WORD = re.compile(r"""[^\s|&;<>(){}"'`$]+|&&|\|\||[|&;(){}]""")
_ENDS_A_CALL = frozenset(("&&", "||", "|", "&", ";", "(", ")", "{", "}"))
_BEFORE_A_CALL = frozenset(("if", "then", "elif", "else", "while", "until", "do", "!", "exec"))
# Words inside these would look like programs.
_INSIDE = re.compile(r"'[^']*'|\"[^\"]*\"|\$\([^()]*\)|`[^`]*`")
# Programs that start another program, after which the job is named.
_WRAPPERS = frozenset(
    (
        *("nice", "ionice", "chrt", "env", "sudo", "su", "timeout", "flock", "nohup", "setsid", "time", "chronic"),
        *("systemd-cat", "sh", "bash", "dash", "perl", "python", "python3", "php", "ruby", "node"),
    )
)
# A job is named after one of these only if the line has no other program.
_MINOR = frozenset(
    ("[", "test", "cd", "sleep", "true", "false", ":", "export", "set", "umask", "command", ".", "source", "echo")
)
_LEADS = re.compile(r"[A-Za-z/.]")
_SUFFIX = re.compile(r"\.(sh|bash|py|pl|php|rb|js)$")


def name_jobs(jobs: Sequence[Job], taken: Collection[str] = ()) -> list[Job]:
    """Give each job a name of its own that is not taken."""
    programs = [_program_and_argument(job) for job in jobs]
    names = [program for program, _ in programs]
    often = Counter(names)
    names = [f"{one}_{two}" if often[one] > 1 and two else one for one, two in programs]
    seen = dict.fromkeys(taken, 1)
    wanted = set(names)
    return [replace(job, name=_free(name, seen, wanted)) for job, name in zip(jobs, names, strict=True)]


def _free(name: str, seen: dict[str, int], wanted: set[str]) -> str:
    # ``seen`` has the last number of each name, so that a thousand jobs of one name are not counted again for each.
    free, number = name, seen.get(name, 1)
    while free in seen or (number > 1 and free in wanted):
        number += 1
        free = f"{name}_{number}"
    seen[name] = number
    seen.setdefault(free, 1)
    return free


def _program_and_argument(job: Job) -> tuple[str, str]:
    # A job is named after the value of a variable, not after its name.
    text = _VARIABLE.sub(lambda match: job.env.get(match[1], " "), job.command)
    calls = _calls(_WORD.findall(_INSIDE.sub(" ", text)))
    found = [words for words in map(_without_wrappers, calls) if words and _plain(words[0])]
    words = next((each for each in found if each[0] not in _MINOR), found[0] if found else ["job"])
    arguments = (_plain(word) for word in words[1:] if _LEADS.match(word))
    return _plain(words[0]), next((each for each in arguments if each), "")


def _calls(words: list[str]) -> Iterator[list[str]]:
    call: list[str] = []
    for word in words:
        if word in _ENDS_A_CALL:
            yield call
            call = []
        elif call or word not in _BEFORE_A_CALL:
            call.append(word)
    yield call


def _without_wrappers(words: list[str]) -> list[str]:
    """The words after ``nice -n 10`` and the like."""
    while words and (posixpath.basename(words[0]) in _WRAPPERS or "=" in words[0]):
        words = list(dropwhile(_is_wrapper_argument, words[1:]))
    return words


def _is_wrapper_argument(word: str) -> bool:
    return word.startswith("-") or "=" in word or word[:1].isdigit()


def _plain(word: str) -> str:
    """A word as a part of a name: the last part of a path, without a script's suffix."""
    stem = _SUFFIX.sub("", posixpath.basename(word.rstrip("/")))
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem, flags=re.ASCII).strip("_-")[:60]
