"""TODO research/cost."""
