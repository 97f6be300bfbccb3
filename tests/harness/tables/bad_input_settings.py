"""The table of bad inputs, continued: times, numbers, keys, schedules, settings, command lines."""

from harness.tables.bad_input import ESCAPES, HERE, NOT_UTF8, SQL, SURROGATE, Bad, Section, enqueue, schedule

TIMES = [
    "tomorrow",
    "now",
    "",
    " ",
    "2031-01-31",
    "10000-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    "1969-12-31T23:59:59Z",
    "2031-02-30T09:00:00Z",
    "2031-13-01T09:00:00Z",
    "2031-00-10T09:00:00Z",
    "2030-02-29T09:00:00Z",
    "2031-01-31T09:00:00",
    "2031-01-31 09:00",
    "2031-01-31T25:00:00Z",
    "2031-01-31T24:00:00Z",
    "2031-01-31T09:60:00Z",
    "2031-01-31T23:59:60Z",
    "2031-01-31T09:00:00+99:99",
    "2031-01-31T09:00:00+24:00",
    "2031-01-31T09:00:00Z\n",
    "2031-01-31T09:00:00[Europe/Berlin]",
    "２０３１-01-31T09:00:00Z",
    "1924938000",
    "-5m",
    "+",
    "+-5m",
    "+5 parsecs",
    "+1e3",
    "+nan",
    "+inf",
    "+" + "9" * 400,
    "+11y",
    "+3661d",
    "x" * 100_000,
    ESCAPES,
    NOT_UTF8,
    SQL,
]
NUMBERS = ["", "high", "1.5", "1e3", "1_0", " 5", "٣", "99999999999999999999", "9" * 5000, ESCAPES, NOT_UTF8]
TIMEOUTS = [
    "",
    "0",
    "0s",
    "-5s",
    "soon",
    "NONE",
    "1h30",
    "5 parsecs",
    "nan",
    "inf",
    "9" * 400,
    "11y",
    ESCAPES,
    NOT_UTF8,
]


def short(text: str) -> str:
    return text[:24].encode("unicode_escape", "replace").decode()


def time_rows() -> Section:
    # What is a time but lies too far off is told in the words of every way in.
    far = {"9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z"}
    return {short(text): Bad(enqueue("--run-at", text), "run_at" if text in far else "--run-at") for text in TIMES}


def number_rows() -> Section:
    rows = {f"priority {short(text)}": Bad(enqueue("--priority", text), "--priority") for text in NUMBERS}
    rows |= {f"attempts {short(text)}": Bad(enqueue("--max-attempts", text), "--max-attempts") for text in NUMBERS}
    for text in ("1001", "-1001", "-99999999999999999999"):
        rows[f"priority {text}"] = Bad(enqueue("--priority", text), "--priority")
    for text in ("0", "-1", "1001"):
        rows[f"attempts {text}"] = Bad(enqueue("--max-attempts", text), "--max-attempts")
    rows |= {f"timeout {short(text)}": Bad(enqueue("--timeout", text), "timeout") for text in TIMEOUTS}
    for text in ("", "k" * 501, NOT_UTF8, SURROGATE):
        rows[f"key {short(text)}"] = Bad(enqueue("--key", text), "jobrunner: key ")
    return rows


CRONS = {
    "": "empty",
    " \t ": "empty",
    "* * * *": "needs 5 fields",
    "* * * * * *": "needs 5 fields",
    "60 * * * *": "out of range",
    "* 24 * * *": "out of range",
    "* * 0 * *": "out of range",
    "* * 32 * *": "out of range",
    "* * * 13 *": "out of range",
    "* * * * 8": "out of range",
    "-1 * * * *": "not understood",
    "1.5 * * * *": "not understood",
    "*5 * * * *": "not understood",
    "a * * * *": "not understood",
    "* * * * someday": "not understood",
    "? * * * *": "not understood",
    "@reboot": "@reboot",
    "@never": "unknown",
    "@every 5m": "write 'every 5m'",
    "@daily x": "nothing may follow @daily",
    "*/0 * * * *": "a step cannot be 0",
    "*/60001 * * * *": "step",
    "5/15 * * * *": "range",
    "0 22-2 * * *": "backwards",
    "* * * * fri-mon": "backwards",
    "1,,2 * * * *": "empty item",
    "0 0 30 2 *": "never fire",
    "31 2 30 2 *": "never fire",
    "0 0 31 4,6,9,11 *": "never fire",
    "* * * * mon#6": "not understood",
    "* * * * *\n": "one line",
    "* * * * *\nSHELL=/bin/sh": "one line",
    "* * * * * rm -rf /": "needs 5 fields",
    "TZ=UTC * * * *": "timezone",
    "tomorrow": "needs 5 fields",
    "٣ * * * *": "ASCII",
    "\u00a0* * * * *": "ASCII",
    "1," * 60_000 + "1 * * * *": "characters",
    f"{ESCAPES} * * * *": "ASCII",
    f"{NOT_UTF8} * * * *": "ASCII",
    SQL: "bad schedule",
}
ZONES = [
    "",
    " ",
    "Europe/Atlantis",
    "europe\\berlin",
    "../../etc/passwd",
    "../../../../../../../../etc/passwd",
    "/etc/localtime",
    "/usr/share/zoneinfo/UTC",
    "localtime",
    "posixrules",
    "right/UTC",
    "Europe",
    "Europe/",
    "/",
    ".",
    "zone.tab",
    "tzdata.zi",
    "+01:00",
    "UTC+1:00",
    "UTC\n",
    "Europe/Berlin ",
    "\\0",
    "A" * 100_000,
    "A/" * 1000,
    ESCAPES,
    NOT_UTF8,
    SQL,
]
NAMES = ["", " ", "n" * 201, ESCAPES, "a\nb", "a\u202eb", "a\u200bb", NOT_UTF8, SURROGATE]


# Further options of a schedule that is right but for them.
OPTIONS = {
    ("--misfire", "all", "--overlap", "replace"): "contradict each other",
    ("--overlap", "never"): "--overlap",
    ("--jitter", "0"): "jitter must be longer than 0",
    ("--ends-at", "tomorrow"): "ends_at must be an instant with its offset",
    ("--max-runs", "1.5"): "--max-runs",
    ("--misfire-most", "10001"): "--misfire-most",
    ("--cron", "@daily"): "--schedule and --cron are two ways to say when it fires",
    ("--every", "5m"): "No such option '--every'",
}


def cron_rows() -> Section:
    rows = {short(text): Bad(schedule("--schedule", text), says) for text, says in CRONS.items()}
    rows |= {" ".join(words): Bad(schedule(*words), says) for words, says in OPTIONS.items()}
    words = ("schedule", "add", "n", "--type", "echo", "--cron", "every 5m")
    return rows | {"an interval as --cron": Bad(words, "--cron is for the expressions of a crontab")}


def zone_rows() -> Section:
    rows = {f"zone {short(text)}": Bad(schedule("--timezone", text), "bad time zone") for text in ZONES}
    for text in NAMES:
        words = ("schedule", "add", "--type", "echo", "--cron", "@daily", "--", text)
        rows[f"name {short(text)}"] = Bad(words, "name of a schedule")
    for text in ("none", "", "n" * 100_000, ESCAPES, NOT_UTF8, SQL):
        rows[f"remove {short(text)}"] = Bad(("schedule", "remove", "--", text), "no schedule named", code=1)
    return rows


DURATIONS = ("LEASE", "HEARTBEAT", "BUDGET", "GRACE", "START_LIMIT", "DEPLOY_GRACE", "PATIENCE")
KEPT = ("KEEP_SUCCEEDED", "KEEP_CANCELLED", "KEEP_DEAD", "KEEP_TICKS", "KEEP_EVENTS")
WRONG = {
    **{name: ["soon", "-1s", "9" * 400, ESCAPES] for name in DURATIONS},
    **{name: ["for ever", "-1d"] for name in KEPT},
    "LINGER": ["soon", "-1s", "2m1s", "yes"],
    "CONCURRENCY": ["0", "-1", "1.5", "many", "1001", "0" * 30 + "1001", "9" * 5000, ESCAPES],
    "BATCH": ["0", "-1", "many", "1e3", "٣", "9" * 4301],
    "PAYLOAD_LIMIT": ["1MB", "0", "9" * 30],
    "HOST": [NOT_UTF8],
    "STATE_DIR": [NOT_UTF8],
}
# What is a duration, and out of bounds or no usual one.
BOUNDS = {
    "LEASE": ["0", "0.5s", "11m", "1h30", "nan", "inf", "1e3"],
    "HEARTBEAT": ["0", "21s"],
    "BUDGET": ["0", "11y"],
    "PATIENCE": ["0", "0.9s", "11m"],
}


def setting_rows() -> Section:
    rows = {}
    for name, values in (*WRONG.items(), *BOUNDS.items()):
        for value in values:
            variable = f"JOBRUNNER_{name}"
            rows[f"{name} {short(value)}"] = Bad(("tick",), variable, code=78, env={variable: value})
    return rows


def place_rows() -> Section:
    rows = {}
    # A run that is due asks for the handlers; `jobs` asks without a trace in the database.
    for value in ("../evil", "a b", "a..b", ".", ";", "handlers;evil", ESCAPES.strip(), "x" * 5000):
        says = "not the name of a module" if len(value) < 100 else "importing the handler module"
        rows[f"IMPORT {short(value)}"] = Bad(("types",), says, code=78, env={"JOBRUNNER_IMPORT": value})
    rows["IMPORT not UTF-8"] = Bad(("types",), "JOBRUNNER_IMPORT", code=78, env={"JOBRUNNER_IMPORT": NOT_UTF8})
    for value in ("/nonexistent", f"{HERE}/half", ESCAPES.strip()):
        rows[f"APP_DIR {short(value)}"] = Bad(
            ("types",), "JOBRUNNER_APP_DIR", code=78, env={"JOBRUNNER_APP_DIR": value}
        )
    for value in ("none/log", "half/log", "fifo", "socket", "x" * 300):
        place = f"{HERE}/{value}"
        rows[f"LOG {short(value)}"] = Bad(("tick",), place, code=78, env={"JOBRUNNER_LOG": place})
    for place in (HERE, "/", "/proc/log", "/dev/null/log"):
        rows[f"LOG, {place}"] = Bad(("tick",), place, code=78, env={"JOBRUNNER_LOG": place})
    for value in (
        "nonsense",
        "mysql://h/d",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://h:99999/d",
        ESCAPES.strip(),
    ):
        env = {"JOBRUNNER_DATABASE_URL": value}
        rows[f"DATABASE_URL {short(value)}"] = Bad(
            ("status",), "SQLite URL" if "sqlite" in value else "database URL", 69, env=env
        )
    return rows


FLAGS = {
    "--budget": ["soon", "-1s", "0", "0s", ESCAPES],
    "--grace": ["soon", "-1s"],
    "--linger": ["soon", "121s", ESCAPES],
    "--concurrency": ["0", "1001", "many", "1_0"],
    "--batch": ["0", "-5", "1.5"],
}


def command_rows() -> Section:
    rows = {}
    for flag, values in FLAGS.items():
        for value in values:
            rows[f"{flag} {short(value)}"] = Bad(("tick", f"{flag}={value}"), flag)
    for name in ("fifo", "socket", "none/log", "half/log"):
        place = f"{HERE}/{name}"
        rows[f"--log {name}"] = Bad(("tick", "--log", place), place, code=78)
    rows["--log, a folder"] = Bad(("tick", "--log", HERE), "--log")
    for words in (
        ("no-such-command",),
        (ESCAPES,),
        (NOT_UTF8,),
        (SQL,),
        ("--no-such-option",),
        ("",),
        ("schedule", "nope"),
        ("schedule", "list", "more"),
        ("enqueue",),
        ("enqueue", "echo", "more"),
        ("enqueue", "echo", f"--{ESCAPES}"),
        ("enqueue", "echo", f"--{NOT_UTF8}"),
        ("enqueue", "echo", "--payload"),
        ("enqueue", "echo", "--json=1"),
        ("schedule", "add", "n"),
        ("schedule", "add", "n", "--type", "echo"),
        ("schedule", "remove"),
        ("status", "more"),
        ("tick", "now"),
        ("tick", "--verbose=3"),
        ("show", "1", "2"),
    ):
        rows[" ".join(short(word) for word in words)] = Bad(
            words, "--schedule" if words[:4:2] == ("schedule", "n") and "--type" in words else "--help"
        )
    rows["a very long command"] = Bad(("x" * 100_000,), "No such command")
    return rows
