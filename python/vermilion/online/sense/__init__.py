"""Estimates of a network from its router's counters and a monitor beside it."""
