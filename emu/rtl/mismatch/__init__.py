"""A MISMATCH line of the bench explained: the trace of its row, and which single deviations explain what the design gave."""
