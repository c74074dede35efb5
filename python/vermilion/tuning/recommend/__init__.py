"""What a tuning comes to, for people and for machines."""
