"""TODO emu/rtl/export."""
