"""The original quantized by every recipe that the store could hold, and the bytes compared.

Some rows for all recipes, all rows for those that are nearest there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EmuError
from emu.checkpoint.amax import maxima
from emu.checkpoint.candidates import candidates, has_tensor_level, owns, tensor_code
from emu.checkpoint.container import Container, Entry
from emu.checkpoint.passive import SEPARATED, UNSEEN, Finding
from emu.checkpoint.read import StoredRows, StoredTensor, row_step
from emu.ops.functions import amax, quantize
from emu.spec import get
from emu.spec.models import Recipe

IDENTIFIED = "identified"
SAMPLE = 1 << 16  # elements that every recipe is tried on
SHOWN = 3
FORMATS = {"F32": ("fp32", "<u4"), "BF16": ("bf16", "<u2"), "F16": ("fp16", "<u2")}


@dataclass
class Outcome:
    """What a recipe gives against the file. codes, scales: how many differ, of how many.   factor: why the tensor factor differs, or None.

    note: which maximum the file's tensor factor stands for, where it is larger than the weight's own.
    rows: the first departing blocks, as text.   whole: was every row compared.
    """

    recipe: str
    codes: int = 0
    scales: int = 0
    elements: int = 0
    blocks: int = 0
    factor: str | None = None
    note: str | None = None
    refused: str | None = None
    rows: list[str] = field(default_factory=list)
    whole: bool = False

    @property
    def exact(self) -> bool:
        """Whether every byte that was compared is equal."""
        return not (self.codes or self.scales or self.factor or self.refused) and self.elements > 0

    @property
    def rate(self) -> float:
        """Share of departing codes and scales, for ordering and for reports."""
        return (self.codes + self.scales) / max(self.elements + self.blocks, 1)

    def finding(self) -> Finding:
        """Return the outcome in the words of identification."""
        if self.refused is not None:
            return Finding(self.recipe, UNSEEN, self.refused)
        if self.exact:
            text = f"all {self.elements} codes and {self.blocks} scales are equal"
            return Finding(self.recipe, IDENTIFIED, "; ".join(filter(None, [text, self.note])))
        part = "" if self.whole else " of the first rows"
        text = f"{self.codes} of {self.elements} codes and {self.scales} of {self.blocks} scales{part} differ"
        return Finding(self.recipe, SEPARATED, "; ".join(filter(None, [text, self.factor, *self.rows[:1]])))


class Original:
    """The weight of another file: rows of raw codes. Raises nothing: `fault` says why it cannot be used."""

    def __init__(self, container: Container, tensor: StoredTensor, called: str = "the original") -> None:
        self.container = container
        names = [tensor.match.module + suffix for suffix in tensor.store.facts.weights]
        entry = next((container.entries[name] for name in names if name in container.entries), None)
        self.fault: str | None = None
        self.entry: Entry | None = entry
        self.transposed = False
        if entry is None:
            self.fault = f"{called} has no tensor {' or '.join(names)}"
        elif entry.dtype not in FORMATS:
            self.fault = f"{entry.name} is {entry.dtype} in {called}: one of {', '.join(FORMATS)} is needed"
        elif _plain(entry.shape) != _plain(tensor.shape):
            swapped = (*tensor.shape[:-2], tensor.shape[-1], tensor.shape[-2])
            self.transposed = _plain(entry.shape) == _plain(swapped) and len(tensor.shape) == 2
            if not self.transposed:
                self.fault = f"{entry.name} has shape {list(entry.shape)} in {called}, {list(tensor.shape)} here"
        if entry is not None and self.fault is None:
            self.format, word = FORMATS[entry.dtype]
            bits = container.raw(entry).view(word)
            length = tensor.shape[-1]
            self.bits: NDArray[Any] = bits.reshape(length, -1).T if self.transposed else bits.reshape(-1, length)

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Return raw codes of some rows."""
        return np.ascontiguousarray(self.bits[first : first + count])

    def amax(self) -> int:
        """Return the binary32 bits of the largest magnitude."""
        step = row_step(self.bits.shape[1])
        tops = [amax(self.rows(first, step), source=self.format) for first in range(0, len(self.bits), step)]
        return int(np.array(tops, np.float32).max().view(np.uint32))


def _plain(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def compare(tensor: StoredTensor, original: Original, shared_amax: int | None = None) -> list[Outcome]:
    """Return what each recipe gives against the file, the nearest first.

    shared_amax: binary32 bits of the maximum of all weights that share the tensor factor; None: of this one alone.
    """
    own = original.amax()
    tops = [own] if shared_amax is None else [own, shared_amax]
    found = []
    for recipe in candidates(tensor.store):
        outcome, amax_bits = _prepared(recipe, tensor, tops)
        if outcome.refused is None:
            _run(outcome, recipe, tensor, original, amax_bits, SAMPLE)
        found.append((outcome, recipe, amax_bits))
    found.sort(key=lambda item: (item[0].refused is not None, item[0].rate, item[0].factor is not None))
    least = found[0][0].rate
    for outcome, recipe, amax_bits in found:
        if outcome.refused is None and outcome.rate == least and not outcome.whole:
            again = Outcome(outcome.recipe, factor=outcome.factor, note=outcome.note)
            _run(again, recipe, tensor, original, amax_bits, None)
            outcome.__dict__.update(again.__dict__)
    return sorted((item[0] for item in found), key=lambda item: (item.refused is not None, item.rate, item.factor is not None))


def _prepared(recipe: Recipe, tensor: StoredTensor, tops: list[int]) -> tuple[Outcome, int | None]:
    """Return an empty outcome and the tensor maximum to quantize with: the one that gives the stored factor, where one does."""
    outcome = Outcome(recipe.id)
    if not has_tensor_level(recipe):
        return outcome, None
    stored = tensor.tensor_bits
    if stored is None or not owns(tensor.store, recipe):
        return outcome, tops[-1]
    for top in tops:
        if tensor_code(recipe.id, top) == stored:
            return outcome, top
    behind = maxima(recipe, stored)
    if behind is not None and behind.high >= max(tops):
        outcome.note = f"with the tensor maximum {behind.bits:08X} of the file, above the weights' own {max(tops):08X}"
        return outcome, behind.bits
    given = tensor_code(recipe.id, tops[-1])
    outcome.factor = f"the tensor factor is {stored:08X}, the original gives {'nothing' if given is None else f'{given:08X}'}"
    if given is not None and not stored & 0xFFFF and abs(stored - given) < 1 << 16:
        outcome.factor += ": it was rounded to bf16"
    return outcome, tops[-1] if behind is None else behind.bits


def _run(outcome: Outcome, recipe: Recipe, tensor: StoredTensor, original: Original, amax_bits: int | None, most: int | None) -> None:
    """Quantize the original some rows at a time and count what differs."""
    for rows in tensor.chunks(most):
        try:
            codes, scales, flags = _quantized(recipe, original.rows(rows.first, len(rows.codes)), original.format, amax_bits)
        except EmuError as error:
            outcome.refused = f"the recipe refuses the original: {error}"
            return
        _count(outcome, rows, codes[:, : rows.codes.shape[1]], scales, flags)
    outcome.whole = outcome.elements == tensor.rows * tensor.shape[-1]


def _quantized(
    recipe: Recipe, x: NDArray[Any], source: str, amax_bits: int | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return codes, scales and flags of some rows; scales of a tile once for each of its rows."""
    top = None if amax_bits is None else np.array(amax_bits, np.uint32).view(np.float32)[()]
    found = quantize(x, recipe, source=source, tensor_amax=top)
    rows = get("block", recipe.facts.block).facts.shape[0]
    scales = np.repeat(found.scales, rows, axis=0)[: len(x)] if rows > 1 else found.scales
    flags = next((level.codes for level in found.levels if level.meaning == "flag"), None)
    return found.codes[: len(x)], scales, flags


def _count(outcome: Outcome, rows: StoredRows, codes: NDArray[Any], scales: NDArray[Any], flags: NDArray[Any] | None) -> None:
    columns = codes.shape[1] // scales.shape[1]
    wrong_codes = rows.codes != codes
    wrong_scales = rows.scales != scales
    if flags is not None:
        wrong_scales |= rows.flags != flags
    outcome.codes += int(wrong_codes.sum())
    outcome.scales += int(wrong_scales.sum())
    outcome.elements += codes.size
    outcome.blocks += scales.size
    if len(outcome.rows) < SHOWN:
        blocks = wrong_scales | wrong_codes.reshape(*scales.shape, columns).any(-1)
        for row, block in np.argwhere(blocks)[: SHOWN - len(outcome.rows)].tolist():
            outcome.rows += _shown(rows, codes, scales, row, block, columns)


def _shown(rows: StoredRows, codes: NDArray[Any], scales: NDArray[Any], row: int, block: int, columns: int) -> Iterator[str]:
    part = slice(block * columns, (block + 1) * columns)
    theirs, ours = ("".join(f"{code:X}" for code in found[row, part].tolist()) for found in (rows.codes, codes))
    text = f"stored scale {rows.scales[row, block]:02X} codes {theirs}, recipe {scales[row, block]:02X} {ours}"
    yield f"row {rows.first + row} block {block}: {text}"
