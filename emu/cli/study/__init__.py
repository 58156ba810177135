"""TODO emu/cli/study."""
