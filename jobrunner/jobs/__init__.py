"""What can run: job types as handlers or commands, their payloads, and how a handler says how its run ends. Pure."""
