"""TODO emu/rtl/mismatch."""
