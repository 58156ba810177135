"""`emu bench`: speed beside other libraries and the machine's own limit, ratios within one run, one thread. Tests never time; this does.

Not here: correctness (tests/), the command line (emu/cli/bench.py).
"""

from emu.bench.measurement import Measurement
from emu.bench.model import Stage, run_model
from emu.bench.run import run
from emu.bench.table import as_json, as_markdown, model_json, model_markdown

__all__ = ["Measurement", "Stage", "as_json", "as_markdown", "model_json", "model_markdown", "run", "run_model"]
