"""Golden suites on a design in a simulator: the bench kit, its files, running it, and what its output says."""
