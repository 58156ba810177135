"""Mutants that a kept library draws without looking, and which test notices each first: `python -m tools.blind`."""
