"""users add: a user of the dashboard, in a user file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from jobrunner.cli import render, session


@click.command()
@click.argument("name")
@click.option(
    "--user-file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The user file to write to; it is made if there is none.",
)
@click.option("--read-only", is_flag=True, help="Read-only: this user can view the dashboard, and change nothing.")
def add(name: str, user_file: Path, read_only: bool) -> None:
    """Add a user to the user file, or give a user another password. It asks for the password, or reads it from stdin.

    Example: jobrunner users add ada --user-file people
    """
    from jobrunner.web import users

    if session.can_ask():
        password = click.prompt("password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\n") if sys.stdin is not None else ""
    users.add(user_file, name, password, "read-only" if read_only else "all")
    render.done(f"{name} may sign in where `jobrunner web --user-file {user_file}` runs")
