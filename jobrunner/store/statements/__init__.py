"""The statements of a tick, written once in SQLAlchemy Core for both databases.

Each public function that returns a statement is one, named by its module and its name (``statement.Prepared``).
``make statements`` compiles them into ``store/compiled``; ``VARIANTS`` of a module lists the arguments that it uses.
With other arguments a statement is compiled when it is needed.
"""
