"""The commands below "See what happens" in the help: one module for each, with its name."""
