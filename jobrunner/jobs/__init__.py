"""Job types (handlers and commands), their payloads, and the outcomes that a handler can ask for. Pure."""
