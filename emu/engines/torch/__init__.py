"""TODO emu/engines/torch."""
