"""The database itself: its migrations, its repair, and what doctor asks about it."""
