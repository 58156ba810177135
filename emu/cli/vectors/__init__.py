"""TODO emu/cli/vectors."""
