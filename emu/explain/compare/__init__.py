"""Two datapaths on the same operands: where they differ, how often, by how much, and the smallest row that shows it."""
