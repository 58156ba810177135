"""TODO emu/explain."""
