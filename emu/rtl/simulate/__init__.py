"""TODO emu/rtl/simulate."""
