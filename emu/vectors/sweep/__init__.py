"""`emu sweep`: the proof that all engines convert alike, input by input, over whole finite spaces, and its record.

space.py says what is swept, inputs.py which codes and random integers that means, judge.py compares, runner.py goes on after a kill,
record.py keeps docs/evidence/sweeps.json and tells when it is stale. Not here: the engines, the command line (emu/cli/vectors/sweep.py).
"""

from emu.vectors.sweep.inputs import count_inputs
from emu.vectors.sweep.record import COMMAND, Stale, add_result, drop, is_partial, of_other_code, read_record, stale_sweeps
from emu.vectors.sweep.runner import Differs, Result, run
from emu.vectors.sweep.space import Sweep, planned

__all__ = [
    "COMMAND",
    "Differs",
    "Result",
    "Stale",
    "Sweep",
    "add_result",
    "count_inputs",
    "drop",
    "is_partial",
    "of_other_code",
    "planned",
    "read_record",
    "run",
    "stale_sweeps",
]
