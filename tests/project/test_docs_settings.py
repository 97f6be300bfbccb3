"""settings.md and jobfile.md are compared with the code: every key, setting and variable, and its default."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands
from harness.doc_tables import first_table, names_in, path_of, text_of
from harness.pages import ROOT
from jobrunner.errors import ConfigurationError
from jobrunner.settings import config, toml_file

JOBFILE = text_of("jobfile.md")
KEYS = ("Keys of the command", "Keys of the job type", "Keys of the schedule")
SECTIONS = ("Settings that most hosts need", "Fine tuning", "Retention", "Thresholds of the health check")
ROWS = [row for section in SECTIONS for row in first_table(text_of("settings.md"), section)]
SETTINGS = [(row[-3].strip("`"), row[-2]) for row in ROWS]
"""The variable and the default of each."""


def known_keys(error: ConfigurationError) -> list[str]:
    """What the refusal of an unknown key says that there are."""
    return str(error).partition("there are: ")[2].split(", ")


def test_every_key_of_a_command_is_in_the_page(tmp_path: Path):
    file = tmp_path / "jobrunner.toml"
    file.write_text('[jobs.x]\ncommand = ["true"]\nqqqq = 1\n')
    with pytest.raises(ConfigurationError) as refused:
        toml_file.read(file)
    assert sorted(each for title in KEYS for each in names_in(first_table(JOBFILE, title))) == known_keys(refused.value)


def test_defaults_of_keys_in_the_page_are_those_of_the_code(tmp_path: Path):
    """Those that can be written: a job that says all of them is the job that says none."""
    is_bare = re.compile(r"\[\d+\]|\d+|true|false")
    rows = [row for title in KEYS[:2] for row in first_table(JOBFILE, title)]
    of_jobs = {row[0].strip("`"): row[1].strip("`") for row in rows}
    written = {
        key: default if is_bare.fullmatch(default) else f'"{default}"'
        for key, default in of_jobs.items()
        if is_bare.fullmatch(default) or re.fullmatch(r"\d+[smh]|refuse|release|forever", default)
    }
    assert set(written) == {
        "shell",
        "success_codes",
        "timeout",
        "kill_after",
        "max_attempts",
        "when_full",
        "on_stop",
        "key_scope",
    }

    def commands(keys: dict[str, str]) -> object:
        lines = ["[jobs.x]", 'command = ["true"]', *(f"{key} = {value}" for key, value in keys.items())]
        (tmp_path / "jobrunner.toml").write_text("\n".join(lines))
        return config.load({"JOBRUNNER_CONFIG": str(tmp_path / "jobrunner.toml")}).commands

    assert commands(written) == commands({})


def test_tables_that_are_made_from_the_code_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import page_tables  # type: ignore[import-not-found]

    pages = page_tables.pages()
    assert {path_of(page) for page in ("settings.md", "monitoring.md", "handlers.md", "enqueue.md")} <= pages.keys()
    assert {path.name for path, text in pages.items() if path.read_text("utf-8") != text} == set(), "run: make docs"


def test_every_setting_is_in_the_page(tmp_path: Path):
    file = tmp_path / "jobrunner.toml"
    file.write_text("[settings]\nqqqq = 1\n")
    with pytest.raises(ConfigurationError) as refused:
        config.load({"JOBRUNNER_CONFIG": str(file)})
    told = [variable for variable, _ in SETTINGS]
    assert sorted(name.removeprefix("JOBRUNNER_").lower() for name in told) == known_keys(refused.value)
    assert sorted(told) == sorted(f"JOBRUNNER_{name.upper()}" for name in config.SETTINGS)


def test_defaults_of_settings_in_the_page_are_those_of_the_code():
    """Those that can be written: set to what the page says, nothing changes."""
    shown = {name: default for name, default in SETTINGS if re.fullmatch(r"\d\w*|false|info", default)}
    assert len(shown) == sum(bool(row.default) for row in config.SETTINGS.values())
    assert config.load(shown) == config.load({})


def test_each_setting_comes_from_its_variable_and_from_its_key_of_the_file(tmp_path: Path):
    """Another value of each kind, which the variable and the file both give, and doctor's list shows under its name."""
    file = tmp_path / "jobrunner.toml"
    bare = config.load({})
    for name, row in config.SETTINGS.items():
        written = {"lease": "45s", "linger": "7s", "host": "other", "strict": "true", "database_url": "sqlite:////x.db"}
        usual = "17" if row.default.isdigit() else "11s" if row.default or name == "heartbeat" else "/written"
        kinds = {"schema": "written", "application": "written", "import": "written", "keep_types": "written=11s"}
        kinds["log_level"] = "error"
        text = {**written, **kinds}.get(name, usual)
        file.write_text(f"[settings]\n{name} = {text if row.filed is bool else repr(text)}\n")
        by_file, origins = config.load_with_origins({"JOBRUNNER_CONFIG": str(file)})
        by_variable = config.load({f"JOBRUNNER_{name.upper()}": text})
        assert by_file._replace(file=None) == by_variable, name
        assert origins == {name: f"{file}: settings.{name}"}
        changed = {each for each, value in config.values(by_variable).items() if value != config.values(bare)[each]}
        assert changed == ({name, "heartbeat"} if name == "lease" else {name})


def test_environment_variables_of_commands_are_in_the_page(jobrunner: Commands, app: App):
    (app.folder / "jobrunner.toml").write_text('[jobs.told]\ncommand = ["env"]\n')
    with_app = {"JOBRUNNER_APP_DIR": str(app.folder)}
    jobrunner("enqueue", "told", env=with_app)
    jobrunner("tick", env=with_app)
    told = set(re.findall(r"^(JOBRUNNER_[A-Z_]+)=", jobrunner.show(1)["attempt_log"][0]["output"], re.MULTILINE))
    # The last is how processes that a killed tick left behind are found.
    told -= {*jobrunner.environment(), *with_app, "JOBRUNNER_TICK"}
    shown = set(names_in(first_table(JOBFILE, "What a command gets")))
    assert shown - {"JOBRUNNER_SLOT"} == told, "a run of no schedule has no slot"
    assert "JOBRUNNER_DATABASE_URL" not in told


def test_times_that_how_it_works_names_are_the_defaults() -> None:
    page = text_of("how-it-works.md")
    settings = config.load({})
    assert settings.lease == timedelta(minutes=1)
    assert "a lease (one minute)" in page
    assert settings.heartbeat * 4 == settings.lease
    assert "every quarter of the lease" in page
    assert settings.budget == timedelta(seconds=50)
    assert "its budget (50 seconds)" in page
