"""emu.to_layout and from_layout: memory worked out by hand, there and back for every layout, padding 0, errors in one line."""

import numpy as np
import pytest
from support.layouts import sides_of

import emu
from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.layout import place, size
from emu.spec import get, names

HALVES = [*range(16), *range(15, -1, -1)]  # element k + 16 is 15 - k


@pytest.mark.parametrize(
    ("layout", "codes", "memory"),
    [
        ("low_nibble_first", [[0x1, 0x2, 0x3, 0x4]], [0x21, 0x43]),
        ("high_nibble_first", [[0x1, 0x2, 0x3, 0x4]], [0x12, 0x34]),
        ("gguf_halves32", [HALVES], [(15 - k) << 4 | k for k in range(16)]),
        ("gguf_halves16", [HALVES[:16]], [(k + 8) << 4 | k for k in range(8)]),
        ("mlx_words4", [[1, 2, 3, 4, 5, 6, 7, 8]], [0x87654321]),
        ("mlx_words8", [[0x11, 0x22, 0x33, 0x44]], [0x44332211]),
        ("deep_gemm_ue8m0", [[0x7F, 0x80, 0x81, 0x7E]] * 4, [0x7E81807F] * 4),  # scales 1, 2, 4, 1/2: the measured word
        ("sf8x4", [[1, 2, 3, 4, 5]], [1, 2, 3, 4, *[0] * 28, 5, *[0] * 31]),
    ],
)
def test_memory_worked_out_by_hand(layout: str, codes: list[list[int]], memory: list[int]) -> None:
    found = emu.to_layout(np.array(codes, np.uint8), layout)
    assert found.tolist() == memory
    assert emu.from_layout(found, layout, len(codes), len(codes[0])).tolist() == codes


@pytest.mark.parametrize("name", names("layout"))
def test_there_and_back_and_the_padding_is_zero(name: str) -> None:
    layout = get("layout", name)
    draw = np.random.Generator(np.random.Philox(20)).integers
    for rows, codes in sides_of(layout):
        if size(rows, codes, layout) * layout.facts.code_bits % 8:
            continue
        given = draw(1, 1 << layout.facts.code_bits, (2, rows, codes), np.uint8)  # no code is 0: the padding alone is
        memory = emu.to_layout(given, name)
        assert emu.from_layout(memory, layout, rows, codes).tolist() == given.tolist()
        lying = memory.astype(memory.dtype.newbyteorder("<")).view(np.uint8)
        if layout.facts.code_bits == 4:
            lying = np.stack([lying & 15, lying >> 4], -1).reshape(2, -1)
        assert np.count_nonzero(lying) == given.size
        last = place(rows - 1, codes - 1, rows, codes, layout)
        assert lying[1, last] == given[1, -1, -1]


def test_what_does_not_fit_is_refused_in_one_line() -> None:
    with pytest.raises(ShapeError, match="low_nibble_first: 3 x 5 codes of 4 bits end inside a byte"):
        emu.to_layout(np.zeros((3, 5), np.uint8), "low_nibble_first")
    with pytest.raises(OperandError, match="high_nibble_first takes integers from 0 to 15"):
        emu.to_layout(np.full((1, 2), 16), "high_nibble_first")
    with pytest.raises(ShapeError, match="as their last two axes"):
        emu.to_layout(np.zeros(4, np.uint8), "row_major")
    with pytest.raises(ShapeError, match="a matrix of 0 x 4 has no codes"):
        emu.to_layout(np.zeros((0, 4), np.uint8), "row_major")
    with pytest.raises(ShapeError, match="sf128x4 holds 130 x 4 codes in 1024 units of 8 bits, not 520"):
        emu.from_layout(np.zeros(520, np.uint8), "sf128x4", 130, 4)
    with pytest.raises(OperandError, match="unsigned integers of 32 bits, not uint8"):
        emu.from_layout(np.zeros(4, np.uint8), "mlx_words4", 1, 8)
    with pytest.raises(OperandError, match="codes: row_major takes integers"):
        emu.to_layout(np.zeros((1, 2), np.float32), "row_major")
