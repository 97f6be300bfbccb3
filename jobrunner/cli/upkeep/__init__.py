"""The commands below "Set up and keep house" in the help: one module for each, with its name."""
