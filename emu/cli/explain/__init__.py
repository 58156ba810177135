"""TODO emu/cli/explain."""
