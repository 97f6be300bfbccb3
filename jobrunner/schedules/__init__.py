"""When a job type runs by itself: recurrences, time zones, and which slots get a run. Pure."""
