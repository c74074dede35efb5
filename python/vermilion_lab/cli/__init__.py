"""What the laboratory adds to the ``vermilion`` command."""
