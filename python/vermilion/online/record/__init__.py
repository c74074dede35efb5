"""Record of a controller's observations, decisions and settings."""
