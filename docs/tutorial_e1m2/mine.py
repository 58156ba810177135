"""E1M2 or E2M1 for a matrix: mine.py [--unrotated] FILE [NAME ...] (names in the file; .npy: none).

Each grid is rotated or not (--unrotated: never): chosen on every second row, reported on the others, in eight groups of rows.
A verdict needs a lead whose 95 % interval over the groups leaves 0 out, and that is more than three times what other signs of the
rotation alone do.
"""

import sys

import numpy as np

from emu.analysis.tensor import measure
from emu.base.errors import EmuError
from emu.files import open_tensors

SIGNS = (0xD7E8, 0x1B2C, 0x94F3, 0x6A5D)  # of the rotation: the study's, and three more
GROUPS, T95 = 8, 2.365  # groups of rows; Student's t for seven degrees of freedom


def decibels(rows: np.ndarray, grid: str, rotated: bool) -> list[float]:
    """Return the signal over its error, dB, for each set of signs."""
    ways = [("rht16_ufp4", signs) for signs in SIGNS] if rotated else [(None, None)]
    found = [measure(rows, f"{grid}_fp32scale", *way).sqnr_db for way in ways]
    kept = [value for value in found if value is not None and np.isfinite(value)]
    if len(kept) < len(found):
        raise EmuError(f"{len(rows)} rows of it are all zero, or {grid} holds them exactly: no ratio of errors; leave such rows out")
    return kept


def verdict(x: np.ndarray, may_rotate: bool) -> str:
    """Return the lead of E1M2 over E2M1, each its better way, and who wins."""
    if x.ndim != 2 or len(x) < 2 * GROUPS:
        raise EmuError(f"shape {list(x.shape)}: a matrix of {2 * GROUPS} rows or more is judged")
    told, leads, nulls = [], np.zeros(GROUPS), [0.0]
    for grid, sign in (("e2m1", -1), ("e1m2", 1)):
        plain, turned = (np.mean(decibels(x[1::2], grid, rotated)) for rotated in (False, True))
        rotated = may_rotate and bool(turned > plain)
        told.append(f"{grid} {'rotated' if rotated else 'as given'}")
        found = np.array([decibels(rows, grid, rotated) for rows in np.array_split(x[0::2], GROUPS)])
        leads += sign * found.mean(1)
        if rotated:
            nulls.append(np.sqrt(2 * found.mean(0).var(ddof=1)))  # two sets of signs, one grid
    half = T95 * leads.std(ddof=1) / np.sqrt(GROUPS)
    lead, null = leads.mean(), max(nulls)
    winner = "open" if abs(lead) <= max(half, 3 * null) else "E1M2" if lead > 0 else "E2M1"
    return f"{told[1]} against {told[0]}: {lead:+.2f} dB [{lead - half:+.2f}, {lead + half:+.2f}], null {null:.2f}: {winner}"


def matrix(value: object) -> np.ndarray:
    """Return a tensor of the file in binary32."""
    try:
        with np.errstate(over="ignore"):  # what is beyond it becomes Inf, which is refused below
            return np.asarray(value, np.float32)
    except (TypeError, ValueError):
        raise EmuError("holds no numbers") from None


wanted = [word for word in sys.argv[1:] if word != "--unrotated"]
name, told = "", []
try:
    if not wanted:
        raise EmuError("which file? " + str(__doc__).splitlines()[0])
    with open_tensors(wanted[0]) as file:
        for name in wanted[1:] or [""]:
            told.append(f"{name} {verdict(matrix(file.read(name)), '--unrotated' not in sys.argv)}")
except EmuError as error:
    print(f"mine.py: {name}: {error}" if name else f"mine.py: {error}", file=sys.stderr)
    sys.exit(2)
print("\n".join(told))
