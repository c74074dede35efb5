"""Networks that can be simulated and behave like the one that is watched."""
