"""TODO emu/spec/programs."""
