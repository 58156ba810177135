"""What a release needs, step by step, in one command that can be stopped and goes on: `python -m tools.release`."""
