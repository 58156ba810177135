"""What the repository needs and its users do not, run from a clone. Not in the package."""
