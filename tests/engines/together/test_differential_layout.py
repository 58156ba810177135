"""Index maps: each engine has the same places and the same inverse, at every shape just over each tile; and formulas of the real code."""

from importlib.util import find_spec

import numpy as np
import pytest
from support.layouts import sides_of

from emu.base.errors import OperandError
from emu.engines.c_ref import layout as c_layout
from emu.engines.c_ref._c import ffi, lib
from emu.engines.exact.layout import locate, place, size
from emu.engines.numpy.layout import origins, places
from emu.spec import get, names
from emu.spec.registry import isolated, load_spec, shipped_root


def up(n: int, step: int) -> int:
    return -(-n // step) * step


# Place of (row r, scale or element k) of a tensor of n x c, as the libraries' own functions compute it.
FORMULAS = {
    "row_major": lambda r, k, n, c: r * c + k,
    "low_nibble_first": lambda r, k, n, c: r * c + k,
    "high_nibble_first": lambda r, k, n, c: (r * up(c, 2) + k) ^ 1,
    "gguf_halves32": lambda r, k, n, c: r * up(c, 32) + k // 32 * 32 + k % 16 * 2 + k % 32 // 16,
    "gguf_halves16": lambda r, k, n, c: r * up(c, 16) + k // 16 * 16 + k % 8 * 2 + k % 16 // 8,
    "mlx_words4": lambda r, k, n, c: r * up(c, 8) + k,
    "mlx_words8": lambda r, k, n, c: r * up(c, 4) + k,
    "sf128x4": lambda r, k, n, c: 512 * (r // 128 * (up(c, 4) // 4) + k // 4) + r % 32 * 16 + r % 128 // 32 * 4 + k % 4,
    "triton_blackwell": lambda r, k, n, c: 512 * (r // 128 * (up(c, 8) // 4) + k // 4) + r % 32 * 16 + r % 128 // 32 * 4 + k % 4,
    "sf8x4": lambda r, k, n, c: r // 8 * (up(c, 4) // 4) * 32 + k // 4 * 32 + r % 8 * 4 + k % 4,
    "aiter_e8m0_256x8": lambda r, k, n, c: (r // 32 * (up(c, 8) // 8) + k // 8) * 256
    + k % 4 * 64 + r % 16 * 4 + k // 4 % 2 * 2 + r // 16 % 2,
    "triton_cdna4": lambda r, k, n, c: (r // 32 * (up(c, 8) // 8) + k // 8) * 256 + k % 4 * 64 + r % 16 * 4 + k // 4 % 2 * 2 + r // 16 % 2,
    "triton_hopper_8warps": lambda r, k, n, c: r // 8 % 2
    + 2 * (k % 2 + 2 * (r % 8 + 8 * (r // 128 % 2 + 2 * (k // 2 + up(c, 2) // 2 * (r // 16 % 8 + 8 * (r // 256)))))),
    "kv_v_scale_4token": lambda r, k, n, c: r // 4 * 4 * c + k * 4 + r % 4,
    "deep_gemm_ue8m0": lambda r, k, n, c: k // 4 * 4 * up(n, 4) + r * 4 + k % 4,
}  # fmt: skip


def test_every_layout_has_a_formula_here() -> None:
    assert set(FORMULAS) == set(names("layout"))


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_places_inverse_and_padding_of_every_engine(name: str) -> None:
    layout, formula = get("layout", name), FORMULAS[name]
    for rows, codes in sides_of(layout):
        want = [[formula(row, idx, rows, codes) for idx in range(codes)] for row in range(rows)]
        found = places(rows, codes, layout)
        assert found.tolist() == want
        back = origins(rows, codes, layout)
        padded = up(rows, layout.facts.padded_to("row")) * up(codes, layout.facts.padded_to("idx"))
        assert back.size == size(rows, codes, layout) == padded
        assert np.count_nonzero(back >= 0) == rows * codes  # a bijection: as many places as codes, and each code at its place
        assert (back[found] == np.arange(rows * codes).reshape(rows, codes)).all()
        if rows * codes > 600:
            continue
        assert [[place(row, idx, rows, codes, layout) for idx in range(codes)] for row in range(rows)] == want
        away = [locate(at, rows, codes, layout) for at in range(padded)] if padded < 3000 else []
        assert all((-1 if here is None else here[0] * codes + here[1]) == at for here, at in zip(away, back.tolist(), strict=False))


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_the_c_reference_has_the_same_places_and_inverse(name: str) -> None:
    layout = get("layout", name)
    found, made = lib.emu_find_layout_in(ffi.NULL, name.encode()), c_layout.layout_descriptor(layout).pointer
    size = ffi.sizeof("emu_digit") * made.digit_count
    assert (found.code_bits, found.digit_count) == (made.code_bits, made.digit_count)
    assert bytes(ffi.buffer(found.digits, size)) == bytes(ffi.buffer(made.digits, size))
    sides = sides_of(layout)
    for rows, codes in [pair for pair in sides if pair[0] * pair[1] < 300] + [max(sides)]:
        assert (c_layout.places(rows, codes, layout) == places(rows, codes, layout)).all()
        assert (c_layout.origins(rows, codes, layout) == origins(rows, codes, layout)).all()


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_torch_has_the_same_places(name: str) -> None:
    from emu.engines.torch import layout as torch_layout

    layout = get("layout", name)
    for rows, codes in sides_of(layout):
        assert torch_layout.places(rows, codes, layout).tolist() == places(rows, codes, layout).tolist()


def test_c_refuses_what_contradicts_itself_and_writes_nothing() -> None:
    at, other = ffi.new("uint64_t *", 77), ffi.new("uint64_t *", 88)
    made = c_layout.layout_descriptor(get("layout", "sf8x4"))
    good, digits = made.pointer, made.memory
    assert lib.emu_check_layout(good) == lib.EMU_OK and lib.emu_check_layout(ffi.NULL) == lib.EMU_ERROR_NULL
    for number, change in ((0, {"down": 2}), (0, {"down": -1}), (2, {"down": 1}), (0, {"count": 3}), (1, {"is_row": 0})):
        bad = ffi.new("emu_digit[]", list(digits))
        for key, value in change.items():
            setattr(bad[number], key, value)
        layout = ffi.new("emu_layout *", good[0])
        layout.digits = bad
        assert lib.emu_check_layout(layout) == lib.EMU_ERROR_LAYOUT, change
        assert lib.emu_layout_size(layout, 8, 4, at) == lib.emu_layout_locate(layout, 0, 8, 4, at, other) == lib.EMU_ERROR_LAYOUT
    for rows, codes in ((0, 4), (8, 0), (1 << 31, 4), (8, 1 << 40)):
        assert lib.emu_layout_size(good, rows, codes, at) == lib.emu_layout_locate(good, 0, rows, codes, at, other) == lib.EMU_ERROR_SHAPE
    assert lib.emu_layout_locate(good, 32, 8, 4, at, other) == lib.EMU_ERROR_SHAPE and (at[0], other[0]) == (77, 88)
    assert lib.emu_layout_locate(good, 31, 8, 4, at, ffi.NULL) == lib.EMU_ERROR_NULL and at[0] == 77
    assert lib.emu_layout_size(good, 8, 4, ffi.NULL) == lib.EMU_ERROR_NULL
    far = (1 << 31) - 1
    assert lib.emu_layout_place(good, far - 1, far - 1, far, far, at) == lib.EMU_OK
    assert at[0] == FORMULAS["sf8x4"](far - 1, far - 1, far, far)
    assert lib.emu_layout_locate(good, at[0], far, far, at, other) == lib.EMU_OK and (at[0], other[0]) == (far - 1, far - 1)


def test_outside_of_memory_there_is_no_code() -> None:
    for at in (-1, 64):
        with pytest.raises(OperandError, match="outside a tensor of 9 x 3 in 64 places"):
            locate(at, 9, 3, get("layout", "sf8x4"))


USER = """
kind: "layout"
id: "{id}"
title: "pairs of rows, each word from the last element on"
status: "proposed"
facts:
  holds: "elements"
  code_bits: 4
  word_bits: 16
  digits: {digits}
expect: []
sources: []
"""
DIGITS = '[{axis: "idx", count: 4, order: "down"}, {axis: "row", count: 2}, {axis: "idx", step: 4}, {axis: "row", step: 2}]'


def test_a_layout_of_a_user_is_one_file(tmp_path) -> None:
    (tmp_path / "paired.yaml").write_text(USER.format(id="paired", digits=DIGITS), encoding="utf-8")
    with isolated(shipped_root()):
        load_spec(tmp_path)
        layout = get("layout", "paired")
        want = [[(3 - idx % 4) + row % 2 * 4 + idx // 4 * 8 + row // 2 * 16 for idx in range(6)] for row in range(3)]
        assert [[place(row, idx, 3, 6, layout) for idx in range(6)] for row in range(3)] == want == places(3, 6, layout).tolist()
        assert (c_layout.origins(3, 6, layout) == origins(3, 6, layout)).all() and (c_layout.places(3, 6, layout) == want).all()


@pytest.mark.parametrize(
    ("digits", "told"),
    [
        ('[{axis: "idx", count: 2}, {axis: "row"}, {axis: "idx", step: 2}]', "2 codes of 4 bits lie together: no whole words of 16 bits"),
        ('[{axis: "idx", order: "down"}, {axis: "row"}]', "a digit that goes down needs a count"),
        ('[{axis: "idx", count: 4}, {axis: "row"}]', "steps and counts must follow on one another"),
        ('[{axis: "idx"}, {axis: "idx", step: 4}]', "steps and counts must follow|none is of row"),
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(tmp_path, digits: str, told: str) -> None:
    from emu.base.errors import SpecError

    (tmp_path / "bad.yaml").write_text(USER.format(id="bad", digits=digits), encoding="utf-8")
    with isolated(shipped_root()), pytest.raises(SpecError, match=told):
        load_spec(tmp_path)
