"""A weight whose scales another store holds in another type, or more of them: the same numbers, so nothing is quantized again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from emu.checkpoint.facts import Kind, grid_of, kind_of, tensor_level
from emu.checkpoint.facts import scale_format as scale_format_of
from emu.checkpoint.read import Scales, StoredRows, StoredTensor
from emu.ops.functions import convert
from emu.spec import derive, get
from emu.spec.models import Checkpoint, Format


def can_rescale(mine: Checkpoint, other: Checkpoint) -> bool:
    """Tell whether another store may hold the numbers of one: the same elements under one scale, a float, of parts inside its parts."""
    kinds = kind_of(mine), kind_of(other)
    single = tensor_level(mine) is None is tensor_level(other)
    return single and kinds[0].elements == kinds[1].elements and all(map(_is_float, kinds)) and kinds[0].extent.holds(kinds[1].extent)


def _is_float(kind: Kind) -> bool:
    """Tell whether scales have a sign, fraction and Inf, and so may be rounded to one another: binary32, bfloat16, binary16."""
    found = derive.codes(get("format", kind.scale))
    return found.inf is not None and found.sign_bit > 0


@dataclass
class OtherStore:
    """A weight as another store will hold it. tensor: as it is.   store: the other store."""

    tensor: StoredTensor
    store: Checkpoint

    @property
    def name(self) -> str:
        """Name of the weight in a file that is not quantized."""
        return self.tensor.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.tensor.shape

    @property
    def scale_format(self) -> Format:
        """Format of the new scales."""
        return scale_format_of(self.store)


class Rescaled(OtherStore):
    """With the same codes, under scales of another type, or more of them."""

    def chunks(self) -> Iterator[StoredRows]:
        """Yield the same codes with the new scales, some rows at a time, from the top."""
        for rows in self.tensor.chunks():
            scales = self._scales(rows.scales)
            yield StoredRows(rows.first, rows.codes, scales, np.zeros(scales.shape, np.uint8))

    @cached_property
    def rounded(self) -> NDArray[np.intp] | None:
        """Row and number, in the weight as it is, of the first scale that is no number of the other format; None: all are."""
        mine, other = self.tensor.scale_format, self.scale_format
        for rows in self.tensor.chunks():
            back = convert(convert(rows.scales, other, policy="ieee", source=mine), mine, policy="ieee", source=other)
            if (back != rows.scales).any():
                return np.asarray(np.argwhere(back != rows.scales)[0] + [rows.first, 0])
        return None

    def same(self, other: StoredTensor) -> bool:
        """Tell whether a stored weight of this shape has these codes and scales."""
        return all(
            np.array_equal(one.codes, two.codes) and np.array_equal(one.scales, two.scales)
            for one, two in zip(self.chunks(), other.chunks(), strict=True)
        )

    def _scales(self, scales: Scales) -> Scales:
        """Return the scales of some rows in the other format, one for each of the other store's blocks."""
        mine, other = self.tensor.grid, grid_of(self.store, self.shape)
        found = convert(scales, self.scale_format, policy="ieee", source=self.tensor.scale_format)
        return np.asarray(found[:, np.arange(other.columns) * other.wide // mine.wide])
