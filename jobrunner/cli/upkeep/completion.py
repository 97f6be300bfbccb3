"""completion: the script by which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands and options.

    \b
    bash:  eval "$(jobrunner completion bash)"    in ~/.bashrc
    zsh:   eval "$(jobrunner completion zsh)"     in ~/.zshrc, after compinit
    fish:  jobrunner completion fish > ~/.config/fish/completions/jobrunner.fish

    Example: jobrunner completion bash
    """
    root = context.find_root()
    found = get_completion_class(shell)
    assert found is not None
    script = found(root.command, {}, "jobrunner", "_JOBRUNNER_COMPLETE")
    # Its source() would run the installed bash to get its version, but the script may be for another host.
    click.echo(script.source_template % script.source_vars(), nl=False)
