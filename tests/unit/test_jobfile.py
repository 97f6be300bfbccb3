"""Reading jobrunner.toml: every mistake is reported with its key, and correct files are read."""

import os
from pathlib import Path

import pytest

from harness.tables.bad_jobfiles import GOOD, MISTAKES, SECRET
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config, toml_file
from jobrunner.settings.toml_reader import TableReader


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_key(name: str, tmp_path: Path) -> None:
    text, says = MISTAKES[name]
    file = tmp_path / "jobrunner.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        config.load({"JOBRUNNER_CONFIG": str(file)})
    told = str(caught.value)
    assert [each for each in [str(file), *says] if each not in told] == []
    assert SECRET not in told


def test_job_table_needs_only_its_command(tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text(GOOD)
    (command,) = toml_file.read(file).commands.values()
    assert (command.argv, command.cwd, command.env, command.pass_env) == (("/bin/true",), tmp_path, {}, ())
    assert (command.success_codes, command.retry_codes, command.discard_codes) == ({0}, None, frozenset())


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text(GOOD)
    before = file.stat()
    toml_file.read(file)
    # As long, and as old, as before: only who reads it again sees another name.
    file.write_text(GOOD.replace("jobs.x", "jobs.y"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert set(toml_file.read(file).commands) == {"x"}
    file.write_text(GOOD.replace("jobs.x", "jobs.why"))
    assert set(toml_file.read(file).commands) == {"why"}


def test_empty_configuration_file_has_no_settings_and_jobs(tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text("# nothing yet\n")
    assert config.load({"JOBRUNNER_CONFIG": str(file)}).commands == {}


def test_error_of_a_setting_names_its_file_and_key(tmp_path: Path) -> None:
    file = tmp_path / "jobrunner.toml"
    file.write_text('[settings]\nlease = "11m"\n')
    environ = {"JOBRUNNER_CONFIG": str(file)}
    with pytest.raises(ConfigurationError, match=r"settings.lease: must lie between"):
        config.load(environ)
    assert config.load({**environ, "JOBRUNNER_LEASE": "1m"}).lease.total_seconds() == 60
    with pytest.raises(ConfigurationError, match=r"^JOBRUNNER_LEASE: must lie between"):
        config.load({**environ, "JOBRUNNER_LEASE": "20m"})


def test_boolean_in_place_of_a_number_is_refused() -> None:
    reader = TableReader("t", {"a": True, "b": [True]})
    with pytest.raises(ConfigurationError, match=r"t.a: must be a whole number, not true or false"):
        reader.take("a", int)
    with pytest.raises(ConfigurationError, match=r"t.b: must be a list of which each member is a whole number"):
        reader.take_list("b", int)
