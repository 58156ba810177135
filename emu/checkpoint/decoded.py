"""Exact values of the codes of a stored weight, looked up: each scale that occurs is worked out once for all element codes, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError, OperandError
from emu.checkpoint.facts import element_bits
from emu.checkpoint.read import StoredRows, StoredTensor
from emu.checkpoint.value import code_value
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import derive, get
from emu.spec.models import Block

SCALES: Final = 512  # codes of a scale of 8 bits, or of 7 bits and a flag above them
Places = NDArray[np.intp]


class Decoder:
    """Values of one weight, by place: the byte of a scale (256 more for a set flag) times the codes of an element, and the element's code.

    numbers: number -> its id, shared by the decoders that are compared: equal ids are equal numbers; -0 is the number 0.
    bits: binary32 of a place's value, rounded to nearest even.   exact: is it the same number.   values: the numbers, exactly.
    near: the same in binary64, rounded.   ids: of values.   codes: ids of what the elements mean without a scale.
    units: [512] ids of what an element is multiplied by.   Entries of pairs that never occurred are empty.
    """

    def __init__(self, tensor: StoredTensor, numbers: dict[Fraction, int]) -> None:
        self.tensor, self.numbers = tensor, numbers
        self.size = 1 << element_bits(tensor.block)
        size = SCALES * self.size
        self.known, self.fine = np.zeros(SCALES, bool), np.zeros(size, bool)
        self.bits, self.exact, self.near = np.zeros(size, np.uint32), np.zeros(size, bool), np.zeros(size)
        self.ids, self.codes, self.units = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(SCALES, np.int64)
        self.values: dict[int, Fraction] = {}

    def places(self, rows: StoredRows) -> Places:
        """Return where the values of some rows stand. intp [r, n].

        Raises: FileError (a value that is no number of binary32's range, a code or a scale that the store refuses).
        """
        scales = self.scales(rows)
        for scale in np.flatnonzero(~self.known & (np.bincount(scales.reshape(-1), minlength=SCALES) > 0)).tolist():
            self._learn(scale)
        if rows.codes.max(initial=0) >= self.size:
            row, element = np.argwhere(rows.codes >= self.size)[0].tolist()
            where = f"row {rows.first + row} element {element} is {rows.codes[row, element]:02X}"
            raise FileError(f"{self.tensor.container.path}: {self.tensor.name}: {where}, no code of {self.tensor.block.element_formats[0]}")
        found: Places = np.repeat(scales * self.size, rows.codes.shape[1] // scales.shape[1], axis=1) + rows.codes
        wrong = ~self.fine[found]
        if wrong.any():
            row, element = np.argwhere(wrong)[0].tolist()
            path, name = self.tensor.container.path, self.tensor.name
            raise FileError(f"{path}: {name}: row {rows.first + row} element {element} is NaN or beyond binary32: nothing to quantize")
        return found

    def scales(self, rows: StoredRows) -> Places:
        """Return the places of scales of some rows in `units`. intp [r, blocks]."""
        return rows.scales.astype(np.intp) | rows.flags.astype(np.intp) << 8

    def _learn(self, scale: int) -> None:
        """Work out the values of all element codes under one scale."""
        block, fp32 = self.tensor.block, get("format", "fp32")
        flag, code = divmod(scale, 256)
        levels = {level.name: code for level in block.facts.levels}
        if block.flag is not None:
            levels[block.flag] = flag
        levels |= {level.name: self.tensor.tensor_bits or 0 for level in block.facts.levels if level.granularity == "tensor"}
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
        self.known[scale] = True

    def _value(self, block: Block, code: int, levels: dict[str, int]) -> Value:
        try:
            return code_value(self.tensor.store, block, code, levels)
        except OperandError as error:
            raise FileError(f"{self.tensor.container.path}: {self.tensor.name}: {error}") from None

    def _id(self, number: Fraction) -> int:
        return self.numbers.setdefault(number, len(self.numbers))
