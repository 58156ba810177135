"""Combinational circuits over bit vectors: inputs, named expressions, outputs. The writers turn one into Verilog, SMT-LIB 2 or BTOR2.

Widths are explicit: both sides of an operation have the width of its result (of one another, for a comparison), so that no language's own
rules of extension matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

ARITHMETIC: Final = {"add": "+", "sub": "-", "mul": "*"}
COMPARISON: Final = {"ult": "<", "ule": "<=", "eq": "=="}
LOGIC: Final = {"and": "&", "or": "|"}


@dataclass(frozen=True)
class Node:
    """An expression.

    op: const name slice concat sext call not if, or a key of ARITHMETIC, COMPARISON, LOGIC.   bits: width.   args: operands.
    value: of a const, or the low bit of a slice.   name: of an input, a definition or a function.   comment: for the readers of the files.
    """

    op: str
    bits: int
    args: tuple[Node, ...] = ()
    value: int = 0
    name: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Function:
    """A function of one bit vector, used many times. body: an expression over the name `code`."""

    name: str
    bits: int
    body: Node


@dataclass
class Circuit:
    """inputs, outputs: (name, bits).   functions, wires: in the order of use; an output is the wire of its name.   about: comment lines."""

    name: str
    about: tuple[str, ...] = ()
    inputs: list[tuple[str, int]] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    wires: list[tuple[str, Node]] = field(default_factory=list)

    def input(self, name: str, bits: int) -> Node:
        """Declare an input."""
        self.inputs.append((name, bits))
        return Node("name", bits, name=name)

    def wire(self, name: str, node: Node) -> Node:
        """Name an expression."""
        self.wires.append((name, node))
        return Node("name", node.bits, name=name)

    def output(self, name: str, node: Node) -> None:
        """Declare an output and what it is."""
        self.outputs.append((name, node.bits))
        self.wires.append((name, node))

    def function(self, name: str, bits: int, body: Node) -> Function:
        """Define a function of the name `code`, `bits` wide."""
        self.functions.append(Function(name, bits, body))
        return self.functions[-1]


def const(value: int, bits: int, comment: str = "") -> Node:
    """Return a constant, negative ones in two's complement."""
    return Node("const", bits, value=value & ((1 << bits) - 1), comment=comment)


def part(node: Node, low: int, bits: int) -> Node:
    """Return bits low .. low + bits - 1 of an input or wire."""
    assert node.op == "name" and low >= 0 and 0 < bits <= node.bits - low
    return node if bits == node.bits else Node("slice", bits, (node,), value=low)


def concat(*parts: Node) -> Node:
    """Join, highest part first."""
    return parts[0] if len(parts) == 1 else Node("concat", sum(item.bits for item in parts), parts)


def extend(node: Node, bits: int, signed: bool = False) -> Node:
    """Widen with zeros, or (an input or wire) with its sign."""
    more = bits - node.bits
    assert more >= 0
    if not more:
        return node
    assert not signed or node.op == "name"
    return Node("sext", bits, (node,)) if signed else concat(const(0, more), node)


def shifted(node: Node, places: int, bits: int) -> Node:
    """Return node * 2^places in `bits` bits."""
    low = (const(0, places),) if places else ()
    return extend(concat(node, *low), bits)


def binary(op: str, a: Node, b: Node) -> Node:
    """Apply an operation of ARITHMETIC, LOGIC or COMPARISON to two equally wide operands."""
    assert a.bits == b.bits
    return Node(op, 1 if op in COMPARISON else a.bits, (a, b))


def choose(test: Node, yes: Node, no: Node, comment: str = "") -> Node:
    """Return yes where the one-bit test is 1, else no."""
    assert test.bits == 1 and yes.bits == no.bits
    return Node("if", yes.bits, (test, yes, no), comment=comment)


def call(function: Function, argument: Node) -> Node:
    """Apply a function."""
    assert argument.bits == function.bits
    return Node("call", function.body.bits, (argument,), name=function.name)


def table(key: Node, op: str, rows: Sequence[tuple[int, Node, str]], last: Node) -> Node:
    """Return the node of the first row (constant, node, comment) with `key op constant`, or the last one."""
    out = last
    for value, node, comment in reversed(rows):
        out = choose(binary(op, key, const(value, key.bits)), node, out, comment)
    return out


def chain(node: Node) -> Iterator[tuple[Node | None, Node, str]]:
    """Yield (test, node, comment) of nested choices, the last one without a test: writers print them as rows, without recursion."""
    while node.op == "if":
        yield node.args[0], node.args[1], node.comment
        node = node.args[2]
    yield None, node, node.comment
