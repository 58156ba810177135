"""TODO emu/base."""
