"""A circuit as SMT-LIB 2.6 in QF_BV: the inputs as constants, every wire and output as a definition over them.

Definitions without arguments: z3 4.8 spends minutes on sums of products as functions of arguments, and no time on these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emu.rtl.export.circuit import Circuit, Node, chain

_WORDS: Final = {"add": "bvadd", "sub": "bvsub", "mul": "bvmul", "and": "bvand", "or": "bvor", "not": "bvnot"}
_TESTS: Final = {"ult": "bvult", "ule": "bvule", "eq": "="}


def render(circuit: Circuit) -> str:
    """Return declarations and definitions; no assert: a user's script reads this first and adds its own.

    Every name starts with the name of the module: `golden_x`, `golden_y`. Two calls give the same bytes.
    """
    prefix = circuit.name + "_"
    lines = [f"; {line}".rstrip() for line in circuit.about]
    lines.append(f"; Outputs: {', '.join(prefix + name for name, _ in circuit.outputs)}")
    lines.append("(set-logic QF_BV)")
    lines += [f"(declare-const {prefix}{name} {_sort(bits)})" for name, bits in circuit.inputs]
    for function in circuit.functions:
        head = f"(define-fun {prefix}{function.name} (({prefix}code {_sort(function.bits)})) {_sort(function.body.bits)}"
        lines += _define(head, function.body, prefix)
    for name, node in circuit.wires:
        lines += _define(f"(define-fun {prefix}{name} () {_sort(node.bits)}", node, prefix)
    return "\n".join([*lines, ""])


def _sort(bits: int) -> str:
    return f"(_ BitVec {bits})"


def _define(head: str, node: Node, prefix: str) -> Iterator[str]:
    """One line, or one per row of nested choices."""
    rows = list(chain(node))
    if len(rows) < 3:
        yield f"{head} {_term(node, prefix)})" + (f" ; {node.comment}" if node.comment else "")
        return
    yield head
    for test, then, comment in rows[:-1]:
        assert test is not None
        yield f"  (ite {_test(test, prefix)} {_term(then, prefix)}" + (f" ; {comment}" if comment else "")
    yield f"  {_term(rows[-1][1], prefix)}" + ")" * len(rows) + (f" ; {rows[-1][2]}" if rows[-1][2] else "")


def _term(node: Node, prefix: str) -> str:
    """Return a term of sort BitVec."""
    if node.op == "const":
        return f"#b{node.value:0{node.bits}b}" if node.bits % 4 else f"#x{node.value:0{node.bits // 4}x}"
    if node.op == "name":
        return prefix + node.name
    if node.op in _TESTS:
        return f"(ite {_test(node, prefix)} #b1 #b0)"
    if node.op == "if":
        return f"(ite {_test(node.args[0], prefix)} {_term(node.args[1], prefix)} {_term(node.args[2], prefix)})"
    args = [_term(item, prefix) for item in node.args]
    if node.op == "slice":
        return f"((_ extract {node.value + node.bits - 1} {node.value}) {args[0]})"
    if node.op == "sext":
        return f"((_ sign_extend {node.bits - node.args[0].bits}) {args[0]})"
    if node.op == "concat":
        out = args[-1]
        for text in reversed(args[:-1]):
            out = f"(concat {text} {out})"
        return out
    return f"({prefix}{node.name} {args[0]})" if node.op == "call" else f"({_WORDS[node.op]} {' '.join(args)})"


def _test(node: Node, prefix: str) -> str:
    """Return a one-bit node as a term of sort Bool."""
    if node.op in _TESTS:
        return f"({_TESTS[node.op]} {_term(node.args[0], prefix)} {_term(node.args[1], prefix)})"
    return f"(= {_term(node, prefix)} #b1)"
