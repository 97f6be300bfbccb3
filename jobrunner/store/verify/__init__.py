"""What ``verify`` reads: plain rows of the tables, by statements that no other code uses."""
