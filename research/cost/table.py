"""The product of two 4-bit codes as a truth table in Verilog: a second structure beside the reference design, made by the exact engine."""

from __future__ import annotations

from emu.base.errors import OperandError
from emu.engines.exact.datapath_terms import decode_triple, multiply
from emu.rtl.simulate.units import Unit
from emu.spec.datapath import DatapathPlan, resolve

DATAPATH = "nv_like"
CODES = 16


def plan_of_product(unit: Unit) -> DatapathPlan:
    """Return the datapath plan whose products a unit `product_<a>[x<b>]` makes. Raises: OperandError (another unit)."""
    head, _, operands = unit.id.partition("_")
    if head != "product":
        raise OperandError(f"{unit.id}: no unit of a product")
    a, _, b = operands.partition("x")
    return resolve(DATAPATH, a, b or a, "ue4m3", 16)


def products(plan: DatapathPlan) -> list[int]:
    """Return the exact products of all pairs of codes, B fastest, in units of the product of both finest values."""
    pairs = [multiply(decode_triple(a, plan.a, "keep"), decode_triple(b, plan.b, "keep")) for a in range(CODES) for b in range(CODES)]
    return [pair.significand << (pair.exp - plan.product_exp) for pair in pairs]


def table_module(unit: Unit) -> str:
    """Return module `dut` with the ports a, b and p of wrap/product.sv: a case for each pair of codes."""
    plan = plan_of_product(unit)
    bits = plan.widths.product_bits + 1
    lines = [f"      8'h{number:02x}: p = {bits}'h{value & ((1 << bits) - 1):x};" for number, value in enumerate(products(plan))]
    head = f"module dut (input [3:0] a, input [3:0] b, output reg [{bits - 1}:0] p);"
    return "\n".join([head, "  always @*", "    case ({a, b})", *lines, "    endcase", "endmodule"]) + "\n"
