"""What hides secrets in all that leaves for a page, a receiver of notices or a monitor."""

MASK = "•••"
"""Stands for each secret."""
