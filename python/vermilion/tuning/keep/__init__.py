"""Tunings in a file, so that they can be stopped, read and gone on with."""
