"""The few rows whose results on a real machine decide the open facts of its datapath."""
