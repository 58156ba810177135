"""Kernels of convert, decode, dequantize and transform are asked many shapes: around every size, every tail, more than 16 bits count."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

import emu
from emu.check.inputs.suites import questions
from emu.check.run import check
from emu.check.targets.python import laid, python_target
from emu.contracts import form_of
from emu.contracts.shapes import IN_A_ROW, LENGTHS, MANY, SIZES, WIDE, in_turn
from emu.engines.run import run_dequantize
from emu.spec import get

CONVERT, DECODE = "convert/e2m1/rne/nvidia", "decode/e4m3"
DEQUANTIZE, TRANSFORM = "dequantize/nvfp4_te_ref/te", "transform/rht16_te"


def shapes(contract: str, **options: Any) -> list[tuple[int, ...]]:
    asked = {"count": None, "key": 1, "multiple": (1, 1), "calls": "arrays", **options}
    form = form_of(contract)
    return [item.operands[form.main].shape for item in questions(form, "shapes", True, asked)]


def test_the_lengths_that_are_asked() -> None:
    found = [length for (length,) in shapes(CONVERT)]
    assert {size + off for size in SIZES for off in (-1, 0, 1)} | set(range(1, 35)) | {MANY, 0} <= set(found)
    assert found[-2:] == [0, MANY * WIDE]  # the largest last: a fault that a small one has is shown there
    assert all(len({length % 16 for length in LENGTHS} & {tail}) for tail in range(16))
    few = len(LENGTHS)
    assert all(one != other for one, other in pairwise(found[:few]))
    assert MANY not in [length for (length,) in shapes(CONVERT, calls="programs")]
    assert shapes(CONVERT, shapes=((3, 77),))[0] == (231,)
    assert all(length % 6 == 0 for (length,) in shapes(CONVERT, multiple=(1, 6)))
    assert in_turn([(1,), (9,), (3,)]) == [(3,), (1,), (9,)]
    assert shapes(DECODE) == shapes(CONVERT)


@pytest.mark.cases(1)
@pytest.mark.parametrize("contract", [DEQUANTIZE, TRANSFORM, "dequantize/nvfp4_te_2d_ref/te"])
def test_the_matrices_that_are_asked(contract: str) -> None:
    tall, wide = form_of(contract).tile
    found = shapes(contract)
    assert (tall, wide) in found and ((MANY * tall, wide) in found) == (tall == 1)
    assert all(not rows % tall and not columns % wide for rows, columns in found)
    assert (
        {rows // tall for rows, _ in found}
        >= {size + off for size in SIZES for off in (-1, 1)}
        <= {columns // wide for _, columns in found}
    )
    assert all(not rows % 32 and not columns % 48 for rows, columns in shapes(contract, multiple=(32, 48)))


def wrong_where(right: Callable[..., Any], where: Callable[[tuple[int, ...]], bool]) -> Callable[..., Any]:
    """A kernel whose last element is wrong for some shapes."""

    def kernel(x: Any, *rest: Any, **named: Any) -> Any:
        found = np.array(right(x, *rest, **named))
        if found.size and where(found.shape):
            found.reshape(-1).view(f"u{found.dtype.itemsize}")[-1] ^= 1
        return found

    return kernel


def verdict(contract: str, kernel: Any) -> str:
    return str(check(python_target(kernel, contract), contract, suites=("shapes",)).verdict)


@pytest.mark.parametrize("where", [
    lambda shape: shape[0] % 16 == 1, lambda shape: shape[0] % 16 == 7, lambda shape: shape[0] % 16 == 15, lambda shape: shape[0] == 33,
    lambda shape: shape[0] == 1, lambda shape: shape[0] == 1025, lambda shape: shape[0] > 1 << 16,
])  # fmt: skip
def test_a_tail_that_is_wrong_is_found(where: Callable[[tuple[int, ...]], bool]) -> None:
    assert verdict(CONVERT, wrong_where(lambda x: emu.convert(x, "e2m1"), lambda shape: False)) == "pass"
    assert verdict(CONVERT, wrong_where(lambda x: emu.convert(x, "e2m1"), where)) == "differs"
    assert verdict(DECODE, wrong_where(lambda x: emu.decode(x, "e4m3"), where)) == "differs"


def dequantized(codes: Any, scale: Any, tensor: Any) -> Any:
    levels = {"scale": scale, "tensor": np.asarray(tensor).view(np.uint32).reshape(1, 1)}
    found = run_dequantize(get("recipe", "nvfp4_te_ref"), codes, levels, profile="te", result=get("format", "fp32"), engine="auto")
    return found.view(np.float32)


MATRICES = {DEQUANTIZE: dequantized, TRANSFORM: partial(emu.transform, transform="rht16_te")}


@pytest.mark.parametrize("contract", MATRICES)
def test_a_right_kernel_of_matrices_passes_and_each_value_counts_once(contract: str) -> None:
    form = form_of(contract)
    report = check(python_target(MATRICES[contract], contract), contract, suites=("shapes",))
    assert report.verdict == "pass" and form.answers_of(("values",)) == form_of(DECODE).answers_of(("values",)) == ("values",)
    sizes = [prod(shape) for shape in shapes(contract)]
    assert report.compared + report.parted >= sum(sizes) >= report.compared


@pytest.mark.cases(2)
@pytest.mark.parametrize("contract", MATRICES)
@pytest.mark.parametrize("where", [
    lambda rows, blocks: rows == 17, lambda rows, blocks: rows == 257, lambda rows, blocks: blocks == 1025,
    lambda rows, blocks: blocks == 7, lambda rows, blocks: rows > 1 << 16, lambda rows, blocks: blocks > 1 << 16,
])  # fmt: skip
def test_a_tile_that_is_wrong_is_found(contract: str, where: Callable[[int, int], bool]) -> None:
    wide = form_of(contract).tile[1]
    assert verdict(contract, wrong_where(MATRICES[contract], lambda shape: where(shape[0], shape[1] // wide))) == "differs"


def test_codes_that_lie_apart_are_read() -> None:
    def packed(x: Any) -> Any:
        return emu.convert(np.frombuffer(x.base if x.base is not None and not x.flags.c_contiguous else x, x.dtype)[: x.size], "e2m1")

    assert verdict(CONVERT, packed) in ("differs", "raises")
    bits = np.arange(9, dtype=np.uint32)
    for layout in IN_A_ROW:
        found = laid(bits, layout)
        assert found.tolist() == bits.tolist() and found.flags.c_contiguous == (layout == "offset")


def test_a_kernel_that_takes_even_numbers_alone_passes_and_that_is_said() -> None:
    def even(x: Any) -> Any:
        return emu.convert(x.reshape(-1, 2), "e2m1").reshape(-1)

    report = check(python_target(even, CONVERT), CONVERT)
    assert report.verdict == "pass"
    assert next(note for note in report.notes if "refuses it" in note).startswith("shape ")
    assert sum("refuse" in note for note in report.notes) == 2 and "state multiple" in report.notes[-1]
    quiet = check(python_target(even, CONVERT), CONVERT, multiple=(1, 2))
    assert quiet.verdict == "pass" and not any("refuse" in note for note in quiet.notes)
