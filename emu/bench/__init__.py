"""`emu bench`: how fast the operations are on this machine, engine by engine, in one thread; the stages of a whole file.

Tests never time; this does.
Not here: correctness (tests/), the command line (emu/cli/bench.py), other libraries beside emu (`python -m tools.bench` in the repository).
"""

from emu.bench.model import Stage, model_json, model_markdown, run_model
from emu.bench.run import Rate, as_json, as_markdown, run

__all__ = ["Rate", "Stage", "as_json", "as_markdown", "model_json", "model_markdown", "run", "run_model"]
