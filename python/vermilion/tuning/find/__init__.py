"""The way to the best setting: search, race, and the comparison with what is in force."""
