"""Pools: which processes serve which job types, and how many runs each can take now."""
