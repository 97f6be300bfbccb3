"""Tables of cases that several test modules use."""
