"""What must hold of a run, an effect, a schedule and a type: pure functions, which ``promises`` lists."""
