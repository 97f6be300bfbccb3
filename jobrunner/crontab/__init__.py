"""Leaving crontab behind: reading a crontab, what its lines become here, and the one line that stays in it."""
