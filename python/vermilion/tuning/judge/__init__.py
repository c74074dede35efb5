"""What measured settings are worth: bounds kept or broken, one setting against another."""
