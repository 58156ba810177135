"""Which rows a suite holds: the cases of each operation, and the plans of the frozen selection."""
