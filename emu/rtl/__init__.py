"""Hand-over to RTL: the bench kit, simulators, reference designs, exports. Not here: the vectors themselves (emu/vectors)."""
