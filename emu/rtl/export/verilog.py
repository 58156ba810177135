"""A circuit as a Verilog-2005 module: Icarus Verilog, Verilator and yosys read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emu.rtl.export.circuit import ARITHMETIC, COMPARISON, LOGIC, Circuit, Function, Node, chain

WIDEST: Final = 140
_SYMBOLS: Final = ARITHMETIC | COMPARISON | LOGIC


def render(circuit: Circuit) -> str:
    """Return the text of a module with the circuit's name and ports. Two calls give the same bytes."""
    ports = [f"    input  {_range(bits)}{name}" for name, bits in circuit.inputs]
    ports += [f"    output {_range(bits)}{name}" for name, bits in circuit.outputs]
    lines = [f"// {line}".rstrip() for line in circuit.about]
    lines += [f"module {circuit.name} (", ",\n".join(ports), ");"]
    for function in circuit.functions:
        lines += _function(function)
    outputs = {name for name, _ in circuit.outputs}
    for name, node in circuit.wires:
        lines += _assign(f"    assign {name} =" if name in outputs else f"    wire {_range(node.bits)}{name} =", node, "    ")
    return "\n".join([*lines, "endmodule", ""])


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] "


def _function(function: Function) -> Iterator[str]:
    yield f"    function {_range(function.body.bits)}{function.name};"
    yield f"        input {_range(function.bits)}code;"
    yield from _assign(f"        {function.name} =", function.body, "        ")
    yield "    endfunction"


def _assign(head: str, node: Node, indent: str) -> Iterator[str]:
    """One line, or one per row of nested choices."""
    rows = list(chain(node))
    if len(rows) < 3:
        yield f"{head} {_text(node)};" + (f" // {node.comment}" if node.comment else "")
        return
    yield head
    for test, then, comment in rows:
        result = f"({_text(then)})" if then.op == "if" else _text(then)
        line = f"{indent}    " + (f"{result};" if test is None else f"{_text(test)} ? {result} :")
        yield line + (f" // {comment}" if comment and len(line) + len(comment) + 4 <= WIDEST else "")


def _text(node: Node) -> str:
    """Return an expression; operands that are operations stand in brackets."""
    args = [_text(item) for item in node.args]
    if node.op == "const":
        return f"{node.bits}'h{node.value:x}"
    if node.op == "name":
        return node.name
    if node.op == "slice":
        return f"{args[0]}[{node.value + node.bits - 1}:{node.value}]" if node.bits > 1 else f"{args[0]}[{node.value}]"
    if node.op == "concat":
        return "{" + ", ".join(args) + "}"
    if node.op == "sext":
        top = node.args[0].bits - 1
        return f"{{{{{node.bits - top - 1}{{{args[0]}[{top}]}}}}, {args[0]}}}"
    if node.op == "call":
        return f"{node.name}({args[0]})"
    bracketed = [
        f"({text})" if item.op in _SYMBOLS or item.op in ("if", "not") else text for text, item in zip(args, node.args, strict=True)
    ]
    if node.op == "not":
        return f"~{bracketed[0]}"
    if node.op == "if":
        return f"{bracketed[0]} ? {bracketed[1]} : {bracketed[2]}"
    return f"{bracketed[0]} {_SYMBOLS[node.op]} {bracketed[1]}"
