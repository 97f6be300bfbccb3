"""Say who may sign in to the dashboard, in a user file."""
