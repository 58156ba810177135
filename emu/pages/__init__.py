"""Pages of spec objects, shipped or a user's: each kind has a template (templates/) and a module that gives it data."""
