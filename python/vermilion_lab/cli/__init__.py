"""Commands that the laboratory adds to ``vermilion``."""
