"""What objects print: a few lines that say what they are, never whole arrays or models."""

from __future__ import annotations

import numpy as np
import pytest

import emu
from emu.spec import KINDS
from emu.strategies import draws_random

X = np.linspace(-3, 3, 1 << 14, dtype=np.float32).reshape(64, 256)


def test_a_quantized_tensor() -> None:
    assert repr(emu.quantize(X, "nvfp4_te_ref")).splitlines() == [
        "Quantized nvfp4_te_ref, shape (64, 256), blocks of 16 along axis -1",
        "  8,192 bytes of e2m1 codes, 1,028 bytes of levels",
        "  level tensor (multiply): one fp32 per tensor: 40400000 = 3",
        "  level scale (multiply): 64 x 16 ue4m3 per block: 7E 7E 7E 7E ... = 448 448 448 448 ...",
        "  first block: codes F F F F F F F F F F F F F F F F = -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6 -6",
    ]


@pytest.mark.parametrize("name", emu.spec.names("recipe"))
def test_every_recipe_prints_little(name: str) -> None:
    random = np.zeros(X.shape, np.uint32) if draws_random(name) else None
    q = emu.quantize(X, name, random=random)
    lines = repr(q).splitlines()
    assert lines[0].startswith(f"Quantized {name}, shape (64, 256)") and str(q) == repr(q)
    assert len(lines) == 3 + len(q.levels) and max(map(len, lines)) < 200
    assert all(repr(level) in lines[2 + number] for number, level in enumerate(q.levels))


@pytest.mark.parametrize("kind", KINDS)
def test_spec_objects_print_one_line(kind: str) -> None:
    for name in emu.spec.names(kind)[:40]:
        found = emu.spec.get(kind, name)
        assert repr(found).startswith(f"<{kind} {name}: {found.title} (status ") and len(repr(found)) < 300 and str(found) == repr(found)
