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
from emu.checkpoint.amax import maxima, multiplier
from emu.checkpoint.candidates import candidates, owns, reads_amax, tensor_code
from emu.checkpoint.container import FORMATS, Container, Entry
from emu.checkpoint.facts import ScaleMarks, element_bits
from emu.checkpoint.hold import as_stored, nearest
from emu.checkpoint.passive import SEPARATED, UNSEEN, Finding
from emu.checkpoint.read import StoredRows, StoredTensor, of_rows, row_step
from emu.checkpoint.scan import MOST, codes_text
from emu.ops.functions import amax, quantize
from emu.spec import get
from emu.spec.models import Recipe

IDENTIFIED = "identified"
SAMPLE = 1 << 16  # elements that every recipe is tried on
SHOWN = 3


@dataclass
class Outcome:
    """What a recipe gives against the file. codes, scales: how many differ, of how many.   factor: why the tensor factor differs, or None.

    note: whose maximum the file's tensor factor stands for, where it is not the weight's own.   amax: binary32 bits of the maximum tried.
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
    amax: int | None = None

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

    def sibling(self, tensor: StoredTensor, low: int, high: int) -> str | None:
        """Return another weight of the same parent module whose largest magnitude is in a range of binary32 bits; None without one."""
        parent = tensor.match.module.rpartition(".")[0]
        for name, entry in self.container.entries.items():
            if parent and name.startswith(f"{parent}.") and entry != self.entry and entry.dtype in FORMATS and len(entry.shape) > 1:
                form, word = FORMATS[entry.dtype]
                if low <= int(np.asarray(amax(self.container.raw(entry).view(word), source=form), np.float32).view(np.uint32)) <= high:
                    return name
        return None


def _plain(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def compare(tensor: StoredTensor, original: Original, shared_amax: int | None = None) -> list[Outcome]:
    """Return what each recipe gives against the file, the nearest first.

    shared_amax: binary32 bits of the maximum of all weights that share the tensor factor; None: of this one alone.
    """
    own = original.amax()
    tops = [own] if shared_amax is None else [own, shared_amax]
    found = [outcome for recipe in candidates(tensor.store) for outcome in _prepared(recipe, tensor, original, tops)]
    if not found:
        return []
    for outcome in found:
        _run(outcome, tensor, original, SAMPLE)
    found.sort(key=_order)
    least = found[0].rate
    for outcome in found:
        if outcome.refused is None and outcome.rate == least and not outcome.whole:
            again = Outcome(outcome.recipe, factor=outcome.factor, note=outcome.note, amax=outcome.amax)
            _run(again, tensor, original, None)
            outcome.__dict__.update(again.__dict__)
    best: dict[str, Outcome] = {}
    for outcome in sorted(found, key=_order):
        best.setdefault(outcome.recipe, outcome)
    return list(best.values())


def _order(outcome: Outcome) -> tuple[bool, float, bool]:
    return outcome.refused is not None, outcome.rate, outcome.factor is not None


def _prepared(recipe: Recipe, tensor: StoredTensor, original: Original, tops: list[int]) -> list[Outcome]:
    """Return empty outcomes, one for each tensor maximum to quantize with: the one that gives the stored factor, where the original has it.

    Where it has none, the factor is wrong: the codes may still be those of the weights' own maximum, or those of the factor's.
    """
    if not reads_amax(recipe):
        return [Outcome(recipe.id)]
    stored = tensor.tensor_bits
    if stored is None:
        return [Outcome(recipe.id, amax=tops[-1])]
    own = owns(tensor.store, recipe)
    codes = {top: tensor_code(recipe.id, top) if own else _in_store(recipe, top, tensor) for top in tops}
    for top, code in codes.items():
        if code == stored:
            return [Outcome(recipe.id, amax=top)]
    if not own:
        return [Outcome(recipe.id, factor=_factor(stored, codes[tops[-1]], None, tops[-1]), amax=tops[-1])]
    behind = maxima(recipe, stored)
    given = codes[tops[-1]]
    factor = _factor(stored, given, None if behind is None else behind.bits, tops[-1])
    found = [Outcome(recipe.id, factor=factor, amax=top) for top in dict.fromkeys(tops)]
    if behind is None:
        return found
    sibling = original.sibling(tensor, max(behind.low, tops[0]), behind.high)  # a smaller maximum cuts off this weight: no factor to share
    if sibling is not None:
        return [Outcome(recipe.id, note=f"with the tensor maximum {behind.bits:08X} of {sibling}", amax=behind.bits)]
    return [*found, Outcome(recipe.id, factor=factor, amax=behind.bits)]


def _in_store(recipe: Recipe, top: int, tensor: StoredTensor) -> int | None:
    """Return the bits of the tensor factor of a recipe in a store of other blocks: the nearest number that stands for it there."""
    code = tensor_code(recipe.id, top)
    value = None if code is None else multiplier(get("block", recipe.facts.block), code)
    return None if value is None else nearest(as_stored(value, tensor.store))


def _factor(stored: int, given: int | None, behind: int | None, own: int) -> str:
    """Return what is wrong with a stored tensor factor. given: the bits that the original gives.   behind, own: maxima, binary32 bits."""
    if given is None:
        return f"the tensor factor is {stored:08X}, the original gives nothing"
    text = f"the tensor factor is {stored:08X}, the original gives {given:08X}"
    if not stored & 0xFFFF and abs(stored - given) < 1 << 16:
        return text + ": it was rounded to bf16"
    with np.errstate(all="ignore"):
        mine, right = np.array([stored, given], np.uint32).view(np.float32)
        inverse = int((np.float32(1) / right).view(np.uint32))
        ratio = float(np.float64(mine) / np.float64(right))
    if abs(stored - inverse) <= 1:
        return text + ": it is the reciprocal, a multiplier in the place of a divisor or the reverse"
    if behind is not None and behind > own:
        text += f": it is that of the maximum {behind:08X}, above the weights' own {own:08X}, which no weight beside it has"
    return f"{text} ({ratio:.6g} times that)"


def _run(outcome: Outcome, tensor: StoredTensor, original: Original, most: int | None) -> None:
    """Quantize the original some rows at a time and count what differs."""
    marks = ScaleMarks(tensor.grid)
    for rows in tensor.chunks(most):
        try:
            codes, scales, flags = quantized_rows(outcome, original, rows.first, len(rows.codes))
        except EmuError as error:
            outcome.refused = f"the recipe refuses the original: {error}"
            return
        _count(outcome, tensor, rows, codes[:, : rows.codes.shape[1]], scales, flags, marks)
        outcome.scales, outcome.blocks = marks.count, marks.seen
    outcome.whole = outcome.elements == tensor.rows * tensor.shape[-1]


def quantized_rows(outcome: Outcome, original: Original, first: int, count: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return codes, scales and flags that an outcome's recipe gives some rows; scales of a tile once for each of its rows."""
    recipe: Recipe = get("recipe", outcome.recipe)
    top = None if outcome.amax is None else np.array(outcome.amax, np.uint32).view(np.float32)[()]
    return of_rows(quantize(original.rows(first, count), recipe, source=original.format, tensor_amax=top))


def _count(
    outcome: Outcome,
    tensor: StoredTensor,
    rows: StoredRows,
    codes: NDArray[Any],
    scales: NDArray[Any],
    flags: NDArray[Any] | None,
    marks: ScaleMarks,
) -> None:
    starts = np.arange(0, codes.shape[1], tensor.grid.wide)
    wrong_codes = rows.codes != codes
    wrong_scales = rows.scales != scales
    if flags is not None or tensor.store.facts.high_bit != "ignored":
        wrong_scales |= rows.flags != (0 if flags is None else flags)
    outcome.codes += int(wrong_codes.sum())
    outcome.elements += codes.size
    marks.add(wrong_scales)
    if len(outcome.rows) < SHOWN:
        blocks = wrong_scales | np.logical_or.reduceat(wrong_codes, starts, axis=1)
        for row, block in np.argwhere(blocks)[: SHOWN - len(outcome.rows)].tolist():
            outcome.rows += _shown(rows, codes, scales, row, block, element_bits(tensor.block), tensor.grid.wide)


def _shown(rows: StoredRows, codes: NDArray[Any], scales: NDArray[Any], row: int, block: int, bits: int, columns: int) -> Iterator[str]:
    part, digits = slice(block * columns, (block + 1) * columns), 2 * rows.scales.itemsize
    theirs, ours = (codes_text(found[row, part][:MOST], bits) for found in (rows.codes, codes))
    text = f"stored scale {rows.scales[row, block]:0{digits}X} codes {theirs}, recipe {scales[row, block]:0{digits}X} {ours}"
    yield f"row {rows.first + row} block {block}: {text}"
