"""apply: writes the schedules that code and jobrunner.toml declare into the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from jobrunner.admin import reconcile
from jobrunner.admin.reconcile import Applied, Declared, Difference
from jobrunner.cli import environment, options, render, session, streams
from jobrunner.cli.answers import answers
from jobrunner.errors import ConfigurationError
from jobrunner.model import SOURCE_NAMES, Declaration, Policy, Source
from jobrunner.schedules.options import DURATIONS
from jobrunner.settings.config import Config
from jobrunner.store.drivers.database import Database
from jobrunner.store.queue.ticks import hosts
from jobrunner.text import iso_instant, visible

_LONGEST_SHOWN = 200


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--check", is_flag=True, help="Like --dry-run; exit with 1 if something would change.")
@click.option(
    "--gone", type=click.Choice(["code", "file"]), help="Disable the schedules of a source that no host has any more."
)
@answers(Applied)
@options.REASON
def apply(dry_run: bool, check: bool, gone: Source | None, as_json: bool) -> None:
    """Write the schedules that code and jobrunner.toml declare into the database. Run it at every deploy.

    It adds new schedules, changes those whose declaration has changed, and disables those that are no longer declared:
    all of it, or nothing. It leaves alone the schedules that were made by command, those of a source that this host
    does not have (code without JOBRUNNER_IMPORT, the file without a jobrunner.toml), and those of other applications
    (JOBRUNNER_APPLICATION). A second apply changes nothing.

    Exit status 1: everything is written, but a schedule makes no runs for now, because a run of its previous job type
    is unfinished and this host does not know that type.

    Example: jobrunner apply --dry-run
    """
    config = environment.load()
    wanted, policies = _declared(config, gone)
    is_dry = dry_run or check
    database = session.open_database(config, creates=not is_dry, for_many_rows=True)
    if is_dry:
        difference = reconcile.look(database, wanted)
    else:
        with render.progress(None, "schedules") as progress:
            difference = reconcile.apply(database, wanted, session.actor(), progress)
    if as_json:
        render.echo_json(reconcile.applied(difference, wanted, is_dry))
    else:
        render.done("\n".join(_lines(difference, is_dry)))
    for each in _unknown(wanted, policies):
        streams.to_stderr(f"jobrunner: {each}")
    for each in _other_commands(database, wanted, config):
        streams.to_stderr(f"jobrunner: {each}")
    blocked = _blocked(database, wanted, policies)
    for each in blocked:
        streams.to_stderr(f"jobrunner: {each}")
    if blocked or (check and difference.is_any):
        raise click.exceptions.Exit(1)


def _declared(config: Config, gone: Source | None) -> tuple[Declared, list[Policy]]:
    """What this host declares, and the policies of its job types. ``gone`` is a source that no host has any more."""
    declarations: list[Declaration] = []
    sources: list[Source] = []
    policies = session.command_policies(config)
    misfits: list[str | None] = []
    if config.file is not None:
        from jobrunner.settings import toml_file, toml_schedules

        file = Path(config.file)
        declarations += toml_schedules.declarations(file, toml_file.read(file).schedules, config.payload_limit)
        sources.append("file")
    of_file = list(declarations)
    if config.imports:
        found, of_code, misfits = session.schedules_of_handlers(config, of_file)
        policies += found
        declarations += of_code
        sources.append("code")
    for misfit in session.misfits(config, of_file, misfits):
        raise ConfigurationError(f"{config.file}: {misfit}")
    if gone in sources:
        where = "JOBRUNNER_IMPORT is set" if gone == "code" else f"there is {config.file}"
        raise ConfigurationError(f"--gone {gone}: this host has that source ({where}); apply without --gone")
    if gone is not None:
        sources.append(gone)
    if not sources:
        raise ConfigurationError(
            "there is nothing to apply: set JOBRUNNER_IMPORT to the modules that hold handlers,"
            " or write a jobrunner.toml"
        )
    of_application = [each._replace(application=config.application) for each in declarations]
    return Declared(of_application, sources, config.payload_limit, config.application), policies


def _unknown(wanted: Declared, policies: list[Policy]) -> Iterator[str]:
    known = {policy.job_type for policy in policies}
    for each in wanted.declarations:
        if each.job_type not in known:
            yield (
                f"schedules.{each.name}: this host has no handler for {each.job_type!r};"
                " its runs wait for a host that has one"
            )


def _other_commands(database: Database, wanted: Declared, config: Config) -> Iterator[str]:
    """The schedules whose command is another one on another host, as where two hosts had the same crontab."""
    digests = {name: command.digest for name, command in config.commands.items()}
    elsewhere = database.read(partial(hosts.with_other_commands, host=config.host, commands=digests))
    for each in wanted.declarations:
        # On every host each has its own run, with its own command.
        if each.policy.on == "any-host" and (host := elsewhere.get(each.job_type)) is not None:
            yield (
                f"schedules.{each.name}: the host {visible(host)} has another command for {each.job_type!r}; each slot"
                ' runs on one of the hosts only, with its command; give the job on = "every-host" on each host, or'
                " another name"
            )


def _blocked(database: Database, wanted: Declared, policies: list[Policy]) -> list[str]:
    """The schedules that make no runs, because a run of a type that this host does not know is waiting."""
    known = {policy.job_type for policy in policies}
    former = reconcile.former_runs(database, wanted)
    return [f"schedules.{run.schedule}: {run}" for run in former if run.job_type not in known]


def _lines(difference: Difference, is_dry: bool) -> Iterator[str]:
    for each in difference.new:
        yield f"+ {_declared_line(each)}"
    for row, declaration in difference.back:
        kept = ", still paused" if row.paused_at is not None else ""
        if (most := declaration.policy.max_runs) is not None and row.runs_made:
            kept += f", {row.runs_made} of {most} runs made"
        yield f"+ {_declared_line(declaration)}, was removed {render.instant(row.removed_at)}{kept}"
    for edited in difference.edited:
        yield f"~ {visible(edited.row.name)}"
        for name, (before, after) in edited.fields.items():
            yield f"    {name}: {_shown(before, name)} -> {_shown(after, name)}"
    for row in difference.gone:
        yield f"- {visible(row.name)}: no longer in {SOURCE_NAMES[row.source]}"
    for source, count in sorted(difference.left.items()):
        yield (
            f"{count} of {SOURCE_NAMES[source]} left alone: this host does not have that source;"
            f" if no host has it any more, run: jobrunner apply --gone {source}"
        )
    for application, count in sorted(difference.others.items()):
        whose = f"of the application {visible(application)}" if application else "of no application"
        yield f"{count} {whose} left alone"
    counted = {
        "added": len(difference.new) + len(difference.back),
        "changed": len(difference.edited),
        "disabled": len(difference.gone),
    }
    changes = [f"{count} {what}" for what, count in counted.items() if count] or ["nothing to do"]
    yield f"{', '.join(changes)}, {difference.unchanged} unchanged{' (nothing was written)' if is_dry else ''}"


def _declared_line(each: Declaration) -> str:
    payload = f" {_shown(each.payload)}" if each.payload else ""
    return visible(
        f"{each.name}: {each.job_type}{payload} at {each.schedule} {each.timezone} ({SOURCE_NAMES[each.source]})"
    )


def _shown(value: Any, field: str = "") -> str:
    """The value in one short line, also if somebody wrote something else into the row by hand."""
    if value is None:
        return "-"
    if field in DURATIONS and isinstance(value, float):
        return f"{value:g}s"
    if isinstance(value, datetime):
        return iso_instant(value)
    text = visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
