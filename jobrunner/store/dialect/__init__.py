"""All that differs between the two databases. The rest of the code is written once for both.

``values``: how an instant is stored and read from the clock. ``connections``: how a connection is opened and a
transaction begins. ``hung_calls``: how a call that hangs is ended. ``statements``: locks and conflicting inserts.
``rows``: how a statement gets many rows. ``callers``: the caller's connection. ``notify``: how a listening tick is
notified of a commit.
"""
