"""identify: which documented behaviour is a kernel? Decoded in stages, so that the cost is the sum of the axes. Not here: files of checkpoints."""
