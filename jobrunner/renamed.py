"""Names that are spelled otherwise since the one spelling, each with the new one, by kind: to be dropped at 1.0.

Whatever refuses an old name reads this table, so that the message has the new one.
"""

RENAMED: dict[str, dict[str, str]] = {
    "command": {
        "jobs": "types",
    },
    "parameter": {
        "idempotency_key": "key",
        "taken": "if_taken",
        "on_failure": "if_parent_fails",
    },
    "option": {
        "archive --before": "--until",
        "enqueue --on-failure": "--if-parent-fails",
        "migrate --delete-data": "jobrunner downgrade VERSION --delete-data",
        "migrate --to": "jobrunner downgrade VERSION",
        "pause --json": "jobrunner pauses --json",
        "pause --list": "jobrunner pauses",
        "schedule backfill --from": "--since",
        "schedule backfill --most": "--limit",
        "schedule backfill --to": "--until",
        "schedule next --after": "--since",
        "tick --types": "--type, once for each type",
        "web --add-user": "jobrunner users add NAME",
    },
    "argument": {
        "stats": "--type TYPE",
    },
}
"""The path of a command, and of an option its command and its name, as somebody types them after `jobrunner`."""


def new_name(kind: str, old: str) -> str | None:
    """What a name of this kind is spelled like now. None: it is no old name."""
    return RENAMED.get(kind, {}).get(old)
