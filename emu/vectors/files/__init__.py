"""TODO emu/vectors/files."""
