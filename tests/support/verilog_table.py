"""A combinational design that answers from a table of rows: what a test says it gives is what it gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Ports = Sequence[tuple[str, int]]


def table(module: str, ins: Ports, outs: Ports, cases: Iterable[tuple[Sequence[int], Sequence[int]]]) -> str:
    """Return the Verilog of a table. ins, outs: (name, bits) of ports.   cases: values of the inputs and of the outputs; others give 0."""
    ports = [f"input [{bits - 1}:0] {name}" for name, bits in ins] + [f"output reg [{bits - 1}:0] {name}" for name, bits in outs]
    key, total = ", ".join(name for name, _ in ins), sum(bits for _, bits in ins)
    lines = [f"module {module} ({', '.join(ports)});", f"always @* case ({{{key}}})"]
    seen = set()
    for taken, given in cases:
        word = "".join(f"{value:0{bits}b}" for value, (_, bits) in zip(taken, ins, strict=True))
        if word not in seen:
            seen.add(word)
            gives = " ".join(f"{name} = {bits}'h{value:x};" for value, (name, bits) in zip(given, outs, strict=True))
            lines.append(f"{total}'b{word}: begin {gives} end")
    return "\n".join([*lines, f"default: {{{', '.join(name for name, _ in outs)}}} = 0;", "endcase", "endmodule"]) + "\n"
