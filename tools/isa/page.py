"""The data of the proposal's page: numbers of the records, tables of the spec, names of suites. Not here: its words (templates/)."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, Final

from emu.base.errors import SpecError
from emu.contracts.examples import exact_text
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.pages.render import Code, Links, Ref, render
from emu.spec import derive, get
from emu.spec.instruction import all_forms
from emu.spec.levels import resolve_levels
from emu.spec.models import Format
from research.cost import measure as cost
from research.datapath import study as datapath_study
from research.forks.record import COMMAND as FORKS
from research.models import study as models
from research.pages import hardware_cells as cells
from research.pages.training_forks import forks_section
from research.pages.uniform_grid import DATA, best_lead, same_grid, scale_rows, verdicts
from research.pages.uniform_grid_models import models_part
from research.reproduction import record as study
from tools.isa import PAGE, TEMPLATES

SOURCES: Final = (study, datapath_study, cost, models)
ELEMENTS: Final = ("e1m2", "e0m3", "int4", "e2m1")
SCALES: Final = ("ue4m3", "ue5m3", "e8m0")
PAIRS: Final = ("e1m2 e1m2", "e0m3 e0m3", "int4 int4", "e1m2 int4", "e2m1 e1m2", "e2m1 e0m3", "e2m1 e2m1")
PROFILES: Final = {  # which suites belong to a profile: what their stems begin with
    "convert": r"(decode__(e1m2|e0m3|int4)_|convert__\w+_to_(e1m2|e0m3|int4)__nvidia|insn__fp32x\d_to_(e1m2|int4)x)",
    "aligned": r"dot__(e1m2|int4)x\1_ue4m3_to_fp32__nv_like_b16",
    "promoted": r"(dot|accumulate)__e1m2xe1m2_fp32_to_fp32__promote_b16",
    "rotate": r"(transform__bf16_to_bf16__rht16_(ufp4|te)__|quantize__\w+__(ufp4|nvufp4|mxe1m2_floor)__|insn__bf16x16_to_e1m2x16)",
}
SHAPE: Final = "mma.sync.aligned.m16n8k64.row.col."  # printed once, above the table
_ROWS: Final = re.compile(r'"numberOfTests": (\d+)')
Record = dict[str, Any]


def isa_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the proposal; nothing where a record is missing. Raises: FileError (a damaged record)."""
    if not all((root / source.RECORD).is_file() for source in SOURCES):
        return {}
    found, errors, gates, whole = (source.read_record(root / source.RECORD) for source in SOURCES)
    best = models_part(whole)
    forks = forks_section(root)
    if forks is None:
        return {}
    text = render(
        "isa_proposal",
        Links("reference/"),
        TEMPLATES,
        best_rows=[[*row[:4], row[-1]] for row in best["best_rows"]],
        models_command=best["models_command"],
        verdicts=verdicts(whole),
        leads=[(text, best_lead(found, data)) for data, text in DATA.items()],
        forks=forks,
        area=partial(cells.ratio_of_area, gates),
        same=same_grid(found["equivalence"]["recipes"]),
        element_names=[Ref("format", name) for name in ELEMENTS],
        code_rows=[[Code(f"{code:X}"), *(_value(code, get("format", name)) for name in ELEMENTS)] for code in range(16)],
        scale_rows=[_scale_row(get("format", name)) for name in SCALES],
        adder_rows=[_adder_row(*pair.split()) for pair in PAIRS],
        ptx_rows=_ptx_rows(),
        shape=SHAPE,
        suite_rows=suite_rows(root / "vectors"),
        lossy=dict(zip(cells.NAMES.values(), (row[3] for row in cells.lane_rows(gates, errors)), strict=True)),
        lead={row[0]: (row[2], row[3]) for row in scale_rows(found)},
        rotation=cells.unit_rows(gates)[0][-1],
        commands=[source.COMMAND for source in SOURCES] + [FORKS],
    )
    return {PAGE: text}


def _value(code: int, fmt: Format) -> str:
    return exact_text(decode_code(code, fmt))


def _scale_row(fmt: Format) -> list[Any]:
    facts = derive.codes(fmt)
    above = 1 if facts.has_zero else 0
    nan = Code(f"0x{facts.nan[0]:02X}")
    return [Ref("format", fmt.id), _value(above, fmt), _value(facts.max_code, fmt), nan, "yes" if facts.has_zero else "no", facts.bits]


def _adder_row(a: str, b: str) -> list[Any]:
    """Return what a sum of four groups needs: with 35 fraction bits, and with as many as lose nothing."""
    plans = [resolve_levels(name, a, b, "ue4m3", 16).levels for name in ("nv_like", "nv_like_exact")]
    short, full = (levels[-1].align for levels in plans)
    assert short is not None and full is not None
    group = plans[0][0].sums
    largest = int(group.largest / power_of_two(group.lsb_exp))
    return [f"{a} x {b}", largest, short.integer_bits, short.adder_bits, short.floor, full.frac_bits, full.adder_bits]


def _ptx_rows() -> list[list[Any]]:
    """Return one row for each proposed family: its mnemonic with what may be chosen."""
    families = {family.id: family for family, _ in all_forms() if family.id.startswith("prop_")}
    rows = []
    for name, family in sorted(families.items()):
        axes = family.facts.axes or {}
        choices = "; ".join(f"{key}: {', '.join(words)}" for key, words in axes.items())
        rows.append([Code(family.facts.mnemonic.replace(SHAPE, "mma...")), choices, Ref("instruction", name)])
    return rows


def suite_rows(vectors: Path) -> list[list[Any]]:
    """Return profile, stems and rows of the frozen suites that belong to each. Raises: SpecError (a profile without one)."""
    rows: list[list[Any]] = []
    for profile, pattern in PROFILES.items():
        files = sorted(path for path in vectors.glob("*/*__*.json") if re.match(pattern, path.stem))
        if not files:
            raise SpecError(f"{vectors}: no suite of the profile {profile}")
        counts = [int(_ROWS.findall(path.read_text(encoding="utf-8")[:2000])[0]) for path in files]
        rows.append([profile, [Code(path.stem) for path in files], sum(counts)])
    return rows
