"""Exact values of the codes of a stored weight, looked up: each scale that occurs is worked out once for all element codes, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError, OperandError
from emu.checkpoint.facts import element_bits, tensor_level
from emu.checkpoint.read import StoredRows, StoredTensor, spread
from emu.checkpoint.value import code_value
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import derive, get
from emu.spec.models import Block

FLAG = 32  # bits of a scale at most; a flag stands above
Places = NDArray[np.intp]


class Decoder:
    """Values of one weight, by place: the number of a scale, in the order in which they were met, times the codes of an element, and the
    element's code.

    numbers: number -> its id, shared by the decoders that are compared: equal ids are equal numbers; -0 is the number 0.
    bits: binary32 of a place's value, rounded to nearest even.   exact: is it the same number.   values: the numbers, exactly.
    near: the same in binary64, rounded.   ids: of values.   codes: ids of what the elements mean without a scale.
    units: [scales] ids of what an element is multiplied by.   Entries of scales that never occurred are empty.
    """

    def __init__(self, tensor: StoredTensor, numbers: dict[Fraction, int]) -> None:
        self.tensor, self.numbers = tensor, numbers
        self.size = 1 << element_bits(tensor.block)
        self.known: dict[int, int] = {}
        self.fine, self.exact, self.bits = np.zeros(0, bool), np.zeros(0, bool), np.zeros(0, np.uint32)
        self.near: NDArray[np.float64] = np.zeros(0)
        self.ids, self.codes, self.units = (np.zeros(0, np.int64) for _ in range(3))
        self.values: dict[int, Fraction] = {}

    def places(self, rows: StoredRows) -> Places:
        """Return where the values of some rows stand. intp [r, n].

        Raises: FileError (a value that is no number of binary32's range, a code or a scale that the store refuses).
        """
        scales = self.scales(rows)
        if rows.codes.max(initial=0) >= self.size:
            row, element = np.argwhere(rows.codes >= self.size)[0].tolist()
            where = f"row {rows.first + row} element {element} is {rows.codes[row, element]:02X}"
            raise FileError(f"{self.tensor.container.path}: {self.tensor.name}: {where}, no code of {self.tensor.block.element_formats[0]}")
        found: Places = np.asarray(spread(scales * self.size, self.tensor.grid.wide, rows.codes.shape[1]) + rows.codes, np.intp)
        wrong = ~self.fine[found]
        if wrong.any():
            row, element = np.argwhere(wrong)[0].tolist()
            path, name = self.tensor.container.path, self.tensor.name
            raise FileError(f"{path}: {name}: row {rows.first + row} element {element} is NaN or beyond binary32: nothing to quantize")
        return found

    def scales(self, rows: StoredRows) -> Places:
        """Return the places of scales of some rows in `units`, new ones worked out. intp [r, blocks]. Raises: as places."""
        marked = rows.scales.astype(np.int64) | rows.flags.astype(np.int64) << FLAG
        found, where = np.unique(marked, return_inverse=True)
        new = [scale for scale in found.tolist() if scale not in self.known]
        self._grow(len(self.known) + len(new))
        for scale in new:
            self._learn(len(self.known), *divmod(scale, 1 << FLAG))
            self.known[scale] = len(self.known)
        return np.array([self.known[scale] for scale in found.tolist()], np.intp)[where].reshape(marked.shape)

    def _grow(self, count: int) -> None:
        """Make room for a number of scales."""
        if count > len(self.units):
            count = max(count, 2 * len(self.units))
            self.units = np.concatenate([self.units, np.zeros(count - len(self.units), np.int64)])
            for name in ("fine", "exact", "bits", "near", "ids", "codes"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros(count * self.size - old.size, old.dtype)]))

    def _learn(self, scale: int, flag: int, code: int) -> None:
        """Work out the values of all element codes under one scale. scale: its number."""
        block, fp32 = self.tensor.block, get("format", "fp32")
        levels = {level.name: code for level in block.facts.levels}
        if block.flag is not None:
            levels[block.flag] = flag
        factor = tensor_level(self.tensor.store)
        levels |= {} if factor is None else {factor.level: self.tensor.tensor_bits or 0}
        element: Any = get("format", block.element_formats[flag and len(block.element_formats) - 1])
        for number in range(self.size):
            place = scale * self.size + number
            value, plain = self._value(block, number, levels), decode_code(number, element)
            bits = convert_value(value, fp32, get("rounding", "rne"), derive.arithmetic_entry(fp32))
            back = decode_code(bits, fp32)
            if value.kind == back.kind == plain.kind == "finite":
                exact = value.signed
                self.fine[place], self.bits[place], self.exact[place] = True, bits, back.signed == exact
                self.values[place], self.near[place] = exact, float(exact)
                self.ids[place], self.codes[place] = self._id(exact), self._id(plain.signed)
                if plain.magnitude:
                    self.units[scale] = self._id(exact / plain.signed)

    def _value(self, block: Block, code: int, levels: dict[str, int]) -> Value:
        try:
            return code_value(self.tensor.store, block, code, levels)
        except OperandError as error:
            raise FileError(f"{self.tensor.container.path}: {self.tensor.name}: {error}") from None

    def _id(self, number: Fraction) -> int:
        return self.numbers.setdefault(number, len(self.numbers))
