"""A weight of one store quantized again for another: decoded exactly, then by the recipe with which the other library quantizes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EmuError, FileError, SpecError
from emu.checkpoint.candidates import candidates, reads_amax, tensor_code
from emu.checkpoint.decoded import Decoder
from emu.checkpoint.facts import no_stack, tensor_level, unit_of
from emu.checkpoint.read import StoredRows, StoredTensor, of_rows
from emu.checkpoint.rescaled import OtherStore
from emu.ops.functions import quantize
from emu.spec import get
from emu.spec.carried import InOrder
from emu.spec.models import Checkpoint, Recipe


def recipe_for(store: Checkpoint, named: str | None) -> Recipe:
    """Return the recipe by which weights are quantized for a store.

    named: id or alias; None: the one that its library runs.
    Raises: SpecError (unknown, one whose blocks the store does not hold, none named where the library's is not known).
    """
    fitting = [recipe.id for recipe in candidates(store) if recipe.facts.block in store.facts.blocks]
    recipe: Recipe | None = None if named is None else get("recipe", named)
    if not fitting:
        raise SpecError(f"checkpoint/{store.id}: no recipe makes its blocks: only weights of stores that hold the same codes go there")
    if recipe is not None:
        if recipe.id not in fitting:
            raise SpecError(f"checkpoint/{store.id}: recipe {recipe.id} does not make its blocks: name one of {', '.join(fitting)}")
        return recipe
    own = store.facts.write.recipe if store.facts.write is not None else None
    if own is None:
        raise SpecError(
            f"checkpoint/{store.id}: the recipe by which its weights are made is not known: --recipe names one of {', '.join(fitting)}"
        )
    found: Recipe = get("recipe", own)
    return found


def _add(digest: hashlib._Hash, rows: StoredRows) -> None:
    """Take some rows into a checksum."""
    for part in (rows.codes, rows.scales, rows.flags):
        digest.update(np.ascontiguousarray(part).data)


class _Rows(NamedTuple):
    """Some rows to quantize. values: binary32 bits [r, n].   amax: of the whole weight, where the recipe reads one."""

    recipe: str
    first: int
    values: NDArray[np.uint32]
    amax: int | None


def _quantized(rows: _Rows) -> StoredRows | str:
    """Quantize some rows, in this process or on a worker. Returns: why not, where the recipe refuses them."""
    top = None if rows.amax is None else np.array(rows.amax, np.uint32).view(np.float32)[()]
    try:
        found = quantize(rows.values, rows.recipe, source="fp32", tensor_amax=top)
    except EmuError as error:
        return str(error)
    codes, scales, flags = of_rows(found)
    return StoredRows(rows.first, codes, scales, np.zeros(scales.shape, np.uint8) if flags is None else flags)


@dataclass
class Requantized(OtherStore):
    """A weight as another store will hold it, where that needs other codes. Each reading quantizes it, so it is read once.

    recipe: of the other store's blocks.   mapped: maps over rows (emu.spec.carried).
    """

    recipe: Recipe
    mapped: InOrder
    _digest: bytes = b""

    def __post_init__(self) -> None:
        unit, length = unit_of(self.store), self.shape[-1]
        if length % unit:
            raise self._refused(f"rows of {length} elements are no multiple of the blocks of {unit} in {self.store.id}")
        stack = no_stack(self.store, self.shape)
        if stack is not None:
            raise self._refused(f"{self.store.id} cannot hold it: {stack}")

    @cached_property
    def amax(self) -> int:
        """Binary32 bits of the largest magnitude of the decoded values."""
        return max(int((values & np.uint32(0x7FFFFFFF)).max()) for _, values in self._decoded())

    @cached_property
    def tensor_bits(self) -> int | None:
        """Raw binary32 bits of the new tensor factor; None where the store has none. Raises: FileError (the recipe refuses the maximum)."""
        if tensor_level(self.store) is None:
            return None
        bits = tensor_code(self.recipe.id, self.amax)
        if bits is None:
            raise self._refused(f"recipe {self.recipe.id} refuses the tensor maximum 0x{self.amax:08X}")
        return bits

    def chunks(self) -> Iterator[StoredRows]:
        """Quantize: yield the new codes and scales some rows at a time, from the top: those rows that the weight's own chunks have.

        Raises: FileError (values that are no numbers, or that the recipe refuses).
        """
        top = self.amax if reads_amax(self.recipe) else None
        digest = hashlib.sha256()
        for found in self.mapped(_quantized, (_Rows(self.recipe.id, first, values, top) for first, values in self._decoded())):
            if isinstance(found, str):
                raise self._refused(f"the recipe refuses the decoded values: {found}")
            _add(digest, found)
            yield found
        self._digest = digest.digest()

    def same(self, other: StoredTensor) -> bool:
        """Tell whether a stored weight of this shape has the codes, scales and flags that were yielded, by their checksum."""
        digest = hashlib.sha256()
        for rows in other.chunks():
            _add(digest, rows)
        return digest.digest() == self._digest

    def _decoded(self) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        """Yield the number of the first of some rows, and their values: binary32 bits [r, n]."""
        decoder = Decoder(self.tensor, {})  # anew: those of all weights of a model would fill the memory
        for rows in self.tensor.chunks():
            places = decoder.places(rows)  # which may make room for more
            yield rows.first, decoder.bits[places]

    def _refused(self, why: str) -> FileError:
        return FileError(f"{self.tensor.container.path}: {self.name}: {why}")
