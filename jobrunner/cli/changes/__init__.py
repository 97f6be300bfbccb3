"""The commands below "Change runs" in the help: one module for each, with its name."""
