"""Ticks in the place of cron: started at each full minute, each a process that ends. It imports no database."""
