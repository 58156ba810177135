"""insn: one instruction on raw registers."""
