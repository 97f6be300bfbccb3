"""Names that are spelled otherwise since the one spelling, each with the new one, by kind: to be dropped at 1.0.

Whatever refuses an old name reads this table, so that the message has the new one.
"""

RENAMED: dict[str, dict[str, str]] = {
    "command": {
        "jobs": "types",
        "schedule crontab": "crontab line",
    },
    "parameter": {
        "idempotency_key": "key",
        "taken": "if_taken",
        "on_failure": "if_parent_fails",
    },
    "option": {
        "archive --before": "jobrunner archive runs --until",
        "archive --finish": "jobrunner archive finish FILE",
        "archive --keep": "jobrunner archive runs --keep",
        "archive --restore": "jobrunner archive restore FILE",
        "archive --state": "jobrunner archive state FILE",
        "archive --type": "jobrunner archive runs --type",
        "archive --until": "jobrunner archive runs --until",
        "crontab install --log-file": "--log",
        "crontab line --log-file": "--log",
        "enqueue --on-failure": "--if-parent-fails",
        "migrate --delete-data": "jobrunner downgrade VERSION --delete-data",
        "migrate --sql": "jobrunner schema",
        "migrate --to": "jobrunner downgrade VERSION",
        "pause --json": "jobrunner pauses --json",
        "pause --list": "jobrunner pauses",
        "schedule backfill --from": "--since",
        "schedule backfill --most": "--limit",
        "schedule backfill --to": "--until",
        "schedule crontab --install": "jobrunner crontab install",
        "schedule crontab --remove": "jobrunner crontab remove",
        "schedule next --after": "--since",
        "tick --log-file": "--log",
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
