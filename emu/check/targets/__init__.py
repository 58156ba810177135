"""TODO emu/check/targets."""
