"""TODO emu/cli/show."""
