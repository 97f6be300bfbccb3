"""doctor tries the crontab line as cron does."""

from pathlib import Path

import pytest

from harness import (
    App,
    Commands,
    Database,
)
from harness.clinic import Clinic
from harness.doctor_remedies import old_ticks


@pytest.fixture
def clinic(jobrunner: Commands, app: App, database: Database, tmp_path: Path) -> Clinic:
    jobrunner.tick()
    return Clinic(jobrunner, app, database, tmp_path)


def test_doctor_tries_the_crontab_line_with_crons_own_environment(clinic: Clinic, tmp_path: Path) -> None:
    clinic.write_crontab("--budget 30s")
    # Neither the URL nor the handlers of this environment reach cron: the embedded database would be used.
    assert "its ticks use another database, sqlite:" in clinic.found("cron line", "wrong")["found"]
    clinic.write_env_file(JOBRUNNER_IMPORT="")
    clinic.write_crontab()
    check = clinic.found("cron line", "wrong")
    assert "its ticks cannot run append, echo" in check["found"]
    assert "--env-file" in check["remedy"]
    clinic.write_env_file()
    clinic.write_crontab(above='MAILTO=""')
    assert "crontab -l, line 2" in clinic.found("mail", "warning")["found"]
    clinic.write_crontab(program="jobrunner")
    assert "cron does not find the program" in clinic.found("cron line", "wrong")["found"]
    clinic.tab.write_text("")
    old_ticks(clinic)
    assert "crontab install" in clinic.found("cron line", "wrong")["remedy"]
