"""Drawn tensors of the study: well-behaved ones and ones with outliers, from a seed, rounded to binary32."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.analysis import drawn_tensors as data
from emu.base.errors import OperandError
from emu.spec import Transform, get

Array = NDArray[Any]
SIGN_SEED: Final = 123  # 16 numbers below 1/2 negate their element
ROTATION: Final = "rht16_ufp4"  # of UFP4: the result is bf16
FP32_ROTATION: Final = "rht16_exact"  # the result is binary32; signs of its own


TITLES: Final = {
    "gaussian": "normal numbers N",
    "laplace": "Laplace",
    "student_t3": "Student t, 3 degrees of freedom",
    "lognormal_0.8": "N exp(0.8 N')",
    "lognormal_1.0": "N exp(N'): outliers in every block",
    "lognormal_1.2": "N exp(1.2 N')",
    "columns_1.0": "N times one factor exp(N') for each column",
}
DATA: Final = tuple(TITLES)


def draw(name: str, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return a drawn matrix, binary32. name: a key of DATA.   rng: is drawn from, N before N'.   Raises: OperandError (an unknown name)."""
    if name not in DATA:
        raise OperandError(f"data {name!r} is unknown: one of {', '.join(DATA)}")
    return data.drawn(name, shape, rng)


def sign_mask() -> int:
    """Return the signs of the rotation that every study here uses: bit i negates element i of 16."""
    drawn = np.random.default_rng(SIGN_SEED).random(16)
    return sum(1 << place for place, number in enumerate(drawn.tolist()) if number < 0.5)


def rotation_of(rotated: bool, name: str = ROTATION) -> tuple[str | None, int | None]:
    """Return a rotation and its signs as emu.transform takes them: none of both where nothing is rotated."""
    if not rotated:
        return None, None
    chosen: Transform = get("transform", name)
    return chosen.id, sign_mask() if chosen.facts.signs_operand == "yes" else None


def digest_of(*arrays: Array) -> str:
    """Return the first 16 digits of the SHA-256 of shapes, types and bytes."""
    found = hashlib.sha256()
    for item in arrays:
        found.update(f"{item.shape}{item.dtype}".encode() + np.ascontiguousarray(item).tobytes())
    return found.hexdigest()[:16]
