"""The table of mistakes in a jobrunner.toml, with the words that each refusal must contain."""

GOOD = "[jobs.x]\ncommand = ['/bin/true']\n"
SECRET = "s3cr3t"
SCHEDULED = "[schedules.s]\njob = 'x'\nschedule = '@daily'\n"


def job(line: str, name: str = "x") -> str:
    """A job that is right but for one line."""
    return f"[jobs.{name}]\ncommand = ['/bin/true']\n{line}\n"


def command(line: str) -> str:
    return f"[jobs.x]\ncommand = {line}\n"


def settings(line: str) -> str:
    return f"{GOOD}[settings]\n{line}\n"


MISTAKES: dict[str, tuple[str, list[str]]] = {
    # The file as a whole.
    "no TOML": ("[jobs.x\n", ["is not TOML", "line 1"]),
    "no TOML, later": (GOOD + "\ntimeout = = 5\n", ["is not TOML", "line 4"]),
    "YAML": ("jobs:\n  x:\n", ["is not TOML", "line 1"]),
    "no quotes": (job("cwd = /tmp"), ["is not TOML", "line 3"]),
    "a key twice": (job("command = ['/bin/false']"), ["is not TOML", "line 3"]),
    "a job twice": (GOOD * 2, ["is not TOML", "line 3"]),
    "NUL, raw": (job("cwd = 'a\0b'"), ["is not TOML", "line 3"]),
    "escapes": ("\x1b[2J = 1", ["is not TOML", "line 1"]),
    "5000 digits": (job("timeout = " + "9" * 5000), ["is not TOML"]),
    "20 digits": (job("max_attempts = 99999999999999999999"), ["jobs.x.max_attempts", "64 bits"]),
    "5000 digits of another base": (settings("lease = 0x" + "f" * 5000), ["settings.lease", "64 bits"]),
    "10 000 levels": ("a = " + "[" * 10_000, ["is not TOML"]),
    # Keys that there are not.
    "job for jobs": ("[job.x]\ncommand = ['/bin/true']\n", ["job: is not a key", "did you mean 'jobs'?"]),
    "setting at the top": (
        "concurrency = 2\n" + GOOD,
        ["concurrency: is not a key", "health, jobs, notify, schedules"],
    ),
    "tool": ("[tool.jobrunner]\n", ["tool: is not a key"]),
    "key of a job": (job("comand = 'x'"), ["jobs.x.comand", "did you mean 'command'?"]),
    "key of a job, other": (job("retries = 3"), ["jobs.x.retries", "is not a key"]),
    "dashes": (job("max-attempts = 3"), ["jobs.x.max-attempts", "did you mean 'max_attempts'?"]),
    "odd key": (job('"a\\u001b[2J\\n\\u202e" = 3'), ["jobs.x.a", "is not a key"]),
    "setting": (settings("leese = '5s'"), ["settings.leese", "did you mean 'lease'?"]),
    "setting, other": (settings("colour = 'red'"), ["settings.colour", "is not a key"]),
    "nested job": ("[jobs.x.y]\ncommand = ['/bin/true']\n", ["jobs.x.command: is missing"]),
    "table in a job": (GOOD + "[jobs.x.options]\na = 1\n", ["jobs.x.options", "is not a key"]),
    "schedules": (SCHEDULED.replace("schedules", "schedule"), ["schedule: is not a key", "did you mean 'schedules'?"]),
    "key of a schedule": (SCHEDULED + "misfires = 'all'\n", ["schedules.s.misfires", "did you mean 'misfire'?"]),
    "command of a schedule": (SCHEDULED + "command = ['a']\n", ["schedules.s.command: is not a key"]),
    "schedule of a job": (job("shedule = '@daily'\nmisfire = 'all'"), ["jobs.x.shedule", "did you mean 'schedule'?"]),
    "no schedule, timezone": (job("timezone = 'UTC'"), ["jobs.x.timezone", "there is none", 'schedule = "0 2 * * *"']),
    "no schedule, payload": (job("payload = { a = 1 }"), ["jobs.x.payload", 'schedule = "0 2 * * *"']),
    "schedule of no job": ("[schedules.s]\nschedule = '@daily'\n", ["schedules.s.job: is missing", "job type"]),
    "schedule of nothing": ("[schedules.s]\njob = 'x'\n", ["schedules.s.schedule: is missing", "0 2 * * *"]),
    "schedule of a job's name": (
        job("schedule = '@daily'", "s") + SCHEDULED,
        ["schedules.s", "jobs.s has that name", "choose another"],
    ),
    # Of the wrong kind.
    "jobs a text": ("jobs = 'x'", ["jobs: must be a table, not text"]),
    "jobs a list": ("[[jobs]]\ncommand = ['/bin/true']\n", ["jobs: must be a table, not a list"]),
    "job a list": ("[jobs]\nx = ['/bin/true']\n", ["jobs.x: must be a table", "[jobs.x]"]),
    "schedule a list": (job("schedule = ['@daily']"), ["jobs.x.schedule: must be text, not a list"]),
    "schedules a list": ("schedules = []", ["schedules: must be a table, not a list"]),
    "schedule no table": ("[schedules]\ns = '@daily'\n", ["schedules.s: must be a table", "[schedules.s]"]),
    "payload a text": (SCHEDULED + f"payload = '{SECRET}'\n", ["schedules.s.payload: must be a table, not text"]),
    "misfire_most a text": (SCHEDULED + "misfire_most = '5'\n", ["schedules.s.misfire_most: must be a whole number"]),
    "settings a list": (GOOD + "[[settings]]\nlease = '5s'\n", ["settings: must be a table, not a list"]),
    "attempts a text": (job("max_attempts = '3'"), ["jobs.x.max_attempts: must be a whole number, not text"]),
    "attempts true": (job("max_attempts = true"), ["jobs.x.max_attempts: must be a whole number, not true or false"]),
    "attempts 1.5": (job("max_attempts = 1.5"), ["jobs.x.max_attempts: must be a whole number, not a number"]),
    "no attempts": (job("max_attempts = 0"), ["jobs.x", "max_attempts", "from 1 to 1000"]),
    "concurrency": (job("concurrency = 0"), ["jobs.x", "concurrency", "from 1 to"]),
    "max_waiting": (job("max_waiting = 0"), ["jobs.x", "max_waiting", "the nearest is 1"]),
    "when_full": (job("when_full = 'refus'"), ["jobs.x", "when_full", "the nearest is 'refuse'"]),
    "on_stop": (job("on_stop = 1"), ["jobs.x.on_stop: must be text"]),
    "shell a text": (job("shell = 'yes'"), ["jobs.x.shell: must be true or false, not text"]),
    "cwd a list": (job("cwd = ['/']"), ["jobs.x.cwd: must be text, not a list"]),
    "cwd NUL": (job('cwd = "a\\u0000"'), ["jobs.x.cwd", "NUL"]),
    "env a text": (job(f"env = 'PASSWORD={SECRET}'"), ["jobs.x.env: must be a table, not text"]),
    "env a number": (job("env = { PIN = 12345678 }"), ["jobs.x.env.PIN: must be text"]),
    "env a table": (job("[jobs.x.env.A]\nB = 'c'"), ["jobs.x.env.A: must be text"]),
    "env =": (job(f"env = {{ 'A=B' = '{SECRET}' }}"), ["jobs.x.env.A=B", "environment variable"]),
    "env empty": (job("env = { '' = 'x' }"), ["jobs.x.env.", "environment variable"]),
    "env NUL": (job(f'env = {{ A = "{SECRET}\\u0000" }}'), ["jobs.x.env.A", "environment variable"]),
    "pass_env a text": (job("pass_env = 'HOME'"), ["jobs.x.pass_env: must be a list, not text"]),
    "pass_env numbers": (job("pass_env = [1]"), ["jobs.x.pass_env", "each member is text"]),
    # Exit codes.
    "codes a number": (job("success_codes = 0"), ["jobs.x.success_codes: must be a list, not a whole number"]),
    "codes texts": (job("retry_codes = ['75']"), ["jobs.x.retry_codes", "each member is a whole number"]),
    "codes true": (job("retry_codes = [true]"), ["jobs.x.retry_codes", "each member is a whole number"]),
    "code 256": (job("discard_codes = [256]"), ["jobs.x.discard_codes: 256", "between 0 and 255"]),
    "code -1": (job("success_codes = [-1]"), ["jobs.x.success_codes: -1", "between 0 and 255"]),
    "code in two": (job("retry_codes = [7]\ndiscard_codes = [8, 7]"), ["jobs.x.discard_codes: 7", "retry_codes"]),
    "code in the default": (job("retry_codes = [0]"), ["jobs.x.retry_codes: 0", "success_codes"]),
    # Durations and waits.
    "timeout": (job("timeout = 'soon'"), ["jobs.x.timeout", "'soon' is not a duration", "1h30m"]),
    "timeout 0": (job("timeout = 0"), ["jobs.x.timeout", "none"]),
    "timeout true": (job("timeout = true"), ["jobs.x.timeout", "is not a duration"]),
    "timeout a time": (job("timeout = 00:05:00"), ["jobs.x.timeout", "is not a duration"]),
    "timeout inf": (job("timeout = inf"), ["jobs.x.timeout", "not a duration"]),
    "kill_after": (job("kill_after = -1"), ["jobs.x.kill_after", "not a duration"]),
    "kill_after none": (job("kill_after = 'none'"), ["jobs.x.kill_after", "not a duration"]),
    "backoff a text": (job("backoff = '5m'"), ["jobs.x.backoff: must be a table", 'fixed = "5m"']),
    "backoff empty": (job("backoff = {}"), ["jobs.x.backoff", "exponential, fixed, waits, polynomial"]),
    "backoff two": (job("backoff = { fixed = '1m', waits = ['1m'] }"), ["jobs.x.backoff", "names 2 shapes"]),
    "backoff shape": (job("backoff = { exponentiel = '1m' }"), ["jobs.x.backoff", "did you mean 'exponential'?"]),
    "backoff option": (job("backoff = { fixed = '1m', jiter = 0 }"), ["jobs.x.backoff.jiter", "mean 'jitter'?"]),
    "backoff foreign": (job("backoff = { fixed = '1m', cap = '5m' }"), ["jobs.x.backoff.cap", "is not a key"]),
    "backoff list": (job("backoff = { fixed = ['1m', '2m'] }"), ["jobs.x.backoff.fixed", "waits"]),
    "backoff base": (job("backoff = { fixed = 'x' }"), ["jobs.x.backoff", "'x' is not a duration"]),
    "backoff base table": (job("backoff = { fixed = { a = 1 } }"), ["jobs.x.backoff", "is not a duration"]),
    "backoff no waits": (job("backoff = { waits = [] }"), ["jobs.x.backoff", "at least one"]),
    "backoff factor": (job("backoff = { exponential = '1m', factor = 0 }"), ["jobs.x.backoff", "factor"]),
    "backoff factor a text": (job("backoff = { exponential = '1m', factor = '2' }"), ["backoff.factor", "a number"]),
    "backoff jitter": (job("backoff = { fixed = '1m', jitter = 2 }"), ["jobs.x.backoff", "jitter"]),
    "backoff jitter true": (job("backoff = { fixed = '1m', jitter = true }"), ["jobs.x.backoff.jitter", "a number"]),
    # Commands.
    "no command": ("[jobs.x]\ntimeout = '5m'\n", ["jobs.x.command: is missing", "pg_dump"]),
    "empty command": (command("[]"), ["jobs.x.command", "the program first"]),
    "empty program": (command("['']"), ["jobs.x.command", "begin with the program"]),
    "text": (command(f"'mysql -p{SECRET}'"), ["jobs.x.command: is text", "shell = true"]),
    "numbers": (command("['/bin/sleep', 5]"), ["jobs.x.command: must be a list of texts"]),
    "command a table": (command("{ a = 'b' }"), ["jobs.x.command: must be a list of texts"]),
    "NUL": (command('["/bin/true", "\\u0000"]'), ["jobs.x.command", "NUL"]),
    "shell and a list": ("[jobs.x]\nshell = true\ncommand = ['a']\n", ["jobs.x.command", "needs no shell"]),
    "shell and nothing": ("[jobs.x]\nshell = true\ncommand = ' '\n", ["jobs.x.command: must be one text"]),
    "shell and NUL": ('[jobs.x]\nshell = true\ncommand = "a\\u0000"\n', ["jobs.x.command", "NUL"]),
    "shell, filled": (
        "[jobs.x]\nshell = true\ncommand = 'rm {payload.path}'\n",
        ["jobs.x.command: {payload.path}", "not filled in for a shell", "JOBRUNNER_RUN_ID"],
    ),
    "placeholder": (command("['/bin/echo', '{run}']"), ["jobs.x.command: {run}", "did you mean {run_id}?"]),
    "placeholder payload": (command("['a', '{payload}']"), ["{payload}", "did you mean {payload.NAME}?"]),
    "placeholder case": (command("['a', '{Run_Id}']"), ["{Run_Id}", "did you mean {run_id}?"]),
    "placeholder, other": (command("['a', '{host}']"), ["{host}", "{slot}", "{payload.NAME}"]),
    "placeholder in a word": (
        command(f"['a', '--password={SECRET}{{run_id}}']"),
        ["jobs.x.command: the placeholder {run_id}", "whole argument"],
    ),
    "two in a word": (command("['a', '{run_id}{slot}']"), ["{run_id}", "whole argument"]),
    "placeholder program": (command("['{payload.program}']"), ["jobs.x.command", "cannot be a placeholder"]),
    # Names.
    "name of two words": ("[jobs.'two words']\ncommand = ['a']\n", ["jobs.two words", "cannot be a job type"]),
    "empty name": ("[jobs.'']\ncommand = ['a']\n", ["cannot be a job type"]),
    "long name": (f"[jobs.{'x' * 201}]\ncommand = ['a']\n", ["cannot be a job type"]),
    "name of letters": ("[jobs.'Zoë']\ncommand = ['a']\n", ["cannot be a job type"]),
    "name of escapes": ('[jobs."\\u001b[2J\\n"]\ncommand = ["a"]\n', ["cannot be a job type"]),
    # Settings.
    "lease": (settings("lease = 'soon'"), ["settings.lease", "'soon' is not a duration"]),
    "lease range": (settings("lease = '11m'"), ["settings.lease", "between 1s and 10m"]),
    "heartbeat": (settings("heartbeat = '30s'"), ["settings.heartbeat", "a third"]),
    "heartbeat a list": (settings("heartbeat = ['5s']"), ["settings.heartbeat", "text or a number"]),
    "concurrency 0": (settings("concurrency = 0"), ["settings.concurrency", "from 1 to 1000"]),
    "concurrency true": (settings("concurrency = true"), ["settings.concurrency", "text or a number"]),
    "payload_limit": (settings("payload_limit = '1 MB'"), ["settings.payload_limit", "whole number"]),
    "a date": (settings("budget = 2026-01-01"), ["settings.budget", "text or a number"]),
    "import a table": (settings("import = { a = 1 }"), ["settings.import", "text or a number"]),
    "import numbers": (settings("import = [1]"), ["settings.import", "text or a number"]),
    "URL a list": (settings(f"database_url = ['postgresql://u:{SECRET}@h/d']"), ["settings.database_url"]),
    "URL misspelt": (
        settings(f"databse_url = 'postgresql://u:{SECRET}@h/d'"),
        ["settings.databse_url", "database_url"],
    ),
}
