"""The statements of ticks."""
