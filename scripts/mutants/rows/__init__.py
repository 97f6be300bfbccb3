"""The mutations that are written by hand, a table for each room."""

from rows import changes, checkpoints, effects, jobs, page, queue, ticker, timetable, upkeep, worker

MUTATIONS = (
    *queue.MUTATIONS,
    *worker.MUTATIONS,
    *timetable.MUTATIONS,
    *effects.MUTATIONS,
    *ticker.MUTATIONS,
    *upkeep.MUTATIONS,
    *jobs.MUTATIONS,
    *changes.MUTATIONS,
    *checkpoints.MUTATIONS,
    *page.MUTATIONS,
)
