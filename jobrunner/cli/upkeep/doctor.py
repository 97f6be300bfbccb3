"""doctor: checks of this host, its settings and its database."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

from jobrunner.admin.doctor import settings
from jobrunner.admin.doctor.checks import Verdict, ok, wrong
from jobrunner.admin.doctor.examine import Patient, Report, examine
from jobrunner.admin.doctor.handlers import Discover
from jobrunner.admin.doctor.settings import EnvFile
from jobrunner.cli import environment, render, session, startup
from jobrunner.cli.answers import answers
from jobrunner.errors import JobrunnerError
from jobrunner.jobs.payload import Payload
from jobrunner.settings.config import Config
from jobrunner.store.drivers import waits

_INDENT = 27
_DETAIL_INDENT = 4


@click.command()
@answers(Report)
@click.option("--crontab/--no-crontab", "with_crontab", default=True, help="Check the crontab. [default: yes]")
@click.pass_context
def doctor(context: click.Context, as_json: bool, with_crontab: bool) -> None:
    """Check the settings, the database, the handlers, the crontab and the files of this host. It changes nothing.

    Each check is ok, a warning, or wrong, with a remedy. It also starts itself by the crontab line that starts ticks,
    in the environment that cron has, and compares what it sees there. Exit status 1: something is wrong.

    Example: jobrunner doctor
    """
    report = Report()
    config = _settings(report)
    if config is not None:
        try:
            database = session.unopened(config, waits.EXAMINATION)
        except JobrunnerError as error:
            report.checks.append(wrong("database", str(error), "set JOBRUNNER_DATABASE_URL"))
        else:
            patient = Patient(
                config, database, _discover(config), startup.problem_of_state(config), EnvFile(*environment.env_file())
            )
            examine(patient, report, with_crontab=with_crontab)
    if as_json:
        render.echo_json(report)
    else:
        _show(report)
    context.exit(1 if report.is_wrong else 0)


def _settings(report: Report) -> Config | None:
    config, origins, problems = environment.examine()
    for problem in problems:
        report.checks.append(wrong("settings", problem, "correct the name or the value where it is set, or remove it"))
    if config is None:
        return None
    report.settings = settings.listed(config, origins, EnvFile(*environment.env_file()))
    if not problems:
        given = sum(setting.origin != "default" for setting in report.settings)
        report.checks.append(ok("settings", f"{len(report.settings)}, of which {given} are given; listed below"))
    return config


def _discover(config: Config) -> Discover:
    def discover(asked: Sequence[tuple[str, Payload]]) -> tuple[Collection[str], Sequence[str | None]]:
        return session.types_and_misfits(config, asked)

    return discover


def _show(report: Report) -> None:
    for check in report.checks:
        is_wrong = check.verdict is Verdict.WRONG
        render.line(f"{check.verdict:9}{check.name:18}{check.found}", is_wrong=is_wrong, hanging=_INDENT)
        if check.remedy is not None:
            render.block(check.remedy, " " * _INDENT)
        if check.detail is not None:
            render.block(check.detail, " " * _DETAIL_INDENT)
    if report.settings:
        click.echo()
        rows = [(each.name, each.value, each.origin) for each in report.settings]
        render.table(("SETTING", "VALUE", "FROM"), rows, indent="")
