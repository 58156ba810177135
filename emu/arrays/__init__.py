"""Arrays: values as raw bits and back, at the public edge. Not here: what the bits mean (emu.spec), operations on them (emu.ops)."""
