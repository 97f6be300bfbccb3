"""Keep old runs in a file, put them back, and move what is no run to another database."""
