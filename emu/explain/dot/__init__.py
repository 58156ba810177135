"""One dot product explained: rows from text, suites or drawn; every stage as data, as text and as waves."""
