"""The page of hardware cost, from the record of `python -m research cost`. Not here: synthesis and counting (research.cost.measure)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emu.docgen.dot_chart import Axis, Mark, chart
from emu.docgen.markdown import code, fence, prose, table
from emu.spec.datapath import resolve
from research.cost.measure import RECORD, read_record, rules

PAGE: Final = "docs/hardware_cost.md"
PICTURE: Final = "docs/hardware_cost.svg"
MARK: Final = f"<!-- generated from {RECORD} by: emu docs build -->"
BASE: Final = "e2m1"
GROUPS: Final = 4
TOP_RATIO: Final = 4.8
Designs = dict[tuple[str, str], dict[str, Any]]


def cost_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page and its picture; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    if not (root / RECORD).is_file():
        return {}
    record = read_record(root / RECORD)
    designs = {(design["part"], design["operands"]): design for design in record["designs"]}
    lines = [MARK, "", *_head(record), *_short(designs), *_sizes(designs), *_depths(designs), *_shares(designs)]
    text = "\n".join([*lines, *_meaning(), *_choices(designs), *_method(record)]) + "\n"
    return {PAGE: text, PICTURE: _picture(designs)}


def _size(design: dict[str, Any]) -> float:
    """Return gate equivalents."""
    return float(design["transistors"]) / int(rules()["transistors_of_one_ge"])


def _operands(designs: Designs) -> list[str]:
    return list(dict.fromkeys(operands for _, operands in designs))


def _parts(designs: Designs) -> list[str]:
    return list(dict.fromkeys(part for part, _ in designs))


def _ratio(designs: Designs, part: str, operands: str) -> str:
    if (part, operands) not in designs:
        return ""
    return f"{_size(designs[part, operands]) / _size(designs[part, BASE]):.2f}"


def _head(record: dict[str, Any]) -> list[str]:
    return [
        "# What the elements cost in gates",
        "",
        prose(
            "For architects: the reference designs of `vectors/bench/rtl`, synthesised to simple gates and counted. One tool, "
            "one run, one ",
            f"table of gates: {record['yosys']}. The numbers compare designs of this page with each other. They are no area and no delay.",
        ),
        "",
        *fence([record["command"], "emu docs build                                        # this page and its picture"]),
        "",
        prose(
            f"The record is [{RECORD.removeprefix('docs/')}]({RECORD.removeprefix('docs/')}). `python -m research cost --check {RECORD}` "
            "says whether it ",
            "still fits the designs; `--part` runs a piece and prints it.",
        ),
        "",
    ]


def _short(designs: Designs) -> list[str]:
    lane, rest = "lane_nv_like", {op: _rest(designs, op) for op in (BASE, "e1m2")}
    product, group = (_ratio(designs, part, "e1m2") for part in ("product", "dot16"))
    return [
        "## In short",
        "",
        prose(
            f"- **E1M2 against E2M1**: {product} of the gates for a product, {group} for the exact sum of 16, "
            f"{_ratio(designs, lane, 'e1m2')} for ",
            f"the whole truncating lane of 64 products, {_ratio(designs, 'lane_int64', 'e1m2')} for the lane into a 64-bit register.",
        ),
        prose(
            f"- **INT4 against E2M1**: {_ratio(designs, 'product', 'int4')}, {_ratio(designs, 'dot16', 'int4')}, ",
            f"{_ratio(designs, lane, 'int4')} and {_ratio(designs, 'lane_int64', 'int4')}. INT4 has the grid of E1M2 and one code more, ",
            "-8, in two's complement: another multiplier and wider products.",
        ),
        prose(
            "- **The further from the multiplier, the less the element matters**: outside of the four group sums the lane takes ",
            f"{rest[BASE]:.0f} GE with E2M1 and {rest['e1m2']:.0f} GE with E1M2, for scales, alignment, the adder and rounding.",
        ),
        prose(
            f"- **Converters to E1M2 and E2M1 hardly differ**: {_ratio(designs, 'convert_fp32', 'e1m2')} from binary32 and ",
            f"{_ratio(designs, 'convert_bf16', 'e1m2')} from bf16.",
        ),
        "",
    ]


def _rest(designs: Designs, operands: str) -> float:
    return _size(designs["lane_nv_like", operands]) - GROUPS * _size(designs["dot16", operands])


def _sizes(designs: Designs) -> list[str]:
    operands, parts = _operands(designs), rules()["parts"]
    rows = [
        [
            code(part),
            parts[part]["text"],
            *(f"{_size(designs[part, each]):.1f}" if (part, each) in designs else "" for each in operands),
            *(_ratio(designs, part, each) for each in operands if each != BASE),
        ]
        for part in _parts(designs)
    ]
    header = ["part", "what", *map(code, operands), *(f"{each} / {BASE}" for each in operands if each != BASE)]
    return [
        "## Gate equivalents",
        "",
        "![Gate equivalents against E2M1](hardware_cost.svg)",
        "",
        *table(header, rows, range(2, len(header))),
        "",
        prose(
            "`e2m1xe1m2`: A is E2M1, B is E1M2. E0M3 is not in the table: up to the group sum it is the circuit of E1M2. A "
            "decoder to binary32 ",
            "is no part of a multiplier: that takes significand and shift straight from the code.",
        ),
        "",
    ]


def _depths(designs: Designs) -> list[str]:
    operands = _operands(designs)
    rows = []
    for part in _parts(designs):
        found = [designs.get((part, each)) for each in operands]
        cells = [f"{sum(one['cells'].values())}" if one else "" for one in found]
        flip_flops = max(one["flip_flops"] for one in found if one)
        rows.append([code(part), *(str(one["depth"]) if one else "" for one in found), *cells, str(flip_flops)])
    header = ["part", *(f"depth {each}" for each in operands), *(f"cells {each}" for each in operands), "flip-flops"]
    return [
        "## Depth and cells",
        "",
        *table(header, rows, range(1, len(header))),
        "",
        prose(
            "Depth: gates on the longest path, each counted as one, whatever it drives. Lanes are one combinational path "
            "without registers ",
            "inside; a product would cut them (`EMU_PIPE` does, behind terms, alignment and sum). Flip-flops are not in the "
            "gate equivalents.",
        ),
        "",
    ]


def _shares(designs: Designs) -> list[str]:
    rows = []
    for operands in _operands(designs):
        lane, group, product = (_size(designs[part, operands]) for part in ("lane_nv_like", "dot16", "product"))
        parts = (GROUPS * 16 * product, GROUPS * (group - 16 * product), lane - GROUPS * group)
        rows.append([code(operands), f"{lane:.0f}", *(f"{part:.0f} ({100 * part / lane:.0f} %)" for part in parts)])
    return [
        "## Where the gates of a lane are",
        "",
        *table(["operands", "lane GE", "64 products", "four trees of 16", "scales, alignment, adder, rounding"], rows, range(1, 5)),
        "",
        prose(
            "The rest differs with the elements, too: wider group sums make wider terms and shifters, and the adder has I integer bits: ",
            ", ".join(f"{_integer_bits(operands)} for `{operands}`" for operands in _operands(designs)),
            " ([nv_like](reference/datapath/nv_like.md)).",
        ),
        "",
    ]


def _integer_bits(operands: str) -> int | None:
    a, _, b = operands.partition("x")
    return resolve("nv_like", a, b or a, "ue4m3", 16).integer_bits


def _meaning() -> list[str]:
    return [
        "## What these numbers can say, and what not",
        "",
        "- They can say which of two designs *of this page* needs more gates, and roughly how much, where the difference is large.",
        "- They cannot say square micrometres, picoseconds or watts: no cell library, no wires, no placement, no clock, no activity.",
        "- A ratio within a few percent of 1 says nothing: another order of the same statements moves counts by as much.",
        "- Depth is not delay: no gate is sized, an inverter counts like an XOR. Nothing was retimed or optimised for speed.",
        "- One synthesis tool, one script. A commercial tool with a library has better adders and complex gates for all formats alike.",
        "- Nobody has built these lanes. A real tensor core shares its multipliers and adders with FP8 and FP16; one more",
        "  format beside others does not cost what a lane costs that has it alone.",
        "",
    ]


def _choices(designs: Designs) -> list[str]:
    pairs = [(designs["product_table", each], designs["product", each]) for each in _operands(designs)]
    table_ratios = ", ".join(f"{_size(one) / _size(other):.1f}" for one, other in pairs)
    return [
        "## Choices of the reference design",
        "",
        "Other choices give other numbers; these are the same for all elements unless said:",
        "",
        "- E2M1 is multiplied as two 2-bit significands and a shift by 0 to 4, E1M2 as two 3-bit magnitudes, INT4 as two's complement.",
        f"  `product_table` is the same product left to the tool as a table of 256 rows: {table_ratios} times the gates,",
        f"  and E1M2 takes {_ratio(designs, 'product_table', 'e1m2')} of E2M1 there. Structure decides as much as format.",
        "- Products leave the multiplier in two's complement; a tree could take sign and magnitude and save or lose gates.",
        "- Trees of two-operand adders, as yosys makes them; no carry-save. Each level is as wide as it must be.",
        "- Every term has its own full shifter of F + I + 1 bits, on magnitudes; one normaliser of log2 steps behind the adder.",
        "- The 64-bit register is added to C in one window of 118 bits: simple to check, not small.",
        "- The lanes do all special values and subnormals as their pages say.",
        "",
    ]


def _method(record: dict[str, Any]) -> list[str]:
    found = rules()
    gates = ", ".join(f"{gate.upper()} {count}" for gate, count in found["gates"].items())
    return [
        "## How it was counted",
        "",
        *fence(["read_verilog -sv <defines> <files>", *found["flow"], "ltp -noff"]),
        "",
        prose(
            f"Transistors of a gate in static CMOS: {gates}; {found['transistors_of_one_ge']} make one gate equivalent (GE), "
            "a NAND2. The table ",
            "is data (`research/cost/measure.yaml`), and the record holds the count of every gate: put in the figures of your own "
            "library. The modules ",
            "named in `setattr` are mapped one by one and joined afterwards, so nothing is shared across their borders.",
        ),
        "",
        prose(
            "That the designs are right is another matter: they equal the golden vectors in two simulators, stage by stage, and a million ",
            "random rows of the C reference (`pytest -m exhaustive tests/rtl/test_rtl_units_dot.py`).",
        ),
    ]


def _picture(designs: Designs) -> str:
    parts, series = _parts(designs), [each for each in _operands(designs) if each != BASE]
    marks = [
        Mark(parts.index(part), series.index(operands), _size(design) / _size(designs[part, BASE]))
        for (part, operands), design in designs.items()
        if operands != BASE
    ]
    ticks = [(value / 2, f"{value / 2:g}") for value in range(int(TOP_RATIO * 2) + 1)]
    return chart("Gate equivalents, E2M1 = 1", Axis("ratio to E2M1", 0.0, TOP_RATIO, ticks), parts, series, marks)
