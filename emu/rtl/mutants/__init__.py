"""Mutants that yosys draws from the netlists of the reference designs, and which golden rows kill them."""
