"""TODO emu/explain/dot."""
