"""A mapped netlist simulated on rows of operands: which capacitance its nets switch from one row to the next. A proxy of energy.

Every row is one bit of a word, so all rows are simulated at once. Two figures: settled values only, and with the passing values of a gate
delay of one step for every cell. Not here: which operands (operands.py), wires, leakage, clocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from research.cost.liberty import Library

Words = NDArray[np.uint64]  # [nets, ceil(rows / 64)], row k in bit k % 64 of word k // 64
Rows = Mapping[str, NDArray[Any]]  # port -> [rows, bits] of 0 and 1, bit 0 first
STEPS: Final = 2000


@dataclass(frozen=True)
class _Gates:
    """Gates of one kind on one level. inputs: pin -> nets.   outputs: nets."""

    cell: str
    inputs: dict[str, NDArray[np.int64]]
    outputs: NDArray[np.int64]


class Netlist:
    """A flat netlist of cells of a library. Raises: EngineError (a cell that is not in the library, a loop)."""

    def __init__(self, path: Path, top: str, library: Library) -> None:
        module = json.loads(path.read_text(encoding="utf-8"))["modules"][top]
        self._library = library
        self._places: dict[Any, int] = {"0": 0, "x": 0, "1": 1}
        self._loads = [0.0, 0.0]
        self.ports = {name: [self._net(bit) for bit in port["bits"]] for name, port in module["ports"].items()}
        self._inputs = {name for name, port in module["ports"].items() if port["direction"] == "input"}
        cells = [(cell["type"], cell["connections"]) for cell in module["cells"].values()]
        for kind, nets in cells:
            if kind not in library.cells:
                raise EngineError(f"{path}: cell {kind} is not combinational in {library.path.name}")
            for pin, load in library.cells[kind].pins.items():
                self._loads[self._net(nets[pin][0])] += load
        self._levels = list(self._sorted(cells, path))

    def _net(self, bit: Any) -> int:
        if bit not in self._places:
            self._places[bit] = len(self._loads)
            self._loads.append(0.0)
        return self._places[bit]

    def _sorted(self, cells: list[tuple[str, Any]], path: Path) -> Iterator[list[_Gates]]:
        """Yield the gates level by level, all of a level known from those before."""
        known = np.zeros(len(self._loads) + len(cells), bool)
        known[[0, 1, *(net for name in self._inputs for net in self.ports[name])]] = True
        left = cells
        while left:
            ready: dict[str, list[Any]] = {}
            later = []
            for kind, nets in left:
                cell = self._library.cells[kind]
                if all(known[self._net(nets[pin][0])] for pin in cell.pins):
                    ready.setdefault(kind, []).append(nets)
                else:
                    later.append((kind, nets))
            if not ready:
                raise EngineError(f"{path}: a loop of gates")
            level = [self._gates(kind, found) for kind, found in ready.items()]
            for gates in level:
                known[gates.outputs] = True
            yield level
            left = later

    def _gates(self, kind: str, found: list[Any]) -> _Gates:
        cell = self._library.cells[kind]
        inputs = {pin: np.array([self._net(nets[pin][0]) for nets in found]) for pin in cell.pins}
        return _Gates(kind, inputs, np.array([self._net(nets[cell.output][0]) for nets in found]))

    def settled(self, rows: Rows) -> Words:
        """Return the value of every net in every row. rows: every input port; a port that is not named is 0."""
        count = len(next(iter(rows.values())))
        values = np.zeros((len(self._loads), -(-count // 64)), np.uint64)
        values[1] = ~np.uint64(0)
        for name, bits in rows.items():
            values[self.ports[name]] = _packed(bits)
        for level in self._levels:
            for gates in level:
                values[gates.outputs] = self._value(gates, values)
        return values

    def _value(self, gates: _Gates, values: Words) -> Words:
        found: Words = self._library.cells[gates.cell].value({pin: values[nets] for pin, nets in gates.inputs.items()})
        return found

    def output(self, values: Words, port: str, count: int) -> NDArray[Any]:
        """Return the bits of a port: [rows, bits]."""
        bits = np.unpackbits(values[self.ports[port]].view(np.uint8), axis=1, bitorder="little")
        return bits[:, :count].T

    def settled_switched(self, rows: Rows) -> float:
        """Return the mean capacitance that a row switches after the row before it, each net at most once, in femtofarads."""
        before, after, count = self._pairs(rows)
        return float(self._toggles(before ^ after, count) @ np.array(self._loads)) / count

    def passing_switched(self, rows: Rows) -> float:
        """Return the same with every passing value, each cell taking one step. Raises: EngineError (no rest within STEPS)."""
        now, after, count = self._pairs(rows)
        places = [net for name in self._inputs for net in self.ports[name]]
        toggles = np.zeros(len(self._loads), np.int64)
        toggles[places] += self._toggles((now ^ after)[places], count)
        now[places] = after[places]
        for _ in range(STEPS):
            then = now.copy()
            for gates in (gates for level in self._levels for gates in level):
                then[gates.outputs] = self._value(gates, now)
            changed = now ^ then
            if not changed.any():
                return float(toggles @ np.array(self._loads)) / count
            toggles += self._toggles(changed, count)
            now = then
        raise EngineError(f"the netlist does not come to rest within {STEPS} steps")

    def _pairs(self, rows: Rows) -> tuple[Words, Words, int]:
        """Return the settled values of every row but the last, of the row behind each, and how many they are."""
        before, after = (self.settled({name: bits[part] for name, bits in rows.items()}) for part in (slice(None, -1), slice(1, None)))
        return before, after, len(next(iter(rows.values()))) - 1

    @staticmethod
    def _toggles(changed: Words, count: int) -> NDArray[np.int64]:
        """Count the rows in which each net changes; bits beyond the last row do not count."""
        bits = np.unpackbits(changed.view(np.uint8), axis=1, bitorder="little")[:, :count]
        found: NDArray[np.int64] = bits.sum(1, dtype=np.int64)
        return found


def _packed(bits: NDArray[Any]) -> Words:
    """Return [bits, words] of [rows, bits]."""
    padded = np.zeros((bits.shape[1], -(-len(bits) // 64) * 64), np.uint8)
    padded[:, : len(bits)] = bits.T
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def bits_of(codes: NDArray[Any], width: int) -> NDArray[Any]:
    """Return rows of codes as rows of bits, the first code in the low bits: [rows, codes * width]."""
    found = (codes[:, :, None].astype(np.int64) >> np.arange(width)) & 1
    return found.reshape(len(codes), -1).astype(np.uint8)
