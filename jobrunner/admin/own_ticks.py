"""What this host knows of its own ticks: the crontab line that starts them, and whether they use another database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from jobrunner import clock
from jobrunner.settings import state_folder
from jobrunner.settings.config import Config
from jobrunner.settings.state_folder import LastTick
from jobrunner.store.questions.explain.explanation import Explanation, ago
from jobrunner.store.questions.explain.hosts import CRON_LINE

_ONE_DATABASE = "set JOBRUNNER_DATABASE_URL of the ticks, or of this command, to the right database: jobrunner doctor"
_RECENT = timedelta(hours=1)


def add_own_ticks(found: Explanation, config: Config, database: str) -> Explanation:
    """The explanation with what only this host can tell. ``database`` is the name that the command uses it by.

    What is known are the ticks of this user on this machine, by the notes in their state folder, and the crontabs that
    this user may read. It opens no database.
    """
    noted = state_folder.last_ticks(state_folder.for_state(config.state_dir))
    now = clock.utc_now().timestamp()
    recent = [tick for tick in noted if now - tick.at < _RECENT.total_seconds()]
    names = sorted({tick.host for tick in recent if tick.database == database})
    if names and config.host not in names:
        listed = ", ".join(names)
        note = f"the ticks of this machine have the host name {listed}, and this command has {config.host}"
        found = replace(found, notes=(*found.notes, f"{note}: set JOBRUNNER_HOST for both"))
    if found.reason != "ticks_stopped":
        return found
    last = found.facts.get("last_tick_at")
    elsewhere = next((tick for tick in recent if tick.database != database), None)
    if elsewhere is None or (last is not None and elsewhere.at < last.timestamp()):
        return _with_cron_line(found, config.host, noted)
    sentence = (
        f"{found.sentence} The ticks of this user on this machine do come, but use another database:"
        f" {elsewhere.database}, the last one {ago(now - elsewhere.at)} ago."
    )
    facts = {**found.facts, "other_database": elsewhere.database}
    return replace(found, reason="ticks_elsewhere", sentence=sentence, facts=facts, remedy=_ONE_DATABASE)


def _with_cron_line(found: Explanation, name: str, noted: Sequence[LastTick]) -> Explanation:
    """With the place of the line that no longer works, not with its text, which may have a password."""
    host = found.facts.get("last_tick_host")
    if host not in (None, name, *(tick.host for tick in noted)):
        return replace(found, sentence=f"{found.sentence} Look on {host} for the crontab line {CRON_LINE}.")
    from jobrunner.admin.doctor import cron

    lines, _ = cron.lines()
    if not lines:
        sentence = f"{found.sentence} No crontab that this user may read has a line such as {CRON_LINE}."
        return replace(found, sentence=sentence)
    places = ", ".join(f"{line.source}, line {line.number}" for line in lines)
    sentence = f"{found.sentence} Look at the line that starts them here: {places}."
    return replace(found, sentence=sentence, facts={**found.facts, "cron_line": places})
