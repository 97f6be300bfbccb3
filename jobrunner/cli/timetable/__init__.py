"""The commands below "Schedules and job types" in the help: one module for each, with its name."""
