"""check: does a kernel give the bits of a contract? Targets, inputs, judging and the report. It runs the code of its target."""
