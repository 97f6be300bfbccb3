"""The statements of a tick for each database, written by `make statements`."""
