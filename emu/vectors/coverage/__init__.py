"""What rows reach: counts of the coverage models of spec/coverage, bins proved to be out of reach, holes."""
