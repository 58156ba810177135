"""The commands `emu vectors ...` and `emu sweep`."""
