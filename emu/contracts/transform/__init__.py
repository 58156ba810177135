"""transform: rotations of groups of numbers."""
