"""Recipe programs with every step typed, before anything runs. Not here: what an operation computes (emu.engines)."""
