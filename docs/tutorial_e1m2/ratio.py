"""The loss of a whole model with E1M2 over that with E2M1, from the record alone: ratio.py MODEL OPERANDS [feedback].

MODEL: minilm, smollm.   OPERANDS: a (activations), w (weights), wa (both), k (keys and values, smollm).
Each grid is rotated or not: chosen on every second text, reported on the others. Interval: texts and sign sets drawn again.
"""

import json
import sys
from pathlib import Path

import numpy as np

LINES = json.loads(Path("docs/evidence/models.json").read_text())["lines"]


def losses(grid: str, rotated: bool) -> np.ndarray:
    """Return [sign sets, texts]; one row where nothing is rotated."""
    ways = [f"signs{number}" for number in range(8)] if rotated else ["raw"]
    names = [f"{model}/{operands}/{grid}_fp32scale/{way}/all/{treatment}/as_is" for way in ways]
    found = [LINES[name]["loss"] for name in names if name in LINES]
    if not found:
        print(f"ratio.py: the record has no {names[0]}: see MODEL and OPERANDS of ratio.py without words", file=sys.stderr)
        sys.exit(2)
    return np.array(found)


def best(grid: str) -> np.ndarray:
    """Return the losses to report of the better way of a grid, and print which it is."""
    both = [losses(grid, rotated) for rotated in (False, True)]
    rotated = int(both[1][:, 1::2].mean() < both[0][:, 1::2].mean())
    kept = both[rotated][:, 0::2]
    print(f"{grid} {'rotated' if rotated else 'as given'}: loss {kept.mean():.4f}")
    return kept


def again(kept: np.ndarray) -> np.ndarray:
    """Return 2000 means with sign sets and texts drawn again; the same texts for both grids."""
    rng = np.random.default_rng(0)
    sets, texts = kept.shape
    chosen = rng.integers(0, texts, (2000, texts))
    rows = rng.integers(0, sets, (2000, sets))
    return kept[rows[:, :, None], chosen[:, None, :]].mean((1, 2))


if len(sys.argv) not in (3, 4):
    print(__doc__, file=sys.stderr)
    sys.exit(2)
model, operands, treatment = [*sys.argv[1:], "none"][:3]
e2m1, e1m2 = best("e2m1"), best("e1m2")
low, high = np.quantile(again(e1m2) / again(e2m1), (0.025, 0.975))
print(f"E1M2 / E2M1: {e1m2.mean() / e2m1.mean():.2f} [{low:.2f}, {high:.2f}]")
