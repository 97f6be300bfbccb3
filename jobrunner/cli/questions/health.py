"""health: whether anything is wrong, for a monitor and for people."""

from __future__ import annotations

import click

from jobrunner.admin.findings import DAMAGED, NAMES, Finding, damaged, findings
from jobrunner.cli import environment, render, session, startup
from jobrunner.errors import DatabaseDamaged
from jobrunner.store.upkeep import damage


@click.command()
@click.option("--only", metavar="NAME,…", help="Check only these findings (comma-separated). All others are ignored.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.pass_context
def health(context: click.Context, only: str | None, as_json: bool) -> None:
    """Check the health: one line for each finding, the worst first, with its remedy. For monitors, and for you.

    Exit status 0: nothing is wrong. 1: something is. 69: the database cannot be reached.

    Example: jobrunner health --only ticks_stopped,overdue
    """
    wanted = None if only is None else _checked(only)
    config = environment.load()
    database = session.open_database(config)
    problem = startup.problem_of_state(config)
    try:
        if wanted is None or DAMAGED in wanted:
            damage.check(database, damage.MOST_BYTES_OF_COMMAND)
        killed = startup.killed_here(config)
        found = database.read(lambda connection: findings(connection, config, problem, killed))
    except DatabaseDamaged as error:
        # Whatever else was asked for, nothing in the file can be relied on.
        found, wanted = [damaged(error)], None
    found = [each for each in found if wanted is None or each.name in wanted]
    if as_json:
        data = {"database": database.location.label, "healthy": not found}
        render.echo_json({**data, "findings": [each.as_data() for each in found]})
    elif found:
        show(found)
    else:
        click.echo("ok: nothing is wrong")
    context.exit(1 if found else 0)


def show(found: list[Finding]) -> None:
    """One line for each finding."""
    for each in found:
        is_wrong = each.severity.name == "CRITICAL"
        render.line(f"{each.severity.name} {each.name}: {each.sentence}; {each.remedy}", is_wrong=is_wrong)


def _checked(only: str) -> set[str]:
    names = {name.strip() for name in only.split(",") if name.strip()}
    for name in sorted(names - set(NAMES)):
        raise click.BadParameter(f"{name[:60]!r} is no finding; there are: {', '.join(NAMES)}", param_hint="--only")
    return names
