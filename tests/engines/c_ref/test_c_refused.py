"""Public functions of the C reference on one element: the right call has its answer, and each thing that may be wrong its own error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emu.engines.c_ref import datapath as native
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import matrix
from emu.spec.datapath import resolve

OK, NULL, FORMAT, ROUNDING, POLICY = lib.EMU_OK, lib.EMU_ERROR_NULL, lib.EMU_ERROR_FORMAT, lib.EMU_ERROR_ROUNDING, lib.EMU_ERROR_POLICY


class Things:
    """Right and wrong descriptors, and places for results."""

    def __init__(self, c: Any) -> None:
        self.e2m1, self.fp32, self.nf4 = (
            c.format("e2m1"),
            c.format("fp32"),
            c.format({"format_class": lib.EMU_CODEBOOK, "bits": 1, "values": [0, 1]}),
        )
        self.no_format = c.format({"format_class": 9})
        self.rne, self.no_rounding = c.rounding("rne"), ffi.new("emu_rounding *", {"add": 99})
        self.policy, self.no_policy = c.policy("saturate", (7, 7)), c.policy("saturate", (16, 0))
        self.code, self.open, self.out = ffi.new("uint64_t *", 77), ffi.new("uint8_t *", 77), ffi.new("uint8_t[]", [77])
        self.three = ffi.new("uint8_t[]", [3])
        self.value = ffi.new("emu_value *", {"value_class": lib.EMU_NORMAL, "significand": 3, "lsb_exp": 0})
        self.rounded = ffi.new("emu_rounded *", {"magnitude": 9})


def calls(t: Things) -> list[tuple[Any, list[Any], dict[int, tuple[Any, int]], Any, int]]:
    """Function, right arguments, what is wrong in turn and its error, where the answer comes and which."""
    formats = {0: (t.no_format, FORMAT)}
    judged = {1: (t.no_rounding, ROUNDING), 2: (t.no_policy, POLICY)}
    return [
        (lib.emu_max_magnitude, [t.e2m1, 0, t.code], formats | {2: (ffi.NULL, NULL)}, t.code, 7),
        (lib.emu_max_magnitude, [t.e2m1, 0, t.code], {0: (t.nf4, FORMAT)}, t.code, 7),
        (lib.emu_encode_magnitude, [t.e2m1, 1, 5, t.code], formats | {3: (ffi.NULL, NULL)}, t.code, 13),
        (lib.emu_encode_magnitude, [t.e2m1, 1, 5, t.code], {0: (t.nf4, FORMAT)}, t.code, 13),
        (lib.emu_encode_value, [t.e2m1, t.value, t.code], formats | {1: (ffi.NULL, NULL), 2: (ffi.NULL, NULL)}, t.code, 5),
        (lib.emu_overflow_magnitude, [t.e2m1, t.rne, t.policy, 0, t.rounded, t.code, t.open],
         formats | judged | {4: (ffi.NULL, NULL), 5: (ffi.NULL, NULL), 6: (ffi.NULL, NULL)}, t.code, 7),
        (lib.emu_convert_code, [t.fp32, t.e2m1, t.rne, t.policy, 0x40400000, 0, t.code, t.open],
         formats | {1: (t.no_format, FORMAT), 2: judged[1], 3: judged[2], 4: (1 << 32, lib.EMU_ERROR_CODE), 6: (ffi.NULL, NULL),
                    7: (ffi.NULL, NULL)}, t.code, 5),
        (lib.emu_convert_array, [t.e2m1, t.e2m1, t.rne, t.policy, t.three, ffi.NULL, 1, t.out, ffi.NULL],
         formats | {1: (t.no_format, FORMAT), 2: judged[1], 3: judged[2], 4: (ffi.NULL, NULL), 7: (ffi.NULL, NULL)}, t.out, 3),
        (lib.emu_decode_to_array, [t.e2m1, t.e2m1, t.three, 1, t.out],
         formats | {1: (t.no_format, FORMAT), 2: (ffi.NULL, NULL), 4: (ffi.NULL, NULL)}, t.out, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(9))
def test_conversions(c: Any, number: int) -> None:
    function, right, wrong, answer, wanted = calls(Things(c))[number]
    for place, (thing, error) in wrong.items():
        assert function(*[thing if at == place else given for at, given in enumerate(right)]) == error, place
    assert answer[0] == 77
    assert function(*right) == OK and answer[0] == wanted


def test_rounding_a_value(c: Any) -> None:
    t = Things(c)
    assert lib.emu_round_value(t.e2m1, t.rne, t.value, 0, t.rounded) == OK and t.rounded.magnitude == 5
    special = ffi.new("emu_value *", {"value_class": lib.EMU_INFINITE, "significand": 3})
    beyond = ffi.new("emu_value *", {"value_class": -1, "significand": 3})
    for arguments, error in (
        ((t.no_format, t.rne, t.value, 0, t.rounded), FORMAT), ((t.e2m1, t.no_rounding, t.value, 0, t.rounded), ROUNDING),
        ((t.e2m1, t.rne, ffi.NULL, 0, t.rounded), NULL), ((t.e2m1, t.rne, t.value, 0, ffi.NULL), NULL),
        ((t.e2m1, t.rne, special, 0, t.rounded), lib.EMU_ERROR_GRID), ((t.e2m1, t.rne, beyond, 0, t.rounded), lib.EMU_ERROR_GRID),
        ((t.e2m1, t.rne, t.value, 1, t.rounded), lib.EMU_ERROR_RANDOM),
    ):  # fmt: skip
        assert lib.emu_round_value(*arguments) == error


def test_the_end_of_a_chain_and_the_epilogue(c: Any) -> None:
    late = native.datapath_descriptor(resolve("int64", "e2m1", "e2m1", "ue4m3", 16)).pointer
    plain = native.datapath_descriptor(resolve("hopper_fp8", "e4m3", "e4m3")).pointer
    total, code = ffi.new("emu_wide *"), ffi.new("uint64_t *")
    assert lib.emu_finish_register(late, total, 0x3F800000, code) == OK and code[0] == 0x3F800000
    assert lib.emu_finish_register(late, ffi.NULL, 0, code) == lib.emu_finish_register(late, total, 0, ffi.NULL) == NULL
    assert lib.emu_finish_register(plain, total, 0, code) == lib.EMU_ERROR_DATAPATH
    assert lib.emu_finish_register(late, total, 1 << 32, code) == lib.EMU_ERROR_CODE
    rne, drawn = c.rounding("rne"), c.rounding("add", 8)
    one, right = np.full((1, 2), 0x3F800000, np.uint32), {"alpha": rne, "d": rne}
    x, out = ffi.new("emu_matrix *", matrix(one)), np.zeros((1, 2), np.uint32)
    d, other = ffi.new("emu_matrix *", matrix(out)), ffi.new("emu_matrix *", matrix(np.zeros((2, 1), np.uint32)))
    for facts, error in (
        (right, OK),
        (right | {"alpha": drawn}, ROUNDING),
        (right | {"d": drawn}, ROUNDING),
        (right | {"c_after": 2}, lib.EMU_ERROR_DATAPATH),
    ):
        assert lib.emu_epilogue(plain, ffi.new("emu_epilogue_facts *", facts), x, 0x40000000, ffi.NULL, d) == error
    assert out.tolist() == [[0x40000000] * 2]
    known = ffi.new("emu_epilogue_facts *", right)
    for first, second, third in ((other, ffi.NULL, d), (x, other, d), (x, ffi.NULL, other)):
        assert lib.emu_epilogue(plain, known, first, 0x40000000, second, third) == lib.EMU_ERROR_SHAPE
