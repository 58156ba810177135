"""TODO research/datapath."""
