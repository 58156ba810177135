"""Operations of IEEE P3109 (draft) on tensors: equal to the reference model, also beyond what NumPy takes.

Not here: the operations that the report requires, in every engine (tests/engines/together).
"""

from __future__ import annotations

import importlib
import itertools
import os

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OperandError, ShapeError

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
api = importlib.import_module("emu.torch.api")
CHUNK = importlib.import_module("emu.engines.torch.convert").CHUNK


def agree(name: str, operands: list[np.ndarray], **how: object) -> None:
    found, wanted = (emu.operate(name, *operands, engine=engine, **how) for engine in ("torch", "exact"))
    where = np.flatnonzero(found != wanted)
    assert found.dtype == wanted.dtype and not where.size, (name, how, [np.ravel(x)[where[0]] for x in (*operands, found, wanted)])


def test_sums_of_binary64_that_cancel_and_leave_a_trace() -> None:
    """Terms 6, 7, 8 and 9 binades apart, where two of them stop adding up exactly, and a third that turns a tie or takes its place."""
    one = np.float64(1) + np.float64(2.0**-52)
    signs, distances = list(itertools.product((1, -1), repeat=3)), (0, 1, 6, 7, 8, 9, 53, 54)
    places = [(far, low) for far in distances for low in (0, far, 52, 53, 60, 61, 62, 63, 107, 300)]
    rows = [(s * one, t * one * 2.0**-far, u * 2.0**-low) for s, t, u in signs for far, low in places]
    for order in itertools.permutations(range(3)):
        terms = [np.array([row[place] for row in rows]) for place in order]
        for to, rounding in (("fp64", "rne"), ("fp32", "rd"), ("fp64", "odd")):
            agree("faa", terms, to=to, policy="ieee", rounding=rounding)
    for name in ("add", "subtract"):
        agree(name, [np.array([row[place] for row in rows]) for place in (0, 2)], to="fp64", policy="ieee")


def test_the_nearest_number_of_a_sum_of_three_is_found_through_two_traces() -> None:
    """1 + 2^-53 is a tie of binary64; a third term of 2^-1000, or of its negative, decides it."""
    for tiny, wanted in ((2.0**-1000, 1 + 2.0**-52), (-(2.0**-1000), 1.0), (0.0, 1.0)):
        for terms in itertools.permutations((1.0, 2.0**-53, tiny)):
            found = api.operate("faa", *(torch.tensor(term, dtype=torch.float64) for term in terms), to="fp64", policy="ieee")
            assert found.view(torch.float64).item() == wanted


def test_reciprocals_of_every_width() -> None:
    """Divisors with 1, 24 and 53 significant bits, subnormal ones among them: 1/3 has no end, 1/(2 - 2^-52) lies beside 1/2."""
    x = np.array([3, 5, 1 + 2.0**-52, 2 - 2.0**-52, 2.0**-1074, 3 * 2.0**-1074, 2.0**-1022, 2.0**1023, 1e-300, 0, np.inf, np.nan])
    for rounding in ("rne", "ru", "rz", "odd"):
        agree("recip", [np.concatenate([x, -x])], to="fp64", policy="ieee", rounding=rounding)
    agree("recip", [np.array([0x00000001, 0x007FFFFF, 0x7F7FFFFF, 0x00800000, 0x3F800001], np.uint32)], formats="fp32", to="binary8p3se")


def test_extrema_and_comparisons_of_the_ends_of_binary64() -> None:
    ends = np.array([0, 2.0**-1074, 2.0**-1022, 1, 1 + 2.0**-52, 1.7976931348623157e308, np.inf])
    every = np.concatenate([ends, -ends, [np.nan]])
    a, b = (part.ravel() for part in np.meshgrid(every, every))
    for name in ("minimum", "maximum_number", "minimum_magnitude", "maximum_magnitude_number", "minimum_finite", "maximum_finite"):
        agree(name, [a, b], to="fp64", policy="ieee")
    for name in ("compare_less", "compare_less_equal", "compare_equal", "compare_greater_equal"):
        agree(name, [a, b])
    for name in ("is_one", "is_zero", "is_subnormal", "is_normal", "is_sign_minus"):
        agree(name, [every])


def test_products_up_to_the_limit_and_no_further() -> None:
    """24 and 24 bits are added exactly; 53 bits and 8 are multiplied, 53 and 53 are refused."""
    wide, narrow = np.array([1 + 2.0**-52, 2.0**-1074, 2 - 2.0**-52]), np.array([0x7B, 0x01, 0x43], np.uint8)
    agree("multiply", [wide, narrow], formats=["fp64", "binary8p3se"], to="fp32", policy="ieee")
    one, two = np.float32([1 + 2.0**-23, 2 - 2.0**-23, 2.0**-149]), np.float32([2 - 2.0**-23, 1 + 2.0**-23, 2.0**100])
    agree("fma", [one, two, np.float64([-2, -(2.0**-100), 2.0**-400])], to="fp64", policy="ieee")
    for name, operands in (("multiply", [wide, wide]), ("fma", [wide, wide, wide])):
        with pytest.raises(EngineError, match=r"engine torch cannot operate this: use exact"):
            emu.operate(name, *operands, policy="ieee", engine="torch")


def test_just_over_a_chunk() -> None:
    """The last element of a chunk, the first of the next; a number of them that a neighbour's table does not divide."""
    codes = (np.arange(CHUNK + 3) * 7 % 256).astype(np.uint8)
    twice = emu.operate("add", codes, codes, formats="binary8p3se", engine="numpy")
    found = api.operate("add", *[torch.from_numpy(codes)] * 2, formats="binary8p3se")
    assert np.array_equal(found.numpy(), twice)
    after = api.operate("next_greater_than", torch.from_numpy(codes), formats="binary8p3se").numpy()
    assert np.array_equal(after, emu.operate("next_greater_than", codes, formats="binary8p3se", engine="numpy"))


def test_tensors_broadcast_and_say_their_formats() -> None:
    column, row = torch.tensor([[1.0], [-2.0]]), torch.tensor([0.5, 2.0, 3.0], dtype=torch.bfloat16)
    found = api.operate("multiply", column, row, to="fp32", policy="ieee")
    assert found.dtype == torch.uint32 and found.view(torch.float32).tolist() == [[0.5, 2, 3], [-1, -4, -6]]
    codes = torch.tensor([[0x40], [0x44]], dtype=torch.uint8)
    assert api.operate("compare_less", codes, row, formats=["binary8p3se", None]).tolist() == [[False, True, True], [False, False, True]]
    for arguments, how, error, line in (
        (("add", codes, codes), {}, OperandError, "integers are codes: say their formats"),
        (("add", codes), {"formats": "binary8p3se"}, OperandError, "takes 2 operands"),
        (("add", codes, row), {"formats": ["binary8p3se", None]}, OperandError, "say `to`"),
        (("add", codes, codes), {"formats": "binary8p3se", "rounding": "sr_add8"}, OperandError, "no rounding that draws"),
        (("add", column.expand(2, 2), row), {"to": "fp32"}, ShapeError, r"shapes \(2, 2\), \(3,\) do not broadcast"),
    ):  # fmt: skip
        with pytest.raises(error, match=line):
            api.operate(*arguments, **how)


def test_what_a_policy_refuses_names_the_element() -> None:
    with pytest.raises(OperandError, match="element 1 "):
        api.operate("convert", torch.tensor([1.0, float("nan")]), to="e2m1", policy="gfloat_sat")
