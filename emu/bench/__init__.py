"""`emu bench`: speed of the NumPy column beside other libraries, ratios within one run, one thread. Tests never time; this does.

Not here: correctness (tests/), the command line (emu/cli/bench.py).
"""

from emu.bench.run import Measurement, run
from emu.bench.table import as_json, as_markdown

__all__ = ["Measurement", "as_json", "as_markdown", "run"]
