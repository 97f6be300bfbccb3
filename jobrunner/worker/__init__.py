"""One tick in the parent process: it recovers, expands, claims, runs and finalizes."""
