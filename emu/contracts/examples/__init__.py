"""TODO emu/contracts/examples."""
