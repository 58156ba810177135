"""Checks of spec objects that need other files: a checker per kind. Faults carry file and line."""
