"""The operands that a check asks a kernel with: directed rows, whole 16-bit sources, strata, blocks beside decisions. Not here: judging."""
