"""Checkpoint files: which recipe, layout and tensors they hold. Passive: only the stored bytes are read."""
