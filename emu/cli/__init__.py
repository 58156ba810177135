"""The command `emu`: a file per command. Each parses its words, calls the library, prints, and returns its exit code."""
