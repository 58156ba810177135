"""Programs of the C reference typed field by field: what runs, and each thing that may be wrong of a program with its own error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import matrix

ELEMENT, PAIR = (1, 1), (1, 2)
CONSTANT = {"is_constant": 1, "bits": 0x3F800000}
OPERATIONS = {"add": (lib.EMU_OP_ADD, [0, 1]), "round": (lib.EMU_OP_ROUND, [0]), "sum": (lib.EMU_OP_SUM, [0])}


class Typed:
    """Formats, roundings and programs of tiles of 2 rows and 4 columns in binary32."""

    def __init__(self, c: Any) -> None:
        self.c, self.memory = c, []
        self.fp32, self.e2m1 = c.format("fp32"), c.format("e2m1")
        self.rne, self.draws, self.bad = c.rounding("rne"), c.rounding("add", 32), ffi.new("emu_rounding *", {"add": 99})
        self.policy = c.policy("saturate", (7, 7))

    def kept(self, kind: str, value: Any) -> Any:
        self.memory.append(ffi.new(kind, value))
        return self.memory[-1]

    def program(self, registers: list[Any], steps: list[dict[str, Any]], levels: Sequence[dict[str, Any]] = (), **fields: int) -> Any:
        """registers: facts, or (rows, columns).   steps: facts, with arguments in a list of any length."""
        made = [one if isinstance(one, dict) else {"rows": one[0], "columns": one[1]} for one in registers]
        whole = [{"random": -1, **step, "args": [*step["args"], -1, -1, -1][:4]} for step in steps]
        none = dict.fromkeys(("x", "tensor_amax", "random", "codes", "values"), -1)
        return ffi.new(
            "emu_program *",
            {
                **none, "arithmetic": self.fp32, "tile_rows": 2, "tile_columns": 4, "register_count": len(made), "step_count": len(whole),
                "level_count": len(levels), "registers": self.kept("emu_register[]", made), "steps": self.kept("emu_step[]", whole),
                "levels": self.kept("emu_level[]", levels), **fields,
            },
        )  # fmt: skip

    def cast(self, rounding: Any, **fields: int) -> dict[str, Any]:
        return {"operation": lib.EMU_OP_CAST, "format": self.e2m1, "rounding": rounding, "policy": self.policy, **fields}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_step_that_rounds_has_a_rounding_and_a_format(c: Any, name: str) -> None:
    t = Typed(c)
    operation, args = OPERATIONS[name]
    cases: list[tuple[Any, Any, int]] = [
        (t.fp32, t.rne, lib.EMU_OK), (t.fp32, t.bad, lib.EMU_ERROR_ROUNDING), (t.fp32, ffi.NULL, lib.EMU_ERROR_NULL),
        (t.fp32, t.draws, lib.EMU_ERROR_PROGRAM),
    ]  # fmt: skip
    if name != "sum":  # its format is that of the program
        cases += [(c.format({"format_class": 9}), t.rne, lib.EMU_ERROR_FORMAT), (ffi.NULL, t.rne, lib.EMU_ERROR_NULL)]
    for fmt, rounding, wanted in cases:
        rounds = {"operation": operation, "out": 2, "args": args, "format": fmt, "rounding": rounding}
        out = PAIR if name == "sum" else ELEMENT
        made = t.program([ELEMENT, CONSTANT, out, ELEMENT], [rounds, t.cast(t.rne, out=3, args=[0])], x=0, codes=3)
        assert lib.emu_check_program(made) == wanted


@pytest.mark.parametrize(
    ("register", "place", "written", "read"),
    [
        (PAIR, PAIR, True, True),
        (PAIR, ELEMENT, True, False),  # one cell is stored twice, but two codes do not load into it
        (ELEMENT, PAIR, False, False), (PAIR, (0, 0), False, False), ((1, 4), (2, 2), False, False),
    ],
)  # fmt: skip
def test_a_level_lies_in_cells_of_its_register(
    c: Any, register: tuple[int, int], place: tuple[int, int], written: bool, read: bool
) -> None:
    """written: as a result of quantize.   read: as an operand of dequantize."""
    t = Typed(c)
    level = {"reg": 1, "rows": place[0], "columns": place[1], "format": t.fp32}
    one = {"rows": register[0], "columns": register[1]}
    largest = {"operation": lib.EMU_OP_AMAX, "out": 1, "args": [0]}
    copied = {"operation": lib.EMU_OP_ABS, "out": 1, "args": [0]}
    steps = [copied if register == ELEMENT else largest, t.cast(t.rne, out=2, args=[0])]
    quantize = t.program([ELEMENT, one, ELEMENT], steps, [level], x=0, codes=2)
    decode = {"operation": lib.EMU_OP_DECODE, "out": 2, "args": [0], "format": t.e2m1}
    dequantize = t.program([ELEMENT, one, ELEMENT], [decode], [level], codes=0, values=2)
    for made, wanted in ((quantize, written), (dequantize, read)):
        assert lib.emu_check_program(made) == (lib.EMU_OK if wanted else lib.EMU_ERROR_PROGRAM)


def test_random_integers_behind_x_stay_as_given(c: Any) -> None:
    """Only x has NaN made canonical: a random integer with the bits of a NaN, in the register behind x, is not x."""
    t = Typed(c)
    made = t.program([ELEMENT, ELEMENT, ELEMENT], [t.cast(t.draws, out=2, args=[0], random=1)], x=0, random=1, codes=2)
    x, drawn = np.full((2, 4), 2.25, np.float32), np.array([[0xFFFFFFFF, 0, 0xFFFFFFFF, 0]] * 2, np.uint32)
    codes, words = np.zeros((2, 4), np.uint8), ffi.new("size_t *")
    assert lib.emu_count_workspace(made, 4, words) == lib.EMU_OK
    room = ffi.new("uint64_t[]", words[0])
    operands = [ffi.new("emu_matrix *", matrix(array)) for array in (x.view(np.uint32), drawn, codes)]
    assert lib.emu_quantize(made, t.fp32, operands[0], ffi.NULL, operands[1], ffi.NULL, operands[2], ffi.NULL, room, words[0]) == lib.EMU_OK
    assert codes.tolist() == [[5, 4, 5, 4]] * 2
