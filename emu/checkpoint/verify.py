"""Is a checkpoint whole? Scales, tensor factors, padding and NaN bytes alone; every byte against the weights that it was made from.

Not here: which recipe wrote it (identify.py), which is asked only where the original is not quantized.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError
from emu.checkpoint.change import change_of
from emu.checkpoint.container import FORMATS, Container, Entry, open_checkpoint
from emu.checkpoint.described import bytes_fault, elsewhere, left_out
from emu.checkpoint.facts import ScaleMarks, grid_of, kind_of
from emu.checkpoint.hold import factor_of
from emu.checkpoint.identify import identify_files
from emu.checkpoint.layout import UNSTATED, Stated, padding_set
from emu.checkpoint.passive import UNSEEN
from emu.checkpoint.read import StoredTensor, open_tensor, readings, row_step, undecided
from emu.checkpoint.refit import can_refit
from emu.checkpoint.report import POWERS, CheckpointReport, TensorReport
from emu.checkpoint.rescaled import Rescaled, can_rescale
from emu.checkpoint.store import Match, companions, matches
from emu.ops.functions import convert
from emu.spec import get
from emu.spec.derive import nan_codes

FINE, DIFFERS, NOTHING = 0, 1, 3
CHUNK: Final = 1 << 22  # bytes


class Fault(NamedTuple):
    """What is wrong. tensor: its name.   what: in words.   places: the first of them."""

    tensor: str
    what: str
    places: tuple[str, ...] = ()


@dataclass
class Verified:
    """What was found. weights, others: tensors looked at.   compared: weights held against the original's; None without an original.

    unread: weights of emu quantize whose blocks no store has, looked at by their checksums alone.   uncompared: weights that an original
    which is not quantized has too, in blocks that no recipe makes, or that are in an order which nothing tells.   unknown: which of these.
    lacking: why the first weight was not compared, where none was.
    """

    path: Path
    weights: int
    others: int
    compared: int | None = None
    faults: list[Fault] = field(default_factory=list)
    unread: int = 0
    uncompared: int = 0
    unknown: str = "in blocks that no recipe makes, so nothing is known of them"
    lacking: str = "the original has none of the weights"

    @property
    def exit_code(self) -> int:
        """0 fine, 1 damaged or different, 3 nothing to look at, or a weight or all of them not compared with the original."""
        if not self.weights:
            return NOTHING
        if self.faults:
            return DIFFERS
        return NOTHING if self.compared == 0 or self.uncompared else FINE

    @property
    def verdict(self) -> str:
        """One line."""
        what = f"{self.path}: {self.weights} weights, {self.others} other tensors"
        what += f", {self.unread} weights in other blocks by their checksums" if self.unread else ""
        if not self.weights:
            return f"nothing compared: {self.path}: no quantized weight of a known store"
        if self.faults:
            first = self.faults[0]
            return f"wrong: {what}: {len(self.faults)} faults, first {first.tensor}: {first.what}"
        if self.compared is None:
            return f"fine: {what}: scales, tensor factors, padding and NaN bytes; exchanged or moved bytes show only beside the original"
        if self.uncompared:
            what += f": {self.compared} weights are those of the original"
            return f"not all compared: {what}, {self.uncompared} are {self.unknown}"
        if not self.compared:
            return f"nothing compared: {what}: {self.lacking}"
        return f"fine: {what}: {self.compared} weights are those of the original"

    def json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        faults = [item._asdict() for item in self.faults]
        return asdict(self) | {"path": str(self.path), "faults": faults, "verdict": self.verdict, "exit_code": self.exit_code}


def verify_checkpoint(path: str | Path, original: str | Path | None = None, stated: Stated = UNSTATED) -> Verified:
    """Look for damage in a quantized checkpoint, and compare it with what it was made from; nothing is loaded whole.

    path: a .safetensors or .gguf file, a folder of them, or an index.   original: likewise. Where it holds quantized weights itself, codes,
    scales and tensor factors must stand for the same numbers; else some recipe of the spec must give every byte from its weights.
    stated: order of nibbles and scales (layout.stated_orders), for weights of both where neither the file nor its bytes say it.
    Raises: FileError (missing, truncated, foreign, a tensor that lacks its companions).
    Source: spec/checkpoint.   Tests: tests/checkpoint/test_checkpoint_verify.py.
    """
    container = open_checkpoint(path)
    before = None if original is None else open_checkpoint(original)
    stored = before is not None and bool(matches(before))
    report = identify_files(path, None if stored else original, stated=stated)
    done = Verified(container.path, len(report.tensors), report.others)
    done.faults += _of_report(report)
    found = matches(container)
    chosen = [fitting[0] for fitting in found]
    tensors, plain = _opened(container, found, stated)
    for tensor in tensors:
        done.faults += _padding(tensor)
        fault = bytes_fault(container, tensor.match)
        done.faults += [Fault(tensor.name, fault)] if fault else []
    for item in elsewhere(container, chosen):
        done.unread += 1
        done.faults += [Fault(item.name, item.fault)] if item.fault else []
    for entry in plain:
        done.faults += _nan(container, entry)
    if before is not None and stored:
        _same(tensors, plain, container, before, done, stated)
    elif before is not None:
        done.compared, done.uncompared = sum(_seen(item) for item in report.tensors), len(report.uncompared)
        why = next((item.recipes[0].why for item in report.uncompared), "")
        done.unknown = f"not: {why}" if why.startswith(POWERS) else done.unknown
        done.lacking = next((item.recipes[0].why for item in report.tensors if item.recipes), done.lacking)
        done.faults += _unlike(plain, container, before, chosen) if done.compared else ()
    return done


def _of_report(report: CheckpointReport) -> Iterator[Fault]:
    """Yield damage and odd tensor factors; beside an original also bytes that no recipe gives, and weights that it lacks."""
    for tensor in report.damaged:
        for what, count, places in tensor.damage:
            yield Fault(tensor.name, what + (f" ({count})" if count > 1 else ""), tuple(places))
    for tensor in report.suspicious:
        yield from (Fault(tensor.name, what) for what in tensor.suspicions)
    if report.original is None or not any(_seen(tensor) or tensor.uncompared for tensor in report.tensors):
        return
    named = {tensor.name for tensor in report.damaged}
    for tensor in report.departing:
        if tensor.name not in named:
            why = "no recipe gives all its bytes from the original" if _seen(tensor) else tensor.recipes[0].why
            if tensor.said is not None and tensor.identified:
                why = f"the file says that {tensor.said} wrote it, its bytes are those of {tensor.identified[0]}"
            yield Fault(tensor.name, why, tuple(tensor.rows))


def _seen(tensor: TensorReport) -> bool:
    """Tell whether a weight was compared with any recipe."""
    return any(item.verdict != UNSEEN for item in tensor.recipes)


def _opened(container: Container, found: list[tuple[Match, ...]], stated: Stated) -> tuple[list[StoredTensor], list[Entry]]:
    """Return the weights whose shapes are right, and the tensors that belong to none. found: what matches gives."""
    tensors = [item for item in (open_tensor(container, fitting, stated) for fitting in found) if isinstance(item, StoredTensor)]
    belonging = companions(container, [fitting[0] for fitting in found])
    return tensors, [entry for name, entry in container.entries.items() if name not in belonging]


def _padding(tensor: StoredTensor) -> Iterator[Fault]:
    level = next((item.level for item in tensor.store.facts.levels if item.meaning == "scale"), None)
    if level is None:
        return
    raw, length = tensor.container.raw(tensor.match.parts[level]), tensor.shape[-1]
    count = padding_set(raw, tensor.order, tensor.rows, tensor.grid.columns, row_step(length))
    if count:
        yield Fault(tensor.name, f"{count} bytes of the padding of its scales are not zero")


def _nan(container: Container, entry: Entry) -> Iterator[Fault]:
    """Yield the NaN of a tensor of binary32, binary16 or bfloat16."""
    if entry.dtype not in FORMATS:
        return
    name, word = FORMATS[entry.dtype]
    mask, top, _ = nan_codes(get("format", name))
    raw, count, first = container.raw(entry), 0, -1
    for start in range(0, raw.size, CHUNK):
        bits = np.frombuffer(raw[start : start + CHUNK].tobytes(), word)
        nan = bits.astype(np.int64) & mask > top
        if count == 0 and nan.any():
            first = start // bits.itemsize + int(nan.argmax())
        count += int(nan.sum())
    if count:
        yield Fault(entry.name, f"NaN ({count})", (f"element {first}",))


def _same(tensors: list[StoredTensor], plain: list[Entry], container: Container, before: Container, done: Verified, stated: Stated) -> None:
    """Compare with a quantized original: weights by their numbers, other tensors byte by byte.

    A weight whose orders nothing tells is compared in those that its store has; where only another order gives the numbers, nobody knows.
    """
    originals, others = _opened(before, matches(before), stated)
    theirs, faults = {_key(item.name): item for item in originals}, done.faults
    done.compared = 0
    for tensor in tensors:
        other = theirs.pop(_key(tensor.name), None)
        if other is None:
            faults.append(Fault(tensor.name, "the original has no such quantized weight"))
            continue
        wrong = list(_differs(tensor, other))
        if wrong and any(not list(_differs(one, two)) for one in readings(tensor) for two in readings(other)):
            done.uncompared += 1
            doubt = undecided(tensor)
            done.unknown = f"not: {doubt}" if doubt is not None else f"not: of the original {undecided(other)}"
        else:
            done.compared += 1
            faults += wrong
    faults += [Fault(item.name, "is in the original and not here") for item in theirs.values()]
    mine = {entry.name: entry for entry in plain}
    for entry in others:
        copy = mine.get(entry.name)
        if copy is None:
            faults.append(Fault(entry.name, "is in the original and not here"))
        elif (copy.dtype, copy.shape) != (entry.dtype, entry.shape):
            faults.append(Fault(entry.name, f"{copy.dtype} {list(copy.shape)}, in the original {entry.dtype} {list(entry.shape)}"))
        elif not np.array_equal(container.raw(copy), before.raw(entry)):
            faults.append(Fault(entry.name, "its bytes are not those of the original"))


def _unlike(plain: list[Entry], container: Container, before: Container, found: list[Match]) -> Iterator[Fault]:
    """Yield tensors of an original that is not quantized which are missing here, or not quantized here and not its numbers.

    A tensor of another float type is the original's, rounded to nearest even. What emu quantize says that it left out may be missing.
    """
    held = {match.module + suffix for match in found for suffix in match.store.facts.weights}
    held |= {name for match in found for name in left_out(container, match)} | {item.name for item in elsewhere(container, found)}
    mine = {entry.name: entry for entry in plain}
    for entry in before.entries.values():
        copy = mine.get(entry.name)
        if copy is None:
            if entry.name not in held:
                yield Fault(entry.name, "is in the original and not here")
        elif copy.shape != entry.shape or (copy.dtype != entry.dtype and not {copy.dtype, entry.dtype} <= FORMATS.keys()):
            yield Fault(entry.name, f"{copy.dtype} {list(copy.shape)}, in the original {entry.dtype} {list(entry.shape)}")
        elif not _same_numbers(container.raw(copy), before.raw(entry), copy.dtype, entry.dtype):
            yield Fault(entry.name, "its numbers are not those of the original")


def _same_numbers(raw: NDArray[np.uint8], original: NDArray[np.uint8], dtype: str, was: str) -> bool:
    """Tell whether the bytes of a tensor are those of the original, rounded to nearest even where its type is another."""
    if dtype == was:
        return bool(np.array_equal(raw, original))
    (to, word), (source, was_word) = FORMATS[dtype], FORMATS[was]
    mine, theirs = raw.view(word), original.view(was_word)
    return all(
        np.array_equal(mine[start : start + CHUNK], convert(np.array(theirs[start : start + CHUNK]), to, source=source, policy="ieee"))
        for start in range(0, mine.size, CHUNK)
    )


def _differs(tensor: StoredTensor, other: StoredTensor) -> Iterator[Fault]:
    """Yield how a weight differs from the original's: shape, kind of block, tensor factor, codes and scales."""
    mine, theirs = tensor.block, other.block
    sides = _in_one_kind(tensor, other) if tensor.shape == other.shape else None
    if sides is None:
        kinds = f"{list(tensor.shape)} in blocks of {mine.id}, in the original {list(other.shape)} in blocks of {theirs.id}"
        stores = tensor.store, other.store
        numbers = _other_numbers(tensor, other) if tensor.shape == other.shape and (can_refit(*stores) or can_refit(*stores[::-1])) else ""
        if numbers is not None:
            yield Fault(tensor.name, f"{kinds}: {numbers}" if numbers else kinds)
        return
    try:
        if factor_of(tensor) != factor_of(other):
            yield Fault(
                tensor.name, f"its tensor factor is {float(factor_of(tensor)):.9g}, that of the original {float(factor_of(other)):.9g}"
            )
    except FileError as error:
        yield Fault(tensor.name, str(error))
    wrong_scale = next((side for side in sides if isinstance(side, Rescaled) and side.rounded is not None), None)
    if wrong_scale is not None:
        yield Fault(
            tensor.name,
            f"scales of blocks of {wrong_scale.tensor.block.id} are no numbers of {wrong_scale.scale_format.id}, the other's type",
        )
        return
    codes, first = 0, -1
    marks = ScaleMarks(grid_of(sides[0].store, tensor.shape))
    for one, two in zip(sides[0].chunks(), sides[1].chunks(), strict=True):
        wrong = (one.codes != two.codes, (one.scales != two.scales) | (one.flags != two.flags))
        rows = wrong[0].any(-1) | wrong[1].any(-1)
        first = one.first + int(rows.argmax()) if first < 0 and rows.any() else first
        codes += int(wrong[0].sum())
        marks.add(wrong[1])
    if codes or marks.count:
        yield Fault(tensor.name, f"{codes} codes and {marks.count} scales are not those of the original", (f"row {first}",))


def _other_numbers(tensor: StoredTensor, other: StoredTensor) -> str | None:
    """Return how many numbers differ from those of the original, under other scales; None: none does, -0 is the number 0."""
    try:
        change = change_of(other, tensor, "")
    except FileError as error:
        return str(error)
    return f"{change.values} of {change.elements} values are not the same numbers" if change.values else None


def _in_one_kind(tensor: StoredTensor, other: StoredTensor) -> tuple[StoredTensor | Rescaled, StoredTensor | Rescaled] | None:
    """Return both with scales of one type and extent, the same numbers where any way keeps them; None: blocks of other kinds."""
    if kind_of(tensor.store) == kind_of(other.store):
        return tensor, other
    ways: list[tuple[StoredTensor | Rescaled, StoredTensor | Rescaled]] = []
    if can_rescale(tensor.store, other.store):
        ways.append((Rescaled(tensor, other.store), other))
    if can_rescale(other.store, tensor.store):
        ways.append((tensor, Rescaled(other, tensor.store)))
    exact = (way for way in ways if all(isinstance(side, StoredTensor) or side.rounded is None for side in way))
    return next(exact, ways[0] if ways else None)


def _key(weight: str) -> str:
    return weight.removesuffix(".weight")
