"""Rows of dot products: constructed terms, ties, cancellation, wide spreads, both ends of every register."""
