"""TODO emu/cli/rtl."""
