"""What moves the controller: a router, a clock, searches and a journal."""
