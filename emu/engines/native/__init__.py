"""TODO emu/engines/native."""
