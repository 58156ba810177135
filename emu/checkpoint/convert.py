"""A checkpoint of one store written as another: the same codes and scales under other names, in another order, with another tensor factor.

Where the other store has other blocks, scales are looked for under which it holds the same numbers (refit.py). Where it cannot hold them
(hold.py), the conversion is refused, or the weight is quantized again where that is asked for (requantize.py). What was written is read
back and compared before it gets its name. Not here: which store a checkpoint is (store.py), how its tensors are read (read.py), how the
files are written (writing.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from emu.base.atomic import folder_beside
from emu.base.errors import FileError, OperandError, SpecError
from emu.checkpoint.candidates import candidates
from emu.checkpoint.change import Change, change_of
from emu.checkpoint.container import Container, open_checkpoint
from emu.checkpoint.described import bytes_fault, elsewhere, left_out
from emu.checkpoint.hold import CannotHold, check_scales, held_factor, of_kind, open_as
from emu.checkpoint.layout import UNSTATED, Stated
from emu.checkpoint.read import StoredTensor, open_tensor, told
from emu.checkpoint.refit import Refitted, refit
from emu.checkpoint.requantize import Requantized, recipe_for
from emu.checkpoint.store import companions, matches
from emu.checkpoint.writing import Weight, copied, module_of, planned_weight, write_store
from emu.files.gguf import PLAIN
from emu.spec import get, names
from emu.spec.carried import InOrder, workers
from emu.spec.models import Checkpoint, Recipe
from emu.spec.models.checkpoint import Written


@dataclass
class Converted:
    """What was converted.

    out: the new folder.   store: its store.   weights: names of the converted weights.   kept: of the other tensors, copied byte for byte.
    rounded: weight -> its tensor factor as stored before and after, where the new one is not exactly the same number.
    changed: weight -> what quantizing it again changed.
    dropped: tensors beside weights for which the other store has no known place.   absent: tensors of the model that no file here holds.
    refitted: weights under other scales, with other codes where that needs them: the same numbers.
    """

    out: Path
    store: str
    weights: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    rounded: dict[str, tuple[str, str]] = field(default_factory=dict)
    changed: dict[str, Change] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    refitted: list[str] = field(default_factory=list)

    @property
    def lossless(self) -> bool:
        """Does every weight stand for exactly the same numbers?"""
        return not self.rounded and not any(change.values for change in self.changed.values())


def convert_checkpoint(
    source: str | Path,
    to: str,
    out: str | Path,
    round_factor: bool = False,
    progress: Callable[[str], None] = lambda name: None,
    rest: str | Path | None = None,
    requantize: bool = False,
    recipe: str | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    stated: Stated = UNSTATED,
) -> Converted:
    """Write a quantized checkpoint as another store: the same numbers, or refused unless it may be quantized again.

    source: a .safetensors or .gguf file, a folder of them, or an index.   to: id or alias of a store (emu list checkpoints).
    out: a new folder; it appears whole, after what was written was read back and compared, or not at all.
    round_factor: a tensor factor that the other store can only hold rounded (a reciprocal, say) is rounded to nearest even; else it is an
    error.   progress: takes the name of each weight.
    rest: the model before quantization: the tensors that source does not hold are copied from it, and its config.json. A file of
    emu quantize holds the quantized tensors alone.
    requantize: a weight that the other store cannot hold is decoded exactly, rounded to binary32 where its values are no such numbers, and
    quantized by the other library's recipe; what changed is counted. A weight that it can hold stays as it is.
    recipe: id or alias of another recipe for that, of the store's blocks.
    jobs: threads that quantize again.   cluster: workers instead (emu.base.cluster), which get rows and need not see a file; same bytes.
    stated: order of nibbles and scales (layout.stated_orders), where neither the file nor its bytes say it; without it that is an error.
    Codes and block scales of the others stay as they are, other tensors are copied byte for byte. Tensors that belong to a weight and are
    no part of it (scales of activations) are left out and listed.
    Raises: FileError (not a checkpoint, no weight of a known store, damaged, out exists, numbers that the other store cannot hold),
    SpecError (unknown store, one that nobody knows how to write, a recipe that does not make its blocks), OperandError (recipe without
    requantize); as emu.spec.carried.workers.   Source: spec/checkpoint.
    Tests: tests/checkpoint/test_checkpoint_convert.py.
    """
    store: Checkpoint = get("checkpoint", to)
    if store.facts.write is None:
        raise SpecError(
            f"checkpoint/{store.id}: what its library wants beside the tensors is not known: convert to {', '.join(_writable())}"
        )
    if recipe is not None and not requantize:
        raise OperandError("a recipe goes with quantizing again: give --requantize too")
    if recipe is not None:
        recipe_for(store, recipe)  # refused at once; the library's own is asked for where a weight needs one
    target = Path(out)
    if os.path.lexists(target):
        raise FileError(f"{target}: exists already: name a new folder")
    if not target.absolute().parent.is_dir():
        raise FileError(f"{target}: no such folder {target.absolute().parent}: make it first")
    container = open_checkpoint(source)
    other = None if rest is None else open_checkpoint(rest)
    with workers(jobs, cluster) as mapped, folder_beside(target) as work:
        chosen = partial(recipe_for, store, recipe) if requantize else None
        plan = _Plan(container, store, store.facts.write, round_factor, other, chosen, mapped, stated)
        weights, kept = [tensor.name for tensor in plan.tensors], [entry.name for entry in plan.kept]
        refitted = [tensor.name for tensor in plan.tensors if isinstance(tensor, Refitted)]
        done = Converted(target, store.id, weights, kept, plan.rounded, plan.changed, plan.dropped, plan.absent, refitted)
        plan.write(work, progress)
        plan.read_back(work)
        os.rename(work, target)
    return done


def _writable() -> Iterator[str]:
    """Yield the stores that can be written."""
    for name in names("checkpoint"):
        store: Checkpoint = get("checkpoint", name)
        if store.facts.write is not None:
            yield name


class _Plan:
    """What goes where, decided before a byte is written. Raises: FileError for what the other store cannot hold."""

    def __init__(
        self,
        container: Container,
        store: Checkpoint,
        write: Written,
        round_factor: bool,
        rest: Container | None,
        recipe: Callable[[], Recipe] | None,
        mapped: InOrder,
        stated: Stated,
    ) -> None:
        self.container, self.store, self.written, self.recipe, self.mapped = container, store, write, recipe, mapped
        found = matches(container)
        if not found:
            raise FileError(f"{container.path}: holds no quantized weight of a known store: nothing to convert")
        stored: list[StoredTensor] = []
        for fitting in found:
            opened = told(container, fitting[0].weight, open_as(container, fitting, store, stated), stated)
            fault = bytes_fault(container, opened.match)
            if fault is not None:
                raise FileError(f"{container.path}: {opened.name}: {fault}: quantize again")
            stored.append(opened)
        chosen = [tensor.match for tensor in stored]
        other = next(elsewhere(container, chosen), None)
        if other is not None:
            raise FileError(
                f"{container.path}: {other.name}: by {other.recipe}, whose blocks ({other.block}) no store has: "
                "quantize it by another recipe, or leave it out (emu quantize --exclude)"
            )
        belonging = companions(container, chosen)
        parts = {entry.name for match in chosen for entry in match.parts.values()}
        self.dropped = sorted(belonging - parts)
        self.kept = [entry for name, entry in container.entries.items() if name not in belonging]
        other_kind = next((entry for entry in self.kept if container.kind == "gguf" and entry.dtype not in PLAIN), None)
        if other_kind is not None:
            raise FileError(
                f"{container.path}: {other_kind.name} is {other_kind.dtype}, neither a quantized weight of a known store nor plain "
                "numbers: only the program that wrote it converts it"
            )
        self.config: dict[str, Any] = {**(rest.config if rest else {}), **container.config}
        self._complete(rest, stored)
        self.rounded: dict[str, tuple[str, str]] = {}
        self.factors: dict[str, int | None] = {}
        self.changed: dict[str, Change] = {}
        self.tensors = [self._held(tensor, round_factor) for tensor in stored]

    def _held(self, tensor: StoredTensor, round_factor: bool) -> Weight:
        """Return a weight as the other store will hold it, and keep its tensor factor."""
        try:
            held = of_kind(tensor, self.store)
            bits, exact = held_factor(tensor, self.store, round_factor)
            check_scales(tensor, self.store)
        except CannotHold as error:
            other = refit(tensor, self.store)
            if isinstance(other, Refitted):
                self.factors[tensor.name] = other.tensor_bits
                return other
            if self.recipe is None:
                remedy = "--requantize quantizes the decoded values again, values change" if candidates(self.store) else ""
                remedies = ", or ".join(filter(None, [error.remedy, remedy]))
                told = "; ".join(filter(None, [str(error), other]))
                raise FileError(": ".join(filter(None, [told, remedies]))) from None
            again = Requantized(tensor, self.store, self.recipe(), self.mapped)
            self.factors[tensor.name] = again.tensor_bits
            return again
        self.factors[tensor.name] = bits
        if not exact:
            self.rounded[tensor.name] = (f"{tensor.tensor_bits or 0:08X}", f"{bits:08X}")
        return held

    def _complete(self, rest: Container | None, stored: list[StoredTensor]) -> None:
        """Take what the source lacks from the model before quantization; list what nobody holds."""
        have = {module_of(tensor.name) for tensor in stored} | {module_of(entry.name) for entry in self.kept}
        lacking = {name for tensor in stored for name in left_out(self.container, tensor.match)}
        if rest is not None:
            if rest.kind != "safetensors" or matches(rest):
                raise FileError(f"{rest.path}: is not the model before quantization (.safetensors without quantized weights)")
            self.kept += [entry for name, entry in rest.entries.items() if module_of(name) not in have]
            missing = sorted(lacking - set(rest.entries))
            if missing:
                raise FileError(f"{rest.path}: lacks {missing[0]}, which {self.container.path} leaves out: give its model")
            lacking = set()
        self.absent = sorted(lacking)

    def write(self, folder: Path, progress: Callable[[str], None]) -> None:
        """Write all files."""
        planned = [
            item
            for tensor in self.tensors
            for item in planned_weight(tensor, self.store, self.written, self.factors[tensor.name], folder, progress)
        ]
        planned += [copied(self.container, entry) for entry in self.kept]
        shapes = {tensor.name: tensor.shape for tensor in self.tensors}
        write_store(folder, self.store, self.written, shapes, planned, self.kept, self.config)

    def read_back(self, folder: Path) -> None:
        """Compare what was written with the source, code by code, and count what quantizing again changed.

        Raises: FileError (the disk, or a fault of emu).
        """
        new = open_checkpoint(folder)
        fitting = [tuple(item for item in some if item.store.id == self.store.id) for some in matches(new)]
        found = {module_of(items[0].weight): open_tensor(new, items) for items in fitting if items}
        for tensor in self.tensors:
            other = found.get(module_of(tensor.name))
            bits = self.factors[tensor.name]
            if not isinstance(other, StoredTensor) or (other.shape, other.tensor_bits) != (tensor.shape, bits) or not tensor.same(other):
                raise FileError(f"{folder}: {tensor.name} does not come back as it was written: please report this")
            if isinstance(tensor, Refitted) and change_of(tensor.tensor, other, "").values:
                raise FileError(f"{folder}: {tensor.name} does not stand for the same numbers: please report this")
            if isinstance(tensor, Requantized):
                self.changed[tensor.name] = change_of(tensor.tensor, other, tensor.recipe.id)
        for entry in self.kept:
            copy = new.entries[entry.name]
            if (copy.dtype, copy.shape) != (entry.dtype, entry.shape) or not np.array_equal(new.raw(copy), self.container.raw(entry)):
                raise FileError(f"{folder}: {entry.name} does not come back as it was written: please report this")
