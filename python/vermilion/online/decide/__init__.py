"""What to do next: the controller's states, and what each makes of what happens."""
