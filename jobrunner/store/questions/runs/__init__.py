"""What people ask about one run, and lists of runs."""
