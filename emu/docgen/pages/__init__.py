"""The pages of docs/reference: one module per kind of spec object, and a few that look across kinds."""
