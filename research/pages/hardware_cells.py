"""Area, delay and switched capacitance for the page of hardware cost, and error against area. Not here: gate equivalents, measuring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from emu.base.errors import FileError
from emu.pages.render import Code
from emu.spec.datapath import resolve
from research.cost.measure import COMMAND, rules
from research.models.results import RAW_E1M2, RAW_E2M1, TURNED_E1M2, TURNED_E2M1, losses
from research.pages.charts import Cloud, Spot, draw_clouds

Record = dict[str, Any]
Points = Sequence[Sequence[Any]]  # mapping, target, area, delay
LIBRARY: Final = "osu018"
SECOND: Final = "osu035"
BASE: Final = "e2m1"
LANE: Final = "lane_nv_like"
SIZED: Final = ("product", "dot16", LANE)
NAMES: Final = {
    "e2m1": "E2M1", "e1m2": "E1M2", "e0m3": "E0M3", "int4_7": "INT4, -7 to 7", "int4": "INT4 with -8", "both": "E2M1 or E1M2 (a bit)",
}  # fmt: skip
PARTS: Final = {"product": "product", "dot16": "sum of 16", LANE: "lane of 64"}
REUSE: Final = (16, 128, 1024)
MIDDLE: Final = 1.2
ROTATIONS: Final = 8  # blocks of 16 that one instruction of 64 products takes from both sides
WAYS: Final = {("e2m1", False): RAW_E2M1, ("e2m1", True): TURNED_E2M1, ("e1m2", False): RAW_E1M2, ("e1m2", True): TURNED_E1M2}
MODELS: Final = {"minilm": "MiniLM, W4A4: 1 - cosine", "smollm": "SmolLM2-135M, W4A4: KL, nats a token"}


def points_of(record: Record, part: str, operands: str, library: str = LIBRARY) -> Points:
    """Return every netlist of a design. Raises: FileError (the record has none)."""
    for line in record["area"]:
        if (line["part"], line["operands"], line["library"]) == (part, operands, library):
            found: Points = line["points"]
            return found
    raise FileError(f"hardware_cost.json: no area of {part} {operands} in {library}: run {COMMAND}")


def fastest(points: Points) -> float:
    """Return the smallest delay, in picoseconds."""
    return min(float(delay) for _, _, _, delay in points)


def smallest(points: Points, limit: float = float("inf")) -> float | None:
    """Return the smallest area of a netlist no slower than a limit, in square micrometres; None where there is none."""
    return min((float(area) for _, _, area, delay in points if delay <= limit), default=None)


def area_of(record: Record, part: str, operands: str, times: float | None = None, library: str = LIBRARY) -> float | None:
    """Return the smallest area of a design. times: no slower than so many times the fastest design of E2M1; None: however slow."""
    limit = float("inf") if times is None else times * fastest(points_of(record, part, BASE, library))
    return smallest(points_of(record, part, operands, library), limit)


def ratio_of_area(record: Record, part: str, operands: str, times: float | None = None, library: str = LIBRARY) -> str:
    """Return an area against that of E2M1 under the same limit, two digits; `too slow` where no netlist meets it."""
    own, base = (area_of(record, part, each, times, library) for each in (operands, BASE))
    return "too slow" if own is None or base is None else f"{own / base:.2f}"


def area_rows(record: Record) -> list[list[Any]]:
    """Return a row for each part and element: area and ratio without a limit, the ratios under two delay targets, and the fastest."""
    rows = []
    for part, words in PARTS.items():
        for operands, name in NAMES.items():
            area = area_of(record, part, operands, None)
            ratios = [ratio_of_area(record, part, operands, times) for times in (None, MIDDLE, 1.0)]
            rows.append([words, name, "-" if area is None else f"{area:.0f}", *ratios, f"{fastest(points_of(record, part, operands)):.0f}"])
    return rows


def second_rows(record: Record) -> list[list[Any]]:
    """Return the ratios in the second library: without a limit, and as fast as E2M1 gets."""
    return [
        [name, *(ratio_of_area(record, part, operands, times, SECOND) for part in ("product", "dot16") for times in (None, 1.0))]
        for operands, name in NAMES.items()
    ]


def lane_rows(record: Record, errors: Record) -> list[list[Any]]:
    """Return what the adder of a lane takes and loses with each element, and the lane's area."""
    rows = []
    for operands, name in NAMES.items():
        values = {"int4_7": "e0m3"}.get(operands, operands)  # the same numbers
        area = ratio_of_area(record, LANE, operands)
        if operands == "both":
            rows.append([name, "35 + 13 + 1 = 49", "as each", "as each", area])
            continue
        pair = f"{values} x {values}"
        facts, drawn = (next(row for row in errors["proof"][key] if row["pair"] == pair) for key in ("pairs", "rows"))
        bits = resolve("nv_like", values, values, "ue4m3", 16).integer_bits
        lost = f"{drawn['cancelling']['nv_like']} of {drawn['rows']}"
        rows.append([name, f"35 + {bits} + 1 = {facts['reported_adder_bits']}", facts["adder_bits"], lost, area])
    return rows


def _rotation(record: Record, reuse: int) -> float:
    """Return the area of rotation units that a lane needs when tiles of reuse x reuse outputs share them."""
    return ROTATIONS / reuse * float(smallest(points_of(record, "rotate16", "any")) or 0)


def total_rows(record: Record) -> list[list[Any]]:
    """Return lanes with their share of the rotation, each against the lane of E2M1 without one."""
    base = float(area_of(record, LANE, BASE) or 0)
    rows = []
    for operands, name in NAMES.items():
        lane = float(area_of(record, LANE, operands) or 0)
        rows.append([name, f"{lane / base:.2f}", *(f"{(lane + _rotation(record, reuse)) / base:.2f}" for reuse in REUSE)])
    return rows


def unit_rows(record: Record) -> list[list[Any]]:
    """Return the area of what stands before the lanes."""
    base = float(area_of(record, LANE, BASE) or 0)
    rows = []
    elements = [(part, each) for part in ("convert_bf16", "quantize") for each in ("e2m1", "e1m2")]
    for part, operands in (("rotate16", "any"), ("rotate16_fp32", "any"), *elements):
        area = float(smallest(points_of(record, part, operands)) or 0)
        name = "" if operands == "any" else NAMES[operands]
        rows.append([Code(part), name, rules()["parts"][part]["text"], f"{area:.0f}", f"{area / base:.3f}"])
    return rows


def _switched(record: Record, part: str, operands: str, element: str, data: str, order: str, figure: str) -> float:
    wanted = {"part": part, "operands": operands, "element": element, "data": data, "order": order}
    for line in record["energy"]:
        if all(line[key] == value for key, value in wanted.items()):
            return float(line[figure])
    raise FileError(f"hardware_cost.json: no switched capacitance of {' '.join(wanted.values())}: run {COMMAND}")


def energy_ratio(
    record: Record, part: str, operands: str, element: str, data: str, order: str = "along_k", figure: str = "settled_ff"
) -> str:
    """Return switched capacitance against E2M1 as given (random: E2M1 random), the same order of operands, two digits."""
    base = _switched(record, part, BASE, BASE, "random" if data == "random" else "given", order, figure)
    return f"{_switched(record, part, operands, element, data, order, figure) / base:.2f}"


def energy_rows(record: Record) -> list[list[Any]]:
    """Return a row for each unit and its operands: switched capacitance of a lane, then ratios to E2M1 as given."""
    used = [("e2m1", "given"), ("e2m1", "rotated"), ("e1m2", "given"), *((each, "rotated") for each in ("e1m2", "e0m3", "int4_7", "int4"))]
    cases = [(each, each, data) for each, data in used] + [("both", "e2m1", "given"), ("both", "e1m2", "rotated")]
    rows = []
    for operands, element, data in cases:
        name = NAMES[operands] if operands != "both" else f"both, set to {NAMES[element]}"
        lane = _switched(record, LANE, operands, element, data, "along_k", "settled_ff") / 1000
        ratios = [energy_ratio(record, part, operands, element, data) for part in SIZED]
        held = energy_ratio(record, LANE, operands, element, data, "weights_held")
        passing = energy_ratio(record, "dot16", operands, element, data, "along_k", "passing_ff")
        drawn = energy_ratio(record, LANE, operands, element, "random")
        rows.append([name, data, f"{lane:.0f}", *ratios, held, passing, drawn])
    return rows


def error_area_chart(record: Record, whole: Record) -> str:
    """Return the picture of whole-model loss against the area of the lane that computes it, rotation included where it is used."""
    label = "lane, and rotation where used; lane of E2M1 = 1"
    return draw_clouds("Loss of the whole model against area of the unit", label, clouds(record, whole))


def clouds(record: Record, whole: Record) -> list[Cloud]:
    """Return a panel for each model: loss with both operands in 4 bits. A mark's line runs from tiles of 128 x 128 outputs to 16 x 16."""
    base = float(area_of(record, LANE, BASE) or 0)
    found = []
    for model, title in MODELS.items():
        loss = {key: float(losses(whole, model, "wa", way).mean()) for key, way in WAYS.items()}
        spots = []
        for operands, name in NAMES.items():
            lane = float(area_of(record, LANE, operands) or 0)
            grid = "e2m1" if operands == "e2m1" else "e1m2"
            cases = [(name, (grid, False)), (name, (grid, True))]
            if operands == "both":
                cases = [("both", ("e2m1", False)), ("both", ("e1m2", True))]
            for label, key in cases:
                ends = [(lane + (_rotation(record, reuse) if key[1] else 0)) / base for reuse in (128, 16)]
                spots.append(Spot(label, key[1], ends[0], ends[1], loss[key]))
        found.append(Cloud(title, spots))
    return found
