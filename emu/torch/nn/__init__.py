"""Layers whose three matrix products are quantized as a training recipe of the spec says."""
