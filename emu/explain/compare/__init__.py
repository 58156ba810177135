"""TODO emu/explain/compare."""
