"""TODO research."""
