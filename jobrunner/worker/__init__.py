"""One tick in the parent process: it recovers, expands, claims, dispatches and finalizes."""
