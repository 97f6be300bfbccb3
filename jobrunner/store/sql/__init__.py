"""Statements as a driver takes them, the language that differs between the databases, and what is compiled ahead."""
