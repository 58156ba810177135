"""TODO emu/arrays."""
