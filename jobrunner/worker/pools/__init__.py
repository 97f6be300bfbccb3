"""Pools: which processes run which job types, and how many runs each pool can take now."""
