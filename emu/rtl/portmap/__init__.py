"""TODO emu/rtl/portmap."""
