"""What an application calls: it registers handlers, enqueues runs, and says what goes on around each run."""
