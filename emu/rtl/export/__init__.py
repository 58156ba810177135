"""Golden functions for formal tools, constants of the spec for SystemVerilog and C, and proofs that a design equals a golden function."""
