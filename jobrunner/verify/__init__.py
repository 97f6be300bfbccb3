"""``verify``: whether a database keeps the promises, by its own history alone.

``verifier`` reads the history in slices, by the statements of ``store/verify``. ``promises`` is the table of what must
hold, and each row of it is a pure function over the rows of one run, effect, schedule or type. None of this uses the
code that has written the history, but for the table of transitions and the slots of an expression.
"""
