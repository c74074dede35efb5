"""Files that are written whole, that one process has at a time, or that several begin at once."""
