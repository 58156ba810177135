"""TODO tools/compare_driver."""
