"""TODO emu/explain/probe."""
