"""The kernels that a check can ask: Python callables, C symbols, executables, answers in a file; and asking them in another process."""
