"""TODO emu/check/report."""
