"""The checks of the repository as rings, from one table of steps: `python -m tools.rings --ring change`. It needs Python alone."""
