"""TODO emu/contracts."""
