"""The command `emu show`, with a module for each kind of spec object that has more to tell than its facts."""
