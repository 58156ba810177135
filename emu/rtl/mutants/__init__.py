"""TODO emu/rtl/mutants."""
