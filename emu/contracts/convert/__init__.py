"""convert: codes of one format to codes of another, under a rounding and a policy for special values."""
