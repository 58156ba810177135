"""TODO emu/spec/checks."""
