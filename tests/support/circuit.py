"""The meaning of an exported circuit in Python integers: what every language that it is written in must compute."""

from __future__ import annotations

from collections.abc import Sequence

from emu.rtl.export.circuit import Circuit, Node, chain


class Evaluator:
    """What a circuit computes. Wires are computed when they are asked for, so that a row costs what it reaches."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.wires = dict(circuit.wires)
        self.bodies = {function.name: function.body for function in circuit.functions}
        self.known: dict[str, int] = {}

    def outputs(self, **values: int) -> dict[str, int]:
        """Return the outputs for the values of the inputs; others are ignored. Raises: KeyError (an input is missing)."""
        self.known = {name: values[name] & ((1 << bits) - 1) for name, bits in self.circuit.inputs}
        return {name: self.named(name) for name, _ in self.circuit.outputs}

    def named(self, name: str) -> int:
        """Return the value of an input or wire."""
        if name not in self.known:
            self.known[name] = self.value(self.wires[name])
        return self.known[name]

    def value(self, node: Node) -> int:
        """Return the value of an expression."""
        if node.op in ("const", "name"):
            return node.value if node.op == "const" else self.named(node.name)
        if node.op == "if":
            return self.value(next(then for test, then, _ in chain(node) if test is None or self.value(test)))
        args = [self.value(item) for item in node.args]
        if node.op == "call":
            outside, self.known = self.known, {"code": args[0]}
            found = self.value(self.bodies[node.name])
            self.known = outside
            return found
        ones = (1 << node.bits) - 1
        if node.op == "slice":
            return args[0] >> node.value & ones
        if node.op == "concat":
            out = 0
            for item, value in zip(node.args, args, strict=True):
                out = out << item.bits | value
            return out
        if node.op == "sext":
            top = node.args[0].bits - 1
            return args[0] - (args[0] >> top << (top + 1)) & ones
        return _apply(node.op, args) & ones


def _apply(op: str, args: Sequence[int]) -> int:
    if op == "not":
        return ~args[0]
    a, b = args
    results = {"add": a + b, "sub": a - b, "mul": a * b, "ult": a < b, "ule": a <= b, "eq": a == b, "and": a & b, "or": a | b}
    return int(results[op])
