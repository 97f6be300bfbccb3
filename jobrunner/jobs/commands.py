"""Job types that are commands: how a command is started for a run, and what its exit status means. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from jobrunner.errors import ConfigurationError, PayloadMismatch
from jobrunner.jobs.trace_context import checked
from jobrunner.lifecycle import Outcome
from jobrunner.model import ClaimedRun, Policy
from jobrunner.names import CHECKPOINT_FILE, RUN_FIELDS
from jobrunner.text import iso_instant, nearest

SHELL = "/bin/sh"
DATABASE_URLS = ("JOBRUNNER_DATABASE_URL", "DATABASE_URL")
"""A command gets these variables only if its ``pass_env`` names them."""

_PAYLOAD = "payload."
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[^{}]+)?)\}", re.ASCII)


class Command(NamedTuple):
    """One command of the configuration file.

    In ``argv`` a placeholder is always a whole argument. For a shell command it is ``/bin/sh -c …``, without
    placeholders. ``retry_codes`` None means all codes that are neither success nor permanent. ``stdin`` is the text on
    standard input; None means the payload.
    """

    policy: Policy
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    pass_env: tuple[str, ...]
    success_codes: frozenset[int]
    retry_codes: frozenset[int] | None
    discard_codes: frozenset[int]
    stdin: str | None = None

    @property
    def digest(self) -> str:
        """Tells this command from another one of the same name. Folders and variables may differ between hosts."""
        import hashlib

        return hashlib.sha256(json.dumps([self.argv, self.stdin]).encode()).hexdigest()[:16]

    def arguments_for(self, run: ClaimedRun) -> list[str]:
        """The argument list of one run. Raises PayloadMismatch if there is no value for a placeholder."""
        arguments: list[str] = []
        for argument in self.argv:
            match = _PLACEHOLDER.fullmatch(argument)
            arguments.append(argument if match is None else _filled(match.group(1), run, "--" in arguments))
        return arguments

    def check_payload(self, payload: Mapping[str, object]) -> None:
        """Raise BadPayload if the payload has no value for a placeholder."""
        names = [match.group(1) for each in self.argv if (match := _PLACEHOLDER.fullmatch(each))]
        for name in names:
            if name.startswith(_PAYLOAD):
                # After a "--" a value may begin with a dash. ``arguments_for`` checks that.
                _from_payload(name.removeprefix(_PAYLOAD), payload, may_be_option=True)

    def environment_for(
        self, run: ClaimedRun, environ: Mapping[bytes, bytes], checkpoint_file: bytes | None = None
    ) -> dict[bytes, bytes]:
        """The environment of one run: that of the tick without the database URL, then the run's ids, then ``env``.

        ``TRACEPARENT`` is that of the run, and never that of the tick.

        It is in bytes: inherited values stay unchanged, and our own values are UTF-8 in every locale.
        """
        ids = {f"JOBRUNNER_{name.upper()}": value for name, value in _fields_of(run).items()}
        ids["TRACEPARENT"] = checked(run.traceparent)
        ids[CHECKPOINT_FILE] = None
        # Inherited ids are removed too, because a command may have started this tick.
        ours = {name.encode() for name in {*DATABASE_URLS, *ids} - set(self.pass_env)}
        inherited = {name: value for name, value in environ.items() if name not in ours}
        given = {name: value for name, value in {**ids, **self.env}.items() if value is not None}
        place = {} if checkpoint_file is None else {CHECKPOINT_FILE.encode(): checkpoint_file}
        return inherited | place | {name.encode(): value.encode() for name, value in given.items()}

    def meaning_of(self, code: int) -> Outcome:
        """What an exit status means: succeeded, failed (another attempt follows) or discarded (none does)."""
        if code in self.success_codes:
            return Outcome.SUCCEEDED
        if code in self.discard_codes or (self.retry_codes is not None and code not in self.retry_codes):
            return Outcome.DISCARDED
        return Outcome.FAILED


def check_argument(argument: str) -> None:
    """Raise ConfigurationError for an unknown placeholder, or for one that is only a part of its argument."""
    if match := _PLACEHOLDER.fullmatch(argument):
        name = match.group(1)
        if not _is_known(name):
            near = nearest(name, [*RUN_FIELDS, "payload.NAME"], 0.5)
            meant = "." if near is None else f"; did you mean {{{near}}}?"
            raise ConfigurationError(
                f"{argument} is not a placeholder{meant} The placeholders are"
                f" {', '.join(f'{{{each}}}' for each in RUN_FIELDS)} and {{payload.NAME}}"
            )
        return
    partly = [each for each in _PLACEHOLDER.findall(argument) if _is_known(each)]
    if partly:
        raise ConfigurationError(
            # The argument itself may hold a secret.
            f"the placeholder {{{partly[0]}}} must be a whole argument, not a part of one, so that a payload cannot"
            " change the rest of the argument"
        )


def placeholders_in(text: str) -> list[str]:
    """The placeholders in the text of a shell command, where they are not filled in."""
    return [each for each in _PLACEHOLDER.findall(text) if _is_known(each)]


def _is_known(name: str) -> bool:
    return name in RUN_FIELDS or name.startswith(_PAYLOAD)


def _fields_of(run: ClaimedRun) -> dict[str, str | None]:
    return {
        "run_id": str(run.lease.run_id),
        "job_type": run.job_type,
        "attempt": str(run.attempt),
        "max_attempts": str(run.max_attempts),
        "slot": None if run.scheduled_for is None else iso_instant(run.scheduled_for),
        "late_seconds": str(int(run.lateness_seconds)),
    }


def _filled(name: str, run: ClaimedRun, may_be_option: bool) -> str:
    if not name.startswith(_PAYLOAD):
        value = _fields_of(run)[name]
        if value is None:
            raise PayloadMismatch(f"the command asks for {{{name}}}, but this run stands for no slot of a schedule")
        return value
    return _from_payload(name.removeprefix(_PAYLOAD), run.payload, may_be_option)


def _from_payload(key: str, payload: Mapping[str, object], may_be_option: bool) -> str:
    if not isinstance(payload, Mapping) or key not in payload:
        raise PayloadMismatch(f"the command asks for {{payload.{key}}}, which the payload does not have")
    value = payload[key]
    if isinstance(value, bool | int | float):
        value = json.dumps(value)
    if not isinstance(value, str):
        raise PayloadMismatch(f"the command asks for {{payload.{key}}}, which is not text or a number")
    if value.startswith("-") and not may_be_option:
        # A payload is data: it must not be able to switch on an option of the program.
        raise PayloadMismatch(f'the value of {{payload.{key}}} begins with "-"; put "--" before it in the command')
    return value
