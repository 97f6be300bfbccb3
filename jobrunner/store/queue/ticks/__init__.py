"""What ticks write about themselves and for people: their rows, hosts, notices, tallies, the audit trail."""
