"""TODO emu/vectors/suites."""
