"""decode/<format>, products of elements and sums of groups as circuits: a table of exact integers, multiplied and added exactly."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.contracts.columns import KIND_BITS
from emu.contracts.decode import DecodeContract
from emu.contracts.rows import is_nan
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.rtl.export.circuit import Circuit, Function, Node, binary, call, const, extend, part, table
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts
from emu.spec.reach import reach

CLASS_BITS = 4


def decode_circuit(circuit: Circuit, fmt: Format) -> None:
    """Add input code, outputs fp32, cls, k_fp32 (1: any NaN is right, as in the suites) and open (an unused high bit is set)."""
    rows = DecodeContract.of(ContractName("decode", (fmt.id,)))
    bits = rows.layout.inputs[0].bits
    code = circuit.input("code", bits)
    results = []
    for number in range(1 << bits):
        (fp32,), (cls,) = rows.exact((number,))
        known = fp32 >= 0
        fields = (0, int(is_nan(fp32, "fp32")), cls, fp32) if known else (1, 0, 0, 0)
        results.append(concat_const(fields, (1, KIND_BITS, CLASS_BITS, 32)))
    whole = circuit.wire("row", code_table(code, results))
    circuit.output("fp32", part(whole, 0, 32))
    circuit.output("cls", part(whole, 32, CLASS_BITS))
    circuit.output("k_fp32", part(whole, 32 + CLASS_BITS, KIND_BITS))
    circuit.output("open", part(whole, 32 + CLASS_BITS + KIND_BITS, 1))


def concat_const(fields: tuple[int, ...], widths: tuple[int, ...]) -> Node:
    """Return fields as one constant, the first one highest."""
    value = 0
    for item, width in zip(fields, widths, strict=True):
        value = value << width | item
    return const(value, sum(widths))


def code_table(key: Node, results: list[Node]) -> Node:
    """Return the node of each code: a row per code, equal neighbours joined."""
    rows = [(code, node, "") for code, node in enumerate(results[:-1]) if node != results[code + 1]]
    return table(key, "ule", rows, results[-1])


def product_circuit(circuit: Circuit, a: Format, b: Format, lanes: int | None = None) -> None:
    """Add inputs a and b, outputs p (lanes None) or sg, and open: a lane is NaN or infinite.

    p: the exact product; sg: the exact sum of `lanes` products; signed, in units of 2^(least exponent of a + that of b).
    The adders are a balanced tree, neighbours first.   Raises: SpecError (a codebook, or a number of lanes that is no power of two).
    """
    count = lanes or 1
    if count & (count - 1):
        raise SpecError(f"group_sum takes a power of two of lanes, not {count}")
    bits = result_bits(a, b, count)
    sides = [(fmt, circuit.input(name, derive.codes(fmt).bits * count)) for name, fmt in (("a", a), ("b", b))]
    values = [_value_function(circuit, f"value_{name}", fmt) for name, fmt in (("a", a), ("b", b))]
    special = [_special_function(circuit, f"special_{name}", fmt) for name, fmt in (("a", a), ("b", b))]
    products, opens = [], []
    for lane in range(count):
        codes = [part(port, derive.codes(fmt).bits * lane, derive.codes(fmt).bits) for fmt, port in sides]
        x, y = (
            circuit.wire(f"{name}{lane}", call(function, code)) for name, function, code in zip(("va", "vb"), values, codes, strict=True)
        )
        product = binary("mul", extend(x, bits, signed=True), extend(y, bits, signed=True))
        products.append(circuit.wire(f"p{lane}", product) if lanes else product)
        opens += [call(function, code) for function, code in zip(special, codes, strict=True) if function is not None]
    circuit.output("p" if lanes is None else "sg", _tree(circuit, products))
    unknown = const(0, 1)
    for node in opens:
        unknown = node if unknown.op == "const" else binary("or", unknown, node)
    circuit.output("open", unknown)


def result_bits(a: Format, b: Format, lanes: int) -> int:
    """Return the width of a sum of products with its sign: what the largest one needs."""
    for fmt in (a, b):
        if isinstance(fmt.facts, CodebookFacts):
            raise SpecError(f"{fmt.id} is a codebook: its values are no whole numbers of a unit, so products have none either")
    unit = reach(a).lsb_exp, reach(b).lsb_exp
    largest = reach(a).largest / power_of_two(unit[0]) * (reach(b).largest / power_of_two(unit[1])) * lanes
    return int(largest).bit_length() + 1


def _whole(code: int, fmt: Format) -> int | None:
    """Return a code's value in units of the format; None for NaN and Inf."""
    value = decode_code(code, fmt)
    if value.kind != "finite":
        return None
    whole = value.signed / power_of_two(reach(fmt).lsb_exp)
    assert whole.denominator == 1
    return int(whole)


def _value_function(circuit: Circuit, name: str, fmt: Format) -> Function:
    bits = derive.codes(fmt).bits
    width = int(reach(fmt).largest / power_of_two(reach(fmt).lsb_exp)).bit_length() + 1
    results = [const(_whole(code, fmt) or 0, width) for code in range(1 << bits)]
    return circuit.function(name, bits, code_table(Node("name", bits, name="code"), results))


def _special_function(circuit: Circuit, name: str, fmt: Format) -> Function | None:
    """Return the function that is 1 for NaN and Inf; None for a format without."""
    bits = derive.codes(fmt).bits
    results = [const(int(_whole(code, fmt) is None), 1) for code in range(1 << bits)]
    if not any(node.value for node in results):
        return None
    return circuit.function(name, bits, code_table(Node("name", bits, name="code"), results))


def _tree(circuit: Circuit, nodes: list[Node]) -> Node:
    """Return the sum, neighbours first."""
    level = 0
    while len(nodes) > 1:
        level += 1
        sums = [binary("add", nodes[i], nodes[i + 1]) for i in range(0, len(nodes), 2)]
        nodes = sums if len(sums) == 1 else [circuit.wire(f"s{level}_{i}", node) for i, node in enumerate(sums)]
    return nodes[0]
