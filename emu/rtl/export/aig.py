"""And-inverter graphs: read from an AIGER text, unrolled over clock edges with constants carried through, written for abc.

A literal is 2 * node + 1 if inverted; node 0 is false. Ands of equal operands are one node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

RIGID: Final = -1
START: Final = -2
_SYMBOL: Final = re.compile(r"([ilo])(\d+) (.+)")


class Latch(NamedTuple):
    """A register. lit: its value.   next: literal of the value after an edge.   start: 0, 1, or None where it may be either."""

    lit: int
    next: int
    start: int | None


class Sequential(NamedTuple):
    """A graph with registers. inputs, outputs, latches: literals; names: `i3`, `l0`, `o1` -> symbol.   ands: (lhs, a, b) in order."""

    inputs: tuple[int, ...]
    latches: tuple[Latch, ...]
    outputs: tuple[int, ...]
    ands: tuple[tuple[int, int, int], ...]
    names: Mapping[str, str]

    def name(self, kind: str, number: int) -> str:
        """Return the symbol of an input (i), a register (l) or an output (o), empty without one."""
        return self.names.get(f"{kind}{number}", "")


def read(path: Path) -> Sequential:
    """Return the graph of an AIGER 1.9 text file (`aag`), ands in topological order."""
    lines = iter(path.read_text(encoding="latin-1").splitlines())
    head = next(lines).split()
    assert head[0] == "aag" and len(head) == 6
    _, inputs, latches, outputs, ands = map(int, head[1:])
    ins = tuple(int(next(lines)) for _ in range(inputs))
    regs = tuple(_latch(next(lines)) for _ in range(latches))
    outs = tuple(int(next(lines)) for _ in range(outputs))
    gates = {}
    for _ in range(ands):
        lhs, a, b = map(int, next(lines).split())
        gates[lhs] = (lhs, a, b)
    names = {}
    for line in lines:
        found = _SYMBOL.fullmatch(line)
        if found is None:
            break
        names[found[1] + found[2]] = found[3]
    return Sequential(ins, regs, outs, tuple(gates[lhs] for lhs in sorted(gates)), names)


def _latch(line: str) -> Latch:
    lit, after, *start = map(int, line.split())
    return Latch(lit, after, 0 if not start else start[0] if start[0] < 2 else None)


@dataclass
class Graph:
    """A graph without registers that grows. inputs: their number; input i is literal 2 * (i + 1) of the file."""

    inputs: int = 0
    kinds: list[tuple[int, int] | int] = field(default_factory=lambda: [0])  # node -> operands, or the number of an input
    table: dict[tuple[int, int], int] = field(default_factory=dict)

    def input(self) -> int:
        """Add an input and return its literal."""
        self.kinds.append(self.inputs)
        self.inputs += 1
        return 2 * (len(self.kinds) - 1)

    def land(self, a: int, b: int) -> int:
        """Return the literal of `a and b`."""
        if a > b:
            a, b = b, a
        if a == 0 or a == b ^ 1:
            return 0
        if a in (1, b):
            return b
        found = self.table.get((a, b))
        if found is None:
            self.kinds.append((a, b))
            found = self.table[a, b] = 2 * (len(self.kinds) - 1)
        return found

    def lor(self, lits: Iterable[int]) -> int:
        """Return the literal of an or."""
        out = 1
        for lit in lits:
            out = self.land(out, lit ^ 1)
        return out ^ 1

    def write(self, path: Path, outputs: Mapping[str, int]) -> None:
        """Write a binary AIGER file with named outputs and all that they need; input i is called `v<i>`, and every input is there."""
        place: dict[int, int] = {0: 0}
        needed = bytearray(len(self.kinds))
        for lit in outputs.values():
            needed[lit >> 1] = 1
        for node in range(len(self.kinds) - 1, 0, -1):
            kind = self.kinds[node]
            if isinstance(kind, int):
                place[node] = 2 * (kind + 1)
            elif needed[node]:
                needed[kind[0] >> 1] = needed[kind[1] >> 1] = 1
        body = bytearray()
        count = self.inputs
        for node, kind in enumerate(self.kinds):
            if needed[node] and not isinstance(kind, int):
                count += 1
                place[node] = 2 * count
                low, high = sorted(place[lit >> 1] ^ (lit & 1) for lit in kind)
                for delta in (2 * count - high, high - low):
                    body += _leb(delta)
        lines = [f"aig {count} {self.inputs} 0 {len(outputs)} {count - self.inputs}"]
        lines += [str(place[lit >> 1] ^ (lit & 1)) for lit in outputs.values()]
        symbols = [f"i{number} v{number}" for number in range(self.inputs)]
        symbols += [f"o{number} {name}" for number, name in enumerate(outputs)]
        path.write_bytes("\n".join([*lines, ""]).encode() + bytes(body) + "\n".join([*symbols, "c", ""]).encode())


def _leb(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


class Unrolled(NamedTuple):
    """outputs: name -> its literal at each edge.

    inputs: number of an input -> (symbol, edge); RIGID: the same at all edges, START: of a register before the first one.
    """

    graph: Graph
    outputs: dict[str, list[int]]
    inputs: dict[int, tuple[str, int]]

    def some(self, name: str, edges: int | None = None) -> int:
        """Return the literal of "1 at some edge" of an output. edges: the first ones alone; None: all."""
        return self.graph.lor(self.outputs[name][:edges])


def unroll(
    design: Sequential, edges: int, fixed: Callable[[str, int], int | None], rigid: Callable[[str], bool], free_start: bool
) -> Unrolled:
    """Return a sequential graph over some edges.

    fixed: (symbol of an input, edge) -> 0 or 1 where it is known.   rigid: inputs that keep one value.
    free_start: registers start with any value, whatever the file says.
    """
    graph = Graph()
    inputs: dict[int, tuple[str, int]] = {}

    def fresh(name: str, edge: int) -> int:
        inputs[graph.inputs] = name, edge
        return graph.input()

    same = {lit: fresh(design.name("i", number), RIGID) for number, lit in enumerate(design.inputs) if rigid(design.name("i", number))}
    state: dict[int, int] = {}
    for number, latch in enumerate(design.latches):
        known = None if free_start else latch.start
        state[latch.lit] = fresh(design.name("l", number), START) if known is None else known
    seen: dict[str, list[int]] = {design.name("o", number): [] for number in range(len(design.outputs))}
    for edge in range(edges):
        value = {0: 0, **state}
        for number, lit in enumerate(design.inputs):
            name = design.name("i", number)
            if lit in same:
                value[lit] = same[lit]
            else:
                known = fixed(name, edge)
                value[lit] = fresh(name, edge) if known is None else known
        for lhs, a, b in design.ands:
            value[lhs] = graph.land(value[a & ~1] ^ (a & 1), value[b & ~1] ^ (b & 1))
        for number, lit in enumerate(design.outputs):
            seen[design.name("o", number)].append(value[lit & ~1] ^ (lit & 1))
        state = {latch.lit: value[latch.next & ~1] ^ (latch.next & 1) for latch in design.latches}
    return Unrolled(graph, seen, inputs)
