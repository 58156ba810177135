"""Exact values of the codes of a stored weight, looked up: each scale that occurs is worked out once for all element codes, exactly.

Under one positive scale alone all of them are worked out at once in binary64: 8 bits of an element at most times 24 of a scale.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError, OperandError
from emu.checkpoint.facts import element_bits, tensor_level
from emu.checkpoint.read import StoredRows, StoredTensor, spread
from emu.checkpoint.value import code_value
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.engines.numpy.environment import check_environment
from emu.ops.functions import decode
from emu.spec import derive, get
from emu.spec.models import Block

FLAG: Final = 32  # bits of a scale at most; a flag stands above
OTHERS: Final = 0x7FF0000000000001  # ids of numbers that binary64 has not begin where its NaN do
Places = NDArray[np.intp]


class Decoder:
    """Values of one weight, by place: the number of a scale, in the order in which they were met, times the codes of an element, and the
    element's code.

    Equal ids are equal numbers: the bits of binary64 where it has the number; -0 is the number 0.
    numbers: number that binary64 has not -> its number, shared by the decoders that are compared.
    bits: binary32 of a place's value, rounded to nearest even.   exact: is it the same number.
    near: the value in binary64, rounded.   ids: of values.   codes: ids of what the elements mean without a scale.
    units: [scales] ids of what an element is multiplied by.   Entries of scales that never occurred are empty.
    """

    def __init__(self, tensor: StoredTensor, numbers: dict[Fraction, int]) -> None:
        self.tensor, self.numbers = tensor, numbers
        self.size = 1 << element_bits(tensor.block)
        self.known: dict[int, int] = {}
        self.fine, self.exact, self.bits = np.zeros(0, bool), np.zeros(0, bool), np.zeros(0, np.uint32)
        self.near: NDArray[np.float64] = np.zeros(0)
        self.ids, self.codes, self.units = (np.zeros(0, np.int64) for _ in range(3))
        self.values: dict[int, Fraction] = {}  # place -> its value, where binary64 has it not

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
        plain = self._plain(new)
        self._learn_plain(len(self.known), plain)
        self.known |= {scale: number for number, scale in enumerate(plain, len(self.known))}
        for scale in new:
            if scale not in self.known:
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

    def value(self, place: int) -> Fraction:
        """Return the value of a place, exactly."""
        return self.values[place] if place in self.values else Fraction(float(self.near[place]))

    @cached_property
    def elements(self) -> NDArray[np.float64]:
        """Values of all element codes without a scale; empty where more than one positive scale makes a value."""
        facts, store = self.tensor.block.facts, self.tensor.store
        if len(facts.levels) > 1 or tensor_level(store) is not None or derive.parse_exact(facts.factor) != 1:
            return np.zeros(0)
        return decode(np.arange(self.size), self.tensor.block.element_formats[0]).astype(np.float64)

    def _plain(self, scales: list[int]) -> list[int]:
        """Return those of some scales whose values binary64 gives: positive and finite, alone in their block."""
        scales = [scale for scale in scales if scale < 1 << FLAG]
        if not self.elements.size or not scales:
            return []
        return [scale for scale, value in zip(scales, self._factors(scales).tolist(), strict=True) if 0 < value < float("inf")]

    def _factors(self, scales: list[int]) -> NDArray[np.float64]:
        return decode(np.array(scales, np.int64), self.tensor.scale_format).astype(np.float64)

    def _learn_plain(self, first: int, scales: list[int]) -> None:
        """Work out the values of all element codes under some scales. first: the number of the first of them."""
        if not scales:
            return
        check_environment()
        factors, part = self._factors(scales), slice(first * self.size, (first + len(scales)) * self.size)
        values = (factors[:, None] * self.elements).reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = values.astype(np.float32)
        fine = np.isfinite(rounded)
        self.fine[part], self.bits[part], self.exact[part] = fine, np.where(fine, rounded.view(np.uint32), 0), fine & (rounded == values)
        self.near[part] = np.where(fine, values, 0) + 0.0  # -0 is 0
        self.ids[part] = self.near[part].view(np.int64)
        self.codes[part] = np.where(fine, np.tile(self.elements, len(scales)) + 0.0, 0).view(np.int64)
        self.units[first : first + len(scales)] = factors.view(np.int64)

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
                self.near[place] = float(exact)
                if float(exact) != exact:
                    self.values[place] = exact
                self.ids[place], self.codes[place] = self._id(exact), self._id(plain.signed)
                if plain.magnitude:
                    self.units[scale] = self._id(exact / plain.signed)

    def _value(self, block: Block, code: int, levels: dict[str, int]) -> Value:
        try:
            return code_value(self.tensor.store, block, code, levels)
        except OperandError as error:
            raise FileError(f"{self.tensor.container.path}: {self.tensor.name}: {error}") from None

    def _id(self, number: Fraction) -> int:
        near = float(number)
        return int(np.float64(near).view(np.int64)) if near == number else OTHERS + self.numbers.setdefault(number, len(self.numbers))
