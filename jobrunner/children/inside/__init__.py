"""The code that runs in the child's process. The parent imports only two constants of it."""
