"""The room of the drivers: opens connections, begins transactions, ends calls that hang, and notifies of commits.

It needs no SQLAlchemy. A module of a database is imported only when that database is used.
"""
