"""Manage schedules: runs that start by themselves."""
