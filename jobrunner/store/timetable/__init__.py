"""Slots of schedules: their expansion into runs, and what may keep a slot from getting one."""
