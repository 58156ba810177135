"""emu.torch.to_layout and from_layout: the bytes of emu.to_layout, back again, and one line on what does not fit."""

import importlib
import os

import numpy as np
import pytest
from support.layouts import sides_of

import emu
from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.layout import size
from emu.spec import get, names

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")


@pytest.mark.parametrize("name", names("layout"))
def test_the_same_bytes_as_numpy_and_back(name: str) -> None:
    layout = get("layout", name)
    draw = np.random.Generator(np.random.Philox(21)).integers
    for rows, codes in sides_of(layout):
        if size(rows, codes, layout) * layout.facts.code_bits % 8:
            continue
        given = draw(0, 1 << layout.facts.code_bits, (2, rows, codes), np.uint8)
        found = emu.torch.to_layout(torch.from_numpy(given), name)
        memory = emu.to_layout(given, name)
        assert found.numpy().tobytes() == memory.astype(memory.dtype.newbyteorder("<")).tobytes()
        assert emu.torch.from_layout(found, name, rows, codes).tolist() == given.tolist()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(OperandError, match=r"codes: a tensor of torch\.uint8 is taken"):
        emu.torch.to_layout(torch.zeros(2, 2, dtype=torch.int32), "row_major")
    with pytest.raises(OperandError, match="takes integers from 0 to 15"):
        emu.torch.to_layout(torch.full((1, 2), 16, dtype=torch.uint8), "low_nibble_first")
    with pytest.raises(ShapeError, match="end inside a byte"):
        emu.torch.to_layout(torch.zeros(3, 5, dtype=torch.uint8), "low_nibble_first")
    with pytest.raises(ShapeError, match="in 32 bytes, not 31"):
        emu.torch.from_layout(torch.zeros(31, dtype=torch.uint8), "sf8x4", 8, 4)
