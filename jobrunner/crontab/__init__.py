"""Imports a crontab: reads it, converts its lines to jobs, and writes the one line that stays in it."""
