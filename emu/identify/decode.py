"""identify a decode kernel, and a dequantize kernel: which format, or which recipe's profile, gives its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.errors import EmuError, OperandError, TargetError
from emu.check.model import Target
from emu.engines.run import run_decode, run_dequantize
from emu.identify.model import Axis, Departure, Identity, Pair
from emu.identify.rows import KEY, OPEN, canonical
from emu.identify.shared import identify_shared_dequantize, recipes_of_shared_scales
from emu.spec import derive
from emu.spec.contract import recipes_of_blocks
from emu.spec.models import Block, Format, Recipe
from emu.spec.programs.types import extent_of
from emu.spec.registry import get, names

SHOWN: Final = 4
WIDE: Final = 64  # elements of the widest block
WIDTHS: Final = (4, 6, 8)
ROWS: Final = 16
# fp32 codes of tensor levels: 1, 2688, numbers whose products and quotients round, tiny ones, a huge one
TENSORS: Final = (0x3F800000, 0x45280000, 0x3AA29C47, 0x40556D1D, 0x44498323, 0x40DB22D5, 0x3F8CCCCD, 0x00000500, 0x02A80003, 0x7E967699)


OTHERS: Final = (0x3A2B4C5D, 0x3F9E3779, 0x42C58A3B)  # of rows that confirm: ordinary significands


@dataclass(frozen=True)
class Known:
    """A documented answer. values: codes of the result format, OPEN where nobody knows."""

    name: str
    values: NDArray[np.int64]
    given: NDArray[np.int64]
    operands: dict[str, NDArray[Any]]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Tell where the kernel differs."""
        differs: NDArray[np.bool_] = (self.values != self.given) & (self.values != OPEN)
        return differs

    @property
    def fits(self) -> bool:
        """Tell whether the kernel gives every answer, and there is one."""
        return not self.wrong.any() and bool((self.values != OPEN).any())


def identify_decode(target: Target, among: Sequence[str] | None) -> Identity:
    """Return which format a kernel decodes. Raises: TargetError, OperandError (it took no question)."""
    result: Format = get("format", target.result or "fp32")
    found: list[Known] = []
    for bits in WIDTHS:
        codes = np.arange(1 << bits, dtype=np.uint8)
        given = _given(target, {"codes": codes}, codes.shape)
        if given is not None:
            found += _formats(codes, bits, canonical(given, result), result, among)
    return _report(target, found, "format")


def _formats(codes: Any, bits: int, given: Any, result: Format, among: Sequence[str] | None) -> Iterator[Known]:
    for name in among or names("format"):
        fmt: Format = get("format", name)
        if derive.codes(fmt).bits + derive.unused_high_bits(fmt) != bits:
            continue
        kept = codes < 1 << derive.codes(fmt).bits
        values = np.full(codes.shape, OPEN, np.int64)
        try:
            values[kept] = run_decode(codes[kept], fmt, result).astype(np.int64)
        except EmuError:
            continue
        yield Known(f"decode/{name}", canonical(values, result), given, {"codes": codes})


def identify_dequantize(target: Target, among: Sequence[str] | None) -> Identity:
    """Return which recipe's dequantize profile a kernel follows. Raises: TargetError, OperandError (it took no question).

    Recipes of blocks are asked first; those whose scales more than a block shares where none of them gives every answer.
    """
    result: Format = get("format", target.result or "fp32")
    found: list[Known] = []
    asked: dict[str, tuple[dict[str, Any], Any]] = {}
    shared_scales = recipes_of_shared_scales()
    for name in among or recipes_of_blocks():
        recipe: Recipe = get("recipe", name)
        if recipe.id in shared_scales:
            continue
        block: Block = get("block", recipe.facts.block)
        key = str([block.facts.shape, block.element_formats, [level.model_dump() for level in block.facts.levels]])
        if key not in asked:
            asked[key] = _asked(target, block)
        operands, given = asked[key]
        if given is not None:
            found += _profiles(recipe, operands, canonical(given, result), result)
    whole = _report(target, _confirmed(target, found, result), "profile") if found else None
    if whole is not None and whole.kind == "documented":
        return whole
    shared = identify_shared_dequantize(target, among or None)
    if shared is None:
        return whole or _report(target, (), "profile")
    if whole is None or shared.kind == "documented":
        return shared
    return max(shared, whole, key=lambda item: item.agreed / item.asked)


def _confirmed(target: Target, found: list[Known], result: Format) -> list[Known]:
    """Ask other codes under other tensor levels of what fits. Returns: all without those that fail there; where all do, their answers."""
    fits = [item.name for item in found if item.fits]
    again = []
    for name in fits:
        recipe: Recipe = get("recipe", name.split("/")[1])
        operands, given = _asked(target, get("block", recipe.facts.block), OTHERS, "identify_dequantize_drawn")
        if given is not None:
            again += [item for item in _profiles(recipe, operands, canonical(given, result), result) if item.name == name]
    wrong = [item for item in again if item.wrong.any()]
    return wrong if wrong and len(wrong) == len(fits) else [item for item in found if item.name not in {each.name for each in wrong}]


def _asked(
    target: Target, block: Block, factors: Sequence[int] = TENSORS, stream: str = "identify_dequantize"
) -> tuple[dict[str, Any], NDArray[np.int64] | None]:
    """Return questions, one for each tensor level, stacked, and the values; None where the kernel does not take them."""
    tensors = factors if any(level.granularity == "tensor" for level in block.facts.levels) else factors[:1]
    questions = [_operands(block, bits, stream) for bits in tensors]
    stacked = {name: np.stack([np.atleast_2d(one[name]) for one in questions]) for name in questions[0]}
    values = [_given(target, one, one["codes"].shape) for one in questions]
    return stacked, None if any(one is None for one in values) else np.stack([one for one in values if one is not None])


def _operands(block: Block, tensor: int, stream: str) -> dict[str, Any]:
    """Return codes and levels: every pair of an element code and a scale of eight bits at least once, wider scales in turn."""
    rows, lanes = block.facts.shape
    size = (ROWS * rows, 4 * lanes * (4 if lanes < WIDE else 1))
    words = philox.words(KEY, size[0] * size[1], 0, philox.stream_of(stream)).astype(np.uint32)
    element: Format = get("format", block.element_formats[0])
    out: dict[str, Any] = {"codes": (words & ((1 << derive.codes(element).bits) - 1)).reshape(size).astype(np.uint8)}
    for level in block.facts.levels:
        place, fmt = extent_of(level.granularity, block), get("format", level.format)
        if place == (0, 0):
            out[level.name] = np.array(tensor, np.uint32)
            continue
        shape = (size[0] // (place.rows or size[0]), size[1] // (place.columns or size[1]))
        bits, numbers = derive.codes(fmt).bits, np.arange(shape[0] * shape[1], dtype=np.uint32)
        wide = np.array(TENSORS, np.uint32)[numbers % len(TENSORS)] + numbers // len(TENSORS)
        codes = wide if bits > 16 else (numbers % (1 << bits)).astype(np.uint8 if bits <= 8 else np.uint16)
        out[level.name] = codes.reshape(shape)
    return out


def _profiles(recipe: Recipe, operands: dict[str, Any], given: Any, result: Format) -> Iterator[Known]:
    for profile in recipe.facts.dequantize:
        values = []
        try:
            for number, codes in enumerate(operands["codes"]):
                levels = {name: array[number] for name, array in operands.items() if name != "codes"}
                values.append(run_dequantize(recipe, codes, levels, profile=profile, result=result, engine="auto"))
        except EmuError:
            continue
        yield Known(f"dequantize/{recipe.id}/{profile}", canonical(np.stack(values).astype(np.int64), result), given, operands)


def _given(target: Target, operands: dict[str, Any], shape: tuple[int, ...]) -> NDArray[np.int64] | None:
    """Return the values; None where the kernel does not take the question."""
    try:
        found = np.asarray(target(operands)["values"])
    except TargetError as error:
        if error.verdict in ("raises", "shape"):
            return None
        raise
    return found.astype(np.int64) if found.shape == shape else None


def _report(target: Target, found: Sequence[Known], axis: str) -> Identity:
    if not found:
        raise OperandError(
            f"identify: {target.name} took no question, or no documented {axis} is left: look at --source, --result, --among"
        )
    order = sorted(found, key=lambda item: (float(item.wrong.mean()), -int((item.values != OPEN).sum())))
    fits = [item for item in order if item.fits]
    best = (fits or order)[0]
    names_found = tuple(item.name for item in fits) or (best.name,)
    title = " or ".join(names_found) if fits else f"nothing documented; nearest {best.name}"
    kind: Any = "documented" if fits else "nearest"
    departures = tuple(_departure(best, place) for place in np.argwhere(best.wrong)[:SHOWN].tolist())
    pairs = tuple(_pair(best, item) for item in found if item is not best)
    agreed = int((~best.wrong).sum())
    return Identity(
        target.name, target.op, kind, names_found, title, (Axis("values", axis, title),), pairs, departures, best.given.size, agreed
    )


def _departure(best: Known, place: list[int]) -> Departure:
    at = tuple(place)
    return Departure(_shown(best, at), f"values{place}", f"{int(best.values[at]):#x}", f"{int(best.given[at]):#x}")


def _shown(item: Known, at: tuple[int, ...]) -> dict[str, str]:
    """Return the code and the codes of each level that cover a place."""
    out = {}
    for name, array in item.operands.items():
        place = tuple(index * have // whole for index, have, whole in zip(at, array.shape, item.operands["codes"].shape, strict=False))
        out[name] = f"{int(array[place]):x}"
    return out


def _pair(best: Known, other: Known) -> Pair:
    if best.values.shape != other.values.shape or {name: a.shape for name, a in best.operands.items()} != {
        name: a.shape for name, a in other.operands.items()
    }:
        return Pair(best.name, other.name, "separated", "other operands")
    differ = np.argwhere((best.values != other.values) & (best.values != OPEN) & (other.values != OPEN)).tolist()
    if differ:
        at = tuple(differ[0])
        return Pair(best.name, other.name, "separated", f"{int(best.values[at]):x} and {int(other.values[at]):x}", _shown(best, at))
    if (best.values != other.values).any():
        return Pair(best.name, other.name, "unobservable", "they part only where one of them is open")
    if best.name.startswith("decode"):
        return Pair(best.name, other.name, "equal", f"all {best.values.size} codes, by exhaustion")
    return Pair(best.name, other.name, "not separated", f"{best.values.size} elements tried")
