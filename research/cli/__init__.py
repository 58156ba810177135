"""TODO research/cli."""
