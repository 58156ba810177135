"""identify: which documented behaviour is a kernel? Found in stages, so the cost is the sum of the axes. Not here: files of checkpoints."""
