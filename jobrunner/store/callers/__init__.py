"""Connections of an application, and transactions on them, with and without an event loop."""
