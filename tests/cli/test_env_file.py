"""`--env-file`: settings and environment from a file that jobrunner reads itself, without a shell."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import App, Commands, Database, sqlite_only
from harness.commands import COMMAND
from harness.help_texts import listed_commands
from jobrunner.errors import ConfigurationError
from jobrunner.settings.env_file import parse_env, written

READ = {
    "A=1": {"A": "1"},
    "A=1\nB=2\n": {"A": "1", "B": "2"},
    "A=1\r\nB=2\r\n": {"A": "1", "B": "2"},
    "": {},
    "\n \t\n# A=1\n  # B=2\n; C=3\n": {},
    "A=1\nA=2": {"A": "2"},
    "A=": {"A": ""},
    "A=''": {"A": ""},
    "  A = b c \t": {"A": "b c"},
    "A=b # not a comment": {"A": "b # not a comment"},
    "A=x=y==": {"A": "x=y=="},
    "A=$HOME/${B} `id` %d *": {"A": "$HOME/${B} `id` %d *"},
    'A="$HOME \' `id`"': {"A": "$HOME ' `id`"},
    "A='$HOME \" \\n `id`'": {"A": '$HOME " \\n `id`'},
    'A="\\"\\\\\\$\\`\\n"': {"A": '"\\$`\\n'},
    'A=" spaces kept "': {"A": " spaces kept "},
    "A=it's": {"A": "it's"},
    'A=say "hello"': {"A": 'say "hello"'},
    "_a9=é\u2028\u00a0\x0b": {"_a9": "é\u2028\u00a0\x0b"},
    "export_=1": {"export_": "1"},
}
EXPORTED = {"export A=1": {"A": "1"}, "  export\t A='1 2'": {"A": "1 2"}, "export=1": {"export": "1"}}
SECRET = "hunter2"
REFUSED = {
    "no equals sign": SECRET,
    "export alone": f"export {SECRET}",
    "no name": f"={SECRET}",
    "name with a dash": f"A-B={SECRET}",
    "name that begins with a digit": f"1A={SECRET}",
    "name with a letter that no shell knows": f"Ä={SECRET}",
    "two names": f"A B={SECRET}",
    "byte order mark": f"\ufeffA={SECRET}",
    "appended": f"A+={SECRET}",
    "quote left open": f"A='{SECRET}",
    "double quote left open": f'A="{SECRET}',
    "only a quote": 'A="',
    "escaped quote at the end": f'A="{SECRET}\\"',
    "quotes that do not match": f"A='{SECRET}\"",
    "a comment after the quotes": f"A='{SECRET}' # why",
    "two quoted parts": f"A='{SECRET}''b'",
    "a quoted value of two lines": f"A='{SECRET}\nb'",
    "a backslash that systemd would drop": f"A={SECRET}\\n",
    "a line continued": f"A={SECRET}\\\nb",
    "a comment that older systemd would continue": f"# {SECRET}\\",
}


PLACES = ("systemd", "*/systemd")
SYSTEMD = [file for place in PLACES for file in Path("/usr/lib").glob(f"{place}/libsystemd-shared-*.so")][-1:]


def read_by_systemd(text: str) -> dict[str, str]:
    found = ctypes.POINTER(ctypes.c_char_p)()
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(text.encode())
        library = ctypes.CDLL(str(SYSTEMD[0]))
        assert library.load_env_file(None, os.fsencode(file.name), ctypes.byref(found)) == 0
    read = {}
    for pair in iter(lambda: found[len(read)], None) if found else ():
        name, _, value = pair.decode().partition("=")
        read[name] = value
    return read


# systemd's own code, where it is installed, is asked too.
@pytest.mark.parametrize("reader", [parse_env, *[read_by_systemd for _ in SYSTEMD]])
@pytest.mark.parametrize("text", READ)
def test_env_file_lines_give_these_variables(text: str, reader: Callable[[str], dict[str, str]]) -> None:
    assert reader(text) == READ[text]


@pytest.mark.parametrize("text", EXPORTED)
def test_env_file_written_for_a_shell_is_understood(text: str) -> None:
    assert parse_env(text) == EXPORTED[text]


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_invalid_env_file_line_is_reported_by_number_and_never_quoted(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_env(f"# first\nOK=1\n{text}\n")
    assert str(refused.value).startswith("line 3: ")
    assert SECRET not in str(refused.value)


def test_a_byte_order_mark_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"^line 1: it begins with a byte order mark"):
        parse_env("\ufeffA=1\n")


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / "app.env"


def bare(*words: object, **variables: str) -> tuple[int, str, str]:
    """The command with nothing in its environment but what is given."""
    done = subprocess.run([COMMAND, *map(str, words)], env=variables, cwd="/", capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def write_all(env_file: Path, jobrunner: Commands, **more: str) -> None:
    variables = {**jobrunner.environment(), **more}
    env_file.write_text("".join(f"{name}='{value}'\n" for name, value in variables.items()))


@pytest.mark.parametrize("given", ["before", "after", "variable"])
def test_handlers_inherit_every_variable_of_the_env_file(
    jobrunner: Commands, app: App, env_file: Path, given: str
) -> None:
    """What the file says replaces the environment, cron's PATH and HOME too, for jobrunner and its children."""
    app.add("""
        @job("environment")
        def environment(ctx: Context):
            return {
                "PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "GREETING": os.environb[b"GREETING"].hex(),
                "again": "JOBRUNNER_ENV_FILE" in os.environ,
            }
    """)
    run_id = jobrunner.enqueue("environment")
    write_all(env_file, jobrunner, PATH="/opt/bin:/usr/bin:/bin", HOME="/srv/home", GREETING="grüß dich €")
    cron = {"PATH": "/usr/bin:/bin", "HOME": "/", "SHELL": "/bin/sh", "LOGNAME": "root", "LC_ALL": "C"}
    words: dict[str, tuple[object, ...]] = {
        "before": ("--env-file", env_file, "tick"),
        "after": ("tick", "--env-file", env_file),
        "variable": ("tick",),
    }
    more = {"JOBRUNNER_ENV_FILE": str(env_file)} if given == "variable" else {}
    assert bare(*words[given], **cron, **more) == (0, "", "")
    assert jobrunner.show(run_id)["result"] == {
        "PATH": "/opt/bin:/usr/bin:/bin",
        "HOME": "/srv/home",
        "GREETING": "grüß dich €".encode().hex(),
        "again": False,
    }


def test_env_file_overrides_the_environment_and_a_flag_overrides_the_env_file(
    jobrunner: Commands, database: Database, env_file: Path
) -> None:
    # Over before a child is ready: nothing is claimed.
    write_all(env_file, jobrunner, JOBRUNNER_BUDGET="1ms")
    wrong = {"JOBRUNNER_DATABASE_URL": "sqlite:////nonexistent/other.db", "JOBRUNNER_BUDGET": "50s"}
    assert bare("--env-file", env_file, "enqueue", "echo", **wrong) == (0, "1\n", "")
    assert bare("--env-file", env_file, "tick", **wrong) == (0, "", "")
    assert database.value("SELECT status FROM job_runs") == "queued"
    assert bare("--env-file", env_file, "tick", "--budget", "50s") == (0, "", "")
    assert database.value("SELECT status FROM job_runs") == "succeeded"


@sqlite_only
def test_only_the_env_file_of_the_nearest_option_is_read(jobrunner: Commands, env_file: Path) -> None:
    write_all(env_file, jobrunner)
    missing = "/nonexistent/env"
    assert bare("status", "--env-file", env_file, JOBRUNNER_ENV_FILE=missing)[0] == 0
    assert bare("--env-file", env_file, "status", JOBRUNNER_ENV_FILE=missing)[0] == 0
    assert bare("--env-file", missing, "status", "--env-file", env_file)[0] == 0
    assert bare("status", JOBRUNNER_ENV_FILE=" ", **jobrunner.environment())[0] == 0


@sqlite_only
def test_every_command_and_subcommand_takes_env_file(jobrunner: Commands, env_file: Path) -> None:
    env_file.write_text("not a pair\n")
    words = {"": ["--version"]}
    for command in listed_commands(jobrunner("--help").stdout):
        text = jobrunner(command, "--help").stdout
        words[command] = []
        words |= {f"{command} {below}": [] for below in listed_commands(text)}
    assert {"tick", "schedule", "schedule list"} <= set(words)
    for command in words:
        assert "--env-file PATH" in jobrunner(*command.split(), "--help").stdout, command


BAD_FILES = ("missing", "folder", "fifo", "latin-1", "NUL", "too large", "bad line")


@sqlite_only
@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_cannot_be_used_stops_the_command(
    jobrunner: Commands, database: Database, env_file: Path, kind: str
) -> None:
    jobrunner.enqueue("echo")
    contents = {
        "latin-1": f"A=1\nB={SECRET}é".encode("latin-1"),
        "NUL": f"A={SECRET}\0".encode(),
        "too large": b"A=1\n" * 20_000,
        "bad line": f"# two\n{SECRET}\n".encode(),
    }
    if kind == "folder":
        env_file.mkdir()
    elif kind == "fifo":
        os.mkfifo(env_file)
    elif kind in contents:
        env_file.write_bytes(contents[kind])
    for words, variables in ((("--env-file", env_file), {}), ((), {"JOBRUNNER_ENV_FILE": str(env_file)})):
        code, stdout, stderr = bare(*words, "tick", **jobrunner.environment(), **variables)
        assert (code, stdout, len(stderr.splitlines())) == (78, "", 1), stderr
        assert str(env_file) in stderr
        assert SECRET not in stderr
        assert ("line 2" in stderr) == (kind in ("latin-1", "bad line"))
    assert database.query("SELECT id FROM job_ticks") == []


@sqlite_only
def test_env_file_of_another_user_is_refused_in_one_line(jobrunner: Commands, env_file: Path) -> None:
    """Root may read every file, so as root the command is run as the user nobody."""
    write_all(env_file, jobrunner)
    env_file.chmod(0)
    asked = "from jobrunner.settings.env_file import read_env_file; read_env_file('env')"
    python = Path(COMMAND).with_name("python")
    is_root = os.geteuid() == 0
    drop = "import os; d = os.open('.', 0); os.setgroups([]); os.setgid(65534); os.setuid(65534); os.fchdir(d); "
    env_file.rename(env_file.with_name("env"))
    env_file.parent.chmod(0o755)
    code = f"import jobrunner.settings.env_file; {drop if is_root else ''}{asked}"
    done = subprocess.run([python, "-c", code], cwd=env_file.parent, capture_output=True, text=True)
    assert "ConfigurationError: env file env: Permission denied" in done.stderr


@pytest.mark.parametrize(
    "value", ["", "/a/b", "a b", "it's", '"', "\\", "'$`\\\"'", " kept ", "#", ";", "a=b", "é", "\\n"]
)
def test_written_env_file_is_read_as_it_was_given(value: str) -> None:
    given = {"FIRST": value, "LAST": "1"}
    assert parse_env(written(given)) == given


@pytest.mark.parametrize("value", ["a\nb", "a\r"])
def test_value_of_several_lines_is_not_written_into_an_env_file(value: str) -> None:
    with pytest.raises(ConfigurationError, match="NAME has several lines"):
        written({"NAME": value})
