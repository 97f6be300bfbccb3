"""The statements of the life of runs."""
