"""What the repository needs and its users do not, run from a clone: `python -m tools.<name>`. Not in the package."""
