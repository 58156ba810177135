"""TODO emu/vectors/suites/dot."""
