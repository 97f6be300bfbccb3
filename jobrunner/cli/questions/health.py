"""health: whether anything is wrong, for a monitor and for people."""

from __future__ import annotations

import click

from jobrunner.admin.finding import Severity
from jobrunner.admin.findings import FINDINGS, Health, damaged, findings
from jobrunner.cli import environment, render, session, startup
from jobrunner.cli.answers import answers
from jobrunner.errors import DatabaseDamaged
from jobrunner.store.upkeep import damage


@click.command()
@click.option(
    "--only", multiple=True, metavar="NAME", help="Check only this finding; repeatable. All others are ignored."
)
@answers(Health)
@click.pass_context
def health(context: click.Context, only: tuple[str, ...], as_json: bool) -> None:
    """Check the health: one line for each finding, the worst first, with its remedy. For monitors, and for you.

    Exit status 0: nothing is wrong. 1: something is. 69: the database cannot be reached.

    Example: jobrunner health --only ticks_stopped --only overdue
    """
    wanted = _checked(only) if only else FINDINGS.keys()
    config = environment.load()
    database = session.open_database(config)
    problem = startup.problem_of_state(config)
    try:
        if "damaged_file" in wanted:
            damage.check(database, damage.MOST_BYTES_OF_COMMAND)
        killed = startup.killed_here(config)
        found = database.read(lambda connection: findings(connection, config, problem, killed))
        found = [each for each in found if each.name in wanted]
    except DatabaseDamaged as error:
        # Whatever else was asked for, nothing in the file can be relied on.
        found = [damaged(error)]
    answer = Health(database.location.label, not found, found)
    if as_json:
        render.echo_json(answer)
    elif answer.healthy:
        click.echo("ok: nothing is wrong")
    else:
        for each in found:
            line = f"{each.severity.upper()} {each.name}: {each}"
            render.line(line, is_wrong=each.severity is Severity.CRITICAL)
    context.exit(0 if answer.healthy else 1)


def _checked(only: tuple[str, ...]) -> set[str]:
    for name in sorted(set(only) - FINDINGS.keys()):
        if "," in name:
            again = " ".join(f"--only {each.strip()}" for each in name[:60].split(","))
            raise click.BadParameter(f"{name[:60]!r} is now: {again}", param_hint="--only")
        raise click.BadParameter(f"{name[:60]!r} is no finding; there are: {', '.join(FINDINGS)}", param_hint="--only")
    return set(only)
