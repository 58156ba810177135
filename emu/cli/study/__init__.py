"""The commands `emu study ...`, a module each."""
