"""What connects jobrunner with frameworks. Nothing here is imported unless an application asks for it."""
