"""What a found setting is checked against: simple rivals, and other conditions."""
