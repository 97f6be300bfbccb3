"""What a handler does with the database through its context: guarded effects, and its own transaction."""
