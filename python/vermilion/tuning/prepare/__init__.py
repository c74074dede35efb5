"""What is asked for, and what that means in its scenarios."""
