"""A host with a crontab of its own, for tests of doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import App, Commands, Database
from harness.commands import COMMAND

Check = dict[str, Any]


class Clinic:
    """A host with a crontab of its own, in which everything is in order until a test breaks it."""

    def __init__(self, jobrunner: Commands, app: App, database: Database, folder: Path) -> None:
        self.jobrunner, self.app, self.database, self.folder = jobrunner, app, database, folder
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.tab = folder / "tab"
        self.env_file = folder / "cron.env"
        program = self.programs / "crontab"
        program.write_text(f'#!/bin/sh\ncat "{self.tab}"\n')
        program.chmod(0o755)
        self.write_env_file()
        self.write_crontab()

    def write_env_file(self, **changed: str) -> None:
        names = ("JOBRUNNER_DATABASE_URL", "JOBRUNNER_STATE_DIR", *self.app.environment())
        found = {name: self.jobrunner.environment()[name] for name in names} | changed
        self.env_file.write_text("".join(f"{name}='{value}'\n" for name, value in found.items()))
        self.env_file.chmod(0o600)

    def write_crontab(self, options: str = "", above: str = "", program: str = COMMAND) -> None:
        self.tab.write_text(f"{above}\n* * * * * {program} tick {options or f'--env-file {self.env_file}'}\n")

    def examine(self, *words: str, **env: str | None) -> tuple[int, list[Check]]:
        path = f"{self.programs}:/usr/bin:/bin"
        done = self.jobrunner("doctor", "--json", *words, env={"PATH": path, **env}, check=False)
        assert done.stderr == ""
        return done.returncode, done.json()["checks"]

    def wrong(self, *words: str) -> list[Check]:
        """What is wrong, but for the server of the tests, which has no autovacuum."""
        code, checks = self.examine(*words)
        assert code == any(each["verdict"] == "wrong" for each in checks)
        return [each for each in checks if each["verdict"] == "wrong" and "on this server" not in each["found"]]

    def found(self, name: str, verdict: str, **env: str | None) -> Check:
        """The one such check. It alone decides the exit status."""
        without = () if name in ("cron line", "mail") else ("--no-crontab",)
        code, checks = self.examine(*without, **env)
        found = [each for each in checks if (each["name"], each["verdict"]) == (name, verdict)]
        found = [each for each in found if "on this server" not in each["found"]]
        assert len(found) == 1, checks
        assert code == any(each["verdict"] == "wrong" for each in checks)
        assert found[0]["remedy"]
        return found[0]
