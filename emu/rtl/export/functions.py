"""Golden functions: a contract as a combinational function in Verilog, SMT-LIB 2 or BTOR2, made from the spec and the exact engine alone.

decode/<format>   convert/<dst>/<rounding>/<policy>   product/<a>x<b>   group_sum/<a>x<b>[/<lanes>]   dot/<datapath of levels>
Nothing of a reference design is in it: thresholds, tables and linear conditions, all exact integers. Not here: proofs (prove).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from emu.base.errors import SpecError
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import stored_bits
from emu.contracts.convert.contract import ConvertContract
from emu.contracts.decode import DecodeContract
from emu.contracts.dot.contract import DotContract
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.rows import Answer
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.rtl.export import btor2 as export_btor2
from emu.rtl.export import smt2 as export_smt2
from emu.rtl.export import verilog as export_verilog
from emu.rtl.export.circuit import Circuit
from emu.rtl.export.convert import convert_circuit
from emu.rtl.export.decode import decode_circuit, product_circuit
from emu.rtl.export.levels import levels_circuit
from emu.spec import derive
from emu.spec.contract import ContractName, parse
from emu.spec.derive import OPEN
from emu.spec.models import Format
from emu.spec.reach import reach
from emu.spec.registry import digest, get

SOURCES: Final = ("fp32", "bf16", "fp16")
WIDEST: Final = 8  # bits of a destination, an element or a decoded code
LANES: Final = 16
LANE_CHOICES: Final = (2, 4, 8, 16, 32, 64)
MODULE: Final = "golden"
RENDERERS: Final[dict[str, Callable[[Circuit], str]]] = {
    "verilog": export_verilog.render,
    "smt2": export_smt2.render,
    "btor2": export_btor2.render,
}


class Sums(NamedTuple):
    """Exact sums of products of elements. unit_exp: they count units of 2^unit_exp."""

    a: Format
    b: Format
    lanes: int
    unit_exp: int
    bits: int

    def elements(self, values: tuple[int, ...]) -> list[list[int]]:
        """Return the codes of a and of b, lane 0 first."""
        widths = [derive.codes(fmt).bits for fmt in (self.a, self.b)]
        places = [[width * lane for lane in range(self.lanes)] for width in widths]
        return [[packed >> at & (1 << width) - 1 for at in some] for packed, width, some in zip(values, widths, places, strict=True)]

    def exact(self, values: tuple[int, ...]) -> Answer:
        """Return the sum in two's complement, OPEN where a lane is NaN or infinite."""
        total = Fraction(0)
        for codes in zip(*self.elements(values), strict=True):
            sides = [decode_code(code, fmt) for code, fmt in zip(codes, (self.a, self.b), strict=True)]
            if any(side.kind != "finite" for side in sides):
                return ((OPEN,),)
            total += sides[0].signed * sides[1].signed
        units = total / power_of_two(self.unit_exp)
        assert units.denominator == 1
        return ((int(units) & ((1 << self.bits) - 1),),)


class Products(NamedTuple):
    """The result of a datapath of levels, without what its levels leave on the way."""

    contract: LevelsContract

    @property
    def name(self) -> ContractName:
        """The contract."""
        return self.contract.name

    def exact(self, values: tuple[int, ...]) -> Answer:
        """Return d, OPEN where the row has no result."""
        return tuple(self.contract.exact(values)[:1])


@dataclass(frozen=True)
class Golden:
    """A golden function. name: contract, and source of a conversion.   layout: its columns.   operation: what the reference model says."""

    name: str
    circuit: Circuit
    layout: Layout
    operation: ConvertContract | DecodeContract | Sums | Products


def golden(contract: str, source: str | None = None) -> Golden:
    """Return the golden function of a contract; aliases become ids.

    source: fp32 (default), bf16 or fp16, for a conversion only.
    Ports are the columns of the golden suites; output `open` is 1 where the answer is open: assume it to be 0. decode: output `k_fp32` is 1
    where any NaN is right.   Raises: SpecError (unknown, wider than 8 bits, codebook products, overflow wrap).
    Tests: tests/rtl/test_rtl_export_convert.py, tests/rtl/test_rtl_export_forms.py.
    """
    op, _, rest = contract.partition("/")
    if op in ("product", "group_sum"):
        _no_source(contract, source)
        return _sum(op, rest)
    if op not in ("decode", "convert", "dot"):
        raise SpecError(f"{contract}: golden functions exist for decode, convert, product, group_sum and dot")
    parsed = parse(contract)
    if op == "dot":
        _no_source(contract, source)
        return _products(parsed)
    fmt: Format = get("format", parsed.parts[0])
    if op == "decode":
        _no_source(contract, source)
        rows = DecodeContract.of(parsed)
        _narrow(fmt, stored_bits(fmt))
        circuit = Circuit(MODULE, _about(str(parsed), "", parsed.spec_sha256))
        decode_circuit(circuit, fmt)
        return Golden(str(parsed), circuit, rows.layout, rows)
    _narrow(fmt, derive.codes(fmt).bits)
    if (source := source or SOURCES[0]) not in SOURCES:
        raise SpecError(f"source {source!r}: a conversion is exported from {', '.join(SOURCES)}")
    found = ConvertContract.of(parsed, source)
    circuit = Circuit(MODULE, _about(str(parsed), source, parsed.spec_sha256))
    convert_circuit(circuit, found.source, fmt, found.rounding, found.entry)
    return Golden(f"{parsed} from {source}", circuit, found.layout, found)


def _products(parsed: ContractName) -> Golden:
    """Return the golden function of a datapath of levels."""
    contract = DotContract.of(parsed)
    if not isinstance(contract, LevelsContract):
        raise SpecError(f"{parsed}: a chain of aligned steps: golden functions hold no align")
    circuit = Circuit(MODULE, _about(str(parsed), "", parsed.spec_sha256))
    levels_circuit(circuit, contract)
    result = next(column for column in contract.layout.results if column.name == "d")
    return Golden(str(parsed), circuit, layout_of([*contract.layout.inputs, result]), Products(contract))


def _no_source(contract: str, source: str | None) -> None:
    if source is not None:
        raise SpecError(f"{contract}: only a conversion has a source: leave --source out")


def _narrow(fmt: Format, bits: int) -> None:
    if bits > WIDEST:
        raise SpecError(f"{fmt.id} has {bits} bits: golden functions are tables of at most {WIDEST}-bit codes")


def _sum(op: str, rest: str) -> Golden:
    """Return a product or a sum of products."""
    pair, _, count = rest.partition("/")
    a, b = _pair(op, pair)
    if count and (op == "product" or not count.isdecimal() or int(count) not in LANE_CHOICES):
        raise SpecError(f"{op}/{rest}: write product/<a>x<b> or group_sum/<a>x<b>/<lanes>, lanes {', '.join(map(str, LANE_CHOICES))}")
    lanes = None if op == "product" else int(count or LANES)
    for fmt in (a, b):
        _narrow(fmt, derive.codes(fmt).bits)
    name = f"{op}/{a.id}x{b.id}" + (f"/{lanes}" if lanes else "")
    circuit = Circuit(MODULE, _about(name, "", digest(a), digest(b)))
    product_circuit(circuit, a, b, lanes)
    columns = [Column(port, "in", bits, fmt.id, lanes or 1) for (port, bits), fmt in zip(circuit.inputs, (a, b), strict=True)]
    result, bits = circuit.outputs[0]
    unit_exp = reach(a).lsb_exp + reach(b).lsb_exp
    means = f"signed, in units of 2^{unit_exp}"
    layout = layout_of([*columns, Column(result, "out", bits, means=means)])
    return Golden(name, circuit, layout, Sums(a, b, lanes or 1, unit_exp, bits))


def _pair(op: str, text: str) -> tuple[Format, Format]:
    """Return the two formats of <a>x<b>."""
    for place, letter in enumerate(text):
        if letter == "x" and 0 < place < len(text) - 1:
            try:
                return get("format", text[:place]), get("format", text[place + 1 :])
            except SpecError:
                continue
    raise SpecError(f"{op}/{text}: write {op}/<format of a>x<format of b>, as {op}/e2m1xe1m2")


def _about(name: str, source: str, *facts: str) -> tuple[str, ...]:
    """Return the head of every file: what it is, how it is made, of which facts. No date, no machine."""
    more = f" --source {source}" if source else ""
    return (
        f"Golden function of {name}" + (f" from {source}" if source else "") + ", generated from the spec and the reference model by",
        f"    emu rtl export --golden verilog|smt2|btor2 {name}{more}",
        f"facts sha256: {' '.join(facts)}",
        "Output open is 1 where nobody knows the answer, or the described library refuses: assume it to be 0, do not compare there.",
    )


def render(item: Golden, form: str) -> str:
    """Return the text of a golden function: form verilog, smt2 or btor2. Raises: KeyError."""
    return RENDERERS[form](item.circuit)
