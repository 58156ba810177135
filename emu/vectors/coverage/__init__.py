"""TODO emu/vectors/coverage."""
