"""Port maps: how the ports of an existing design carry the columns of a golden suite, and the wrapper that follows."""
