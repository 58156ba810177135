"""operate: an operation on numbers, projected once."""
