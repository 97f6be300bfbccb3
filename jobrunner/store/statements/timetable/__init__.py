"""The statements of slots."""
