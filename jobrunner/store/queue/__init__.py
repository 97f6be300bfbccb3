"""The life of runs: from their enqueue through claim and lease to their end."""
