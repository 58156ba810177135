"""The commands `emu rtl ...`, a module each."""
