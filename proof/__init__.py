"""The worst day for real: `make proof`. See README.md beside this file."""
