"""TODO emu/engines/c_ref."""
