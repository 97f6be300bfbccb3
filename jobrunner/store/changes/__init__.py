"""What people change: runs, schedules, pauses, effects, archives."""
