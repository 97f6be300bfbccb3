"""Print, install or remove the crontab line that runs a tick of this installation each minute."""
