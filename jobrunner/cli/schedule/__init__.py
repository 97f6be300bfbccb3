"""schedule: the commands that show and change schedules."""
