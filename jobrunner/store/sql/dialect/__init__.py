"""What differs between the two databases in the language of the statements, which is written once for both.

``values``: how an instant is stored and read from the clock. ``statements``: inserts that may conflict. ``rows``: how a
statement gets many rows. What differs in the connections is in ``drivers``.
"""
