"""A circuit as BTOR2: one input line per input, one output line per output, no state. Equal subterms get one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emu.rtl.export.circuit import Circuit, Function, Node, chain

_WORDS: Final = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "not": "not", "ult": "ult", "ule": "ulte", "eq": "eq"}


def render(circuit: Circuit) -> str:
    """Return the text. Two calls give the same bytes."""
    writer = _Writer(circuit)
    return "\n".join([*(f"; {line}".rstrip() for line in circuit.about), *writer.lines, ""])


class _Writer:
    def __init__(self, circuit: Circuit) -> None:
        self.lines: list[str] = []
        self.numbers: dict[str, int] = {}
        self.functions = {function.name: function for function in circuit.functions}
        known = {name: self.line(f"input {self.sort(bits)} {name}", f"input {name}") for name, bits in circuit.inputs}
        for name, node in circuit.wires:
            known[name] = self.node(node, known)
        for name, _ in circuit.outputs:
            self.line(f"output {known[name]} {name}", f"output {name}")

    def line(self, text: str, key: str = "") -> int:
        """Return the number of a line, the one that is there where an equal one is."""
        key = key or text
        if key not in self.numbers:
            self.numbers[key] = len(self.lines) + 1
            self.lines.append(f"{len(self.lines) + 1} {text}")
        return self.numbers[key]

    def sort(self, bits: int) -> int:
        return self.line(f"sort bitvec {bits}")

    def node(self, node: Node, known: Mapping[str, int]) -> int:
        """Return the number of the line that holds a node."""
        if node.op == "name":
            return known[node.name]
        sort = self.sort(node.bits)
        if node.op == "const":
            return self.line(f"const {sort} {node.value:0{node.bits}b}")
        if node.op == "if":
            rows = [(test, self.node(then, known)) for test, then, _ in chain(node)]
            out = rows[-1][1]
            for test, then in reversed(rows[:-1]):
                assert test is not None
                out = self.line(f"ite {sort} {self.node(test, known)} {then} {out}")
            return out
        args = [self.node(item, known) for item in node.args]
        if node.op == "call":
            return self.called(self.functions[node.name], args[0])
        if node.op == "slice":
            return self.line(f"slice {sort} {args[0]} {node.value + node.bits - 1} {node.value}")
        if node.op == "sext":
            return self.line(f"sext {sort} {args[0]} {node.bits - node.args[0].bits}")
        if node.op == "concat":
            return self.joined(node, args)
        return self.line(f"{_WORDS[node.op]} {sort} {' '.join(map(str, args))}")

    def joined(self, node: Node, args: list[int]) -> int:
        out, bits = args[0], node.args[0].bits
        for item, number in zip(node.args[1:], args[1:], strict=True):
            bits += item.bits
            out = self.line(f"concat {self.sort(bits)} {out} {number}")
        return out

    def called(self, function: Function, argument: int) -> int:
        return self.node(function.body, {"code": argument})
