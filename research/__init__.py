"""Studies behind the pages of evidence, run from a clone: `python -m research`. Not in the package: nothing that emu's users need."""
