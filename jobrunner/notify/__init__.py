"""What tells people and programs: messages of hooks, their receivers, and pings. Knows no database."""
