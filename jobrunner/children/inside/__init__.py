"""What runs in the child's process. Nothing here is imported by the parent."""
