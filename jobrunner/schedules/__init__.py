"""Schedules: when they fire, in which time zone, and which slots get a run. Pure."""
