"""A row of the record of foreign kernels, beside the contracts of its operation: which of them give what the library gives.

The record holds one contract for each kernel, and the smallest rows where they part. A row is worked out again here, by the C reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from emu.base.errors import EmuError
from emu.contracts import form_of
from emu.contracts.form import Bits, expect, integer_dtype
from emu.spec import get, names
from emu.spec.contract import ContractName, parse

CUT: Final = "..."
_RUN: Final = re.compile(r"x(\d+)")
_PLACE: Final = re.compile(r"(\w+)\[([\d, ]+)\]")


class Row(NamedTuple):
    """One row of a contract's operands, and a place in its answer. operands: name -> codes [n], or [1, n] where they lie in rows."""

    operands: dict[str, Bits]
    answer: str
    where: tuple[int, ...]


def row_of(contract: ContractName, source: str, operands: dict[str, str], place: str) -> Row | None:
    """Return the row of a failure; None where the record holds it in part. operands: as the record writes them.   place: codes[1, 27]."""
    found = _PLACE.fullmatch(place)
    if found is None:
        return None
    index, form = tuple(int(number) for number in found[2].split(",")), form_of(contract, source)
    out = {}
    for name, text in operands.items():
        rows = text.split(" / ")
        row = index[0] if len(rows) > 1 else 0  # one row: it was cut out of a larger question
        codes = unrolled(rows[row]) if row < len(rows) else [CUT]
        if CUT in codes:
            return None
        flat = np.array([int(code, 16) for code in codes], integer_dtype(form.operands[name]))
        out[name] = flat if len(index) == 1 else flat[0] if name == "tensor_amax" else flat[None]
    return Row(out, found[1], index if len(index) == 1 else (0, *index[1:]))


@lru_cache(maxsize=1024)
def alike(contract: ContractName, source: str, operands: tuple[tuple[str, str], ...], place: str, want: str, got: str) -> tuple[str, ...]:
    """Return the other contracts that give what a library gives at one place; none where the record holds the row in part.

    operands: (name, text) as the record writes them.   want, got: a code of the contract and of the library, such as "0x7 (6)".
    Others: of a conversion, another rounding that draws nothing or another policy; else another recipe for the same block, or profile.
    """
    row = row_of(contract, source, dict(operands), place)
    if row is None or answer(contract, source, row) != int(want.partition(" ")[0], 16):
        return ()
    code = int(got.partition(" ")[0], 16)
    return tuple(str(other) for other in others(contract) if answer(other, source, row) == code)


def answer(contract: ContractName, source: str, row: Row) -> int | None:
    """Return the code that a contract gives at the place of a row; None where it refuses it, takes other operands, or nobody knows."""
    try:
        found = expect(form_of(contract, source), row.operands, "c_ref")
    except EmuError:
        return None
    known = found.known.get(row.answer)
    if row.answer not in found.arrays or (known is not None and not known[row.where]):
        return None
    codes = found.arrays[row.answer]
    return int(codes.view(f"u{codes.dtype.itemsize}")[row.where])


def others(contract: ContractName) -> Iterator[ContractName]:
    """Yield the contracts of the same operation that take the same operands and part in one name."""
    op, parts = contract.op, contract.parts
    if op == "convert":
        texts = [f"{op}/{parts[0]}/{name}/{parts[2]}" for name in names("rounding") if not get("rounding", name).random_bits]
        texts += [f"{op}/{parts[0]}/{parts[1]}/{name}" for name in names("policy")]
    elif op in ("quantize", "dequantize"):
        every, block = [get("recipe", name) for name in names("recipe")], get("recipe", parts[0]).facts.block
        same = [item for item in every if item.facts.block == block]
        texts = [f"{op}/{item.id}{end}" for item in same for end in (f"/{name}" for name in item.facts.dequantize)]
        texts = texts if op == "dequantize" else [f"{op}/{item.id}" for item in same]
    else:
        texts = []
    for text in texts:
        try:
            found = parse(text)
        except EmuError:  # a policy that says nothing of this format
            continue
        if found != contract:
            yield found


def unrolled(text: str) -> list[str]:
    """Return the codes of an operand as records write them: `00000000 x3` stands for three of them."""
    found: list[str] = []
    for word in text.split():
        run = _RUN.fullmatch(word)
        if run:
            found += [found[-1]] * (int(run[1]) - 1)
        else:
            found.append(word)
    return found
