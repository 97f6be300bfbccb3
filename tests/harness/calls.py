"""The table of calls: for each command those that the tests of schemas, JSON, terminals, warm starts and help share."""

from typing import NamedTuple


class Call(NamedTuple):
    """How a command is called. ``{run}`` is a run that is there, ``{schedule}`` a schedule."""

    words: str
    """What suffices for the command to do its work."""
    needs_tables: bool = True
    """Whether it refuses a database without our tables."""
    fits_terminal: bool = False
    """Whether what it shows fits the width of a terminal."""
    json: tuple[str | None, str] | None = None
    """With --json: a call when nothing is there, and one when there is something. None: these words for both."""
    warm: str | None = None
    """A call that prints the same twice, and ends. None: these words."""

    def json_calls(self) -> tuple[str | None, str]:
        """See ``json``. What names a run or a schedule needs one to be there."""
        return self.json or (None if "{" in self.words else self.words, self.words)


OF_MANY = {
    "cancel": "cancel --all --dry-run",
    "discard": "discard --all --reason x --dry-run",
    "priority": "priority 5 --all --dry-run",
    "reschedule": "reschedule --all --run-at +1h --dry-run",
}
_BACKFILL = "schedule backfill {schedule} --since 2026-01-01T00:00Z --until 2026-01-01T00:02Z"
# In this order they work on what those before have made.
CALLS = {
    "migrate": Call("migrate", needs_tables=False),
    "enqueue": Call("enqueue echo --key k", json=(None, "enqueue echo --key k")),
    "schedule add": Call("schedule add {schedule} --type echo --cron @daily"),
    "tick": Call("tick", warm="tick -v"),
    "status": Call("status", fits_terminal=True, warm="status --json"),
    "runs": Call("runs", fits_terminal=True, json=("runs", "runs --limit 3"), warm="runs --json"),
    "errors": Call("errors", fits_terminal=True),
    "stats": Call("stats", fits_terminal=True, warm="stats --type nothing"),
    "health": Call("health", fits_terminal=True, warm="health --only uncertain_effects"),
    "metrics": Call("metrics", warm="metrics --help"),
    "explain": Call("explain {run}", fits_terminal=True),
    "show": Call("show {run}", fits_terminal=True),
    "logs": Call("logs {run}"),
    "history": Call("history", fits_terminal=True, json=("history", "history --since 20d")),
    "retry": Call("retry {run}", json=("retry --all", "retry --all --yes")),
    "cancel": Call("cancel {run}", json=(OF_MANY["cancel"],) * 2),
    # The run has ended.
    "watch": Call("watch {run}"),
    "reschedule": Call("reschedule {run} --run-at +1m", json=(OF_MANY["reschedule"],) * 2),
    "priority": Call("priority 1 {run}", json=(OF_MANY["priority"],) * 2),
    "run": Call("run echo", warm="run nothing"),
    "discard": Call("discard {run} --reason x", json=(OF_MANY["discard"],) * 2),
    "effects list": Call("effects list", fits_terminal=True),
    "effects settle": Call("effects settle k --applied"),
    "schedule list": Call("schedule list", fits_terminal=True),
    "schedule show": Call("schedule show {schedule}", fits_terminal=True),
    "schedule edit": Call("schedule edit {schedule} --cron @hourly"),
    "schedule pause": Call("schedule pause {schedule}"),
    "schedule resume": Call("schedule resume {schedule}"),
    "schedule trigger": Call("schedule trigger {schedule}"),
    "schedule backfill": Call(_BACKFILL, json=(None, f"{_BACKFILL} --again --dry-run")),
    "schedule next": Call("schedule next {schedule}", fits_terminal=True),
    "schedule remove": Call("schedule remove {schedule}"),
    "schedule import": Call("schedule import /nowhere/tab", needs_tables=False),
    "apply": Call("apply", json=("apply --dry-run", "apply")),
    "types": Call("types", needs_tables=False, fits_terminal=True),
    "pause": Call("pause --all"),
    "pauses": Call("pauses", fits_terminal=True),
    "resume": Call("resume --all"),
    "limit": Call("limit echo --max-running 2 --reason slow"),
    "limits": Call("limits", fits_terminal=True),
    "unlimit": Call("unlimit echo"),
    "prune": Call("prune", json=("prune", "prune --dry-run"), warm="prune --dry-run"),
    "archive runs": Call("archive runs --until 1d /nowhere/runs.jsonl"),
    "archive finish": Call("archive finish /nowhere/runs.jsonl"),
    "archive state": Call("archive state /nowhere/state.jsonl"),
    "archive restore": Call("archive restore /nowhere/runs.jsonl"),
    # Whatever is there is replaced.
    "restore": Call("restore /nowhere/backup.db", needs_tables=False),
    "doctor": Call("doctor --no-crontab", needs_tables=False, warm="doctor --no-crontab --json"),
    "verify": Call("verify", fits_terminal=True, warm="verify --json"),
    "schema": Call("schema", needs_tables=False),
    "crontab line": Call("crontab line", needs_tables=False),
    "crontab install": Call("crontab install", needs_tables=False, warm="crontab install --help"),
    "crontab remove": Call("crontab remove", needs_tables=False, warm="crontab remove --help"),
    "completion": Call("completion bash", needs_tables=False),
    "users add": Call("users add", needs_tables=False),
    "move": Call("move --undo"),
    "downgrade": Call("downgrade 1", needs_tables=False),
    # These have no end. The ticks that dev and loop start report a database without tables.
    "loop": Call("loop", needs_tables=False, warm="loop --help"),
    "dev": Call("dev", needs_tables=False, warm="dev --help"),
    "web": Call("web", needs_tables=False, warm="web --help"),
    # Its client asks for the tables, and it ends when standard input does.
    "mcp": Call("mcp", needs_tables=False, warm="mcp --help"),
}
WITH_A_SCHEMA = [
    *(call.words.format(run=1, schedule="n").split() for call in CALLS.values() if call.needs_tables),
    OF_MANY["cancel"].split(),
]
"""A call of each command that needs the tables, and one for many runs."""
