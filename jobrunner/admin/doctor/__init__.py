"""doctor: checks of the settings, the database, the handlers and the crontab of this host. None changes anything."""
