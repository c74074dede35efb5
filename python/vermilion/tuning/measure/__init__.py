"""Settings on seeds: what simulations of a setting have shown."""
