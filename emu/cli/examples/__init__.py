"""Worked examples of spec files, run through the reference model. Not here: who asks (emu doctor, tests)."""
