"""Bit-exact emulation of 4-bit number formats."""
