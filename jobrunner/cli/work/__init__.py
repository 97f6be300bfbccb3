"""The commands below "Work" in the help: one module for each, with its name."""
