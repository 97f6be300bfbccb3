"""Tables of cases that more than one module of tests goes through."""
