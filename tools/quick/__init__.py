"""The tests that a change is likely to break, nearest first, within minutes: `python -m tools.quick`."""
