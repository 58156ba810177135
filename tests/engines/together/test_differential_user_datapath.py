"""Datapaths that no file has: every engine that takes one of them gives the reference model's codes."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from emu.base.errors import EmuError, EngineError, SpecError
from emu.engines import datapath as engine_datapath
from emu.engines import table as engine_table
from emu.spec import get
from emu.spec.datapath import DatapathPlan, plans_of

_SPEC = spec_from_file_location("user_objects_of_datapaths", Path(__file__).with_name("user_objects.py"))
assert _SPEC is not None and _SPEC.loader is not None
USER: Any = module_from_spec(_SPEC)
_SPEC.loader.exec_module(USER)


@st.composite
def datapaths(draw: st.DrawFn, elements: tuple[str, str], scale: str) -> dict[str, Any]:
    """A file of a datapath; the loader refuses many of them."""
    apply = draw(st.sampled_from(["none", "none", "group", "product"]))
    k, late = 32, draw(st.sampled_from(["none", "none", "none", "add", "register"]))
    step = draw(st.sampled_from([8, 16, 32]))
    exact = late != "none" or draw(st.integers(0, 3)) == 0
    result = draw(st.sampled_from(["fp32", "fp32", "copy32", "fp16", "bf16"]))
    keep = {"fp16": 10, "bf16": 7}.get(result, 23)
    align: dict[str, Any] = {
        "exponent": draw(st.sampled_from(["nominal", "nominal", "normalised"])),
        "include_c": "yes" if late == "none" else "no",
        "fraction_bits": "exact" if exact else draw(st.integers(8, 36)),
        "integer_bits": "derived",
        "rounding": draw(st.sampled_from(["rz", "copy_rz", "rd", "rne"])),
        "floor": "none" if exact else draw(st.sampled_from(["none", "derived", -120])),
        "cancelled_group_counts": draw(st.sampled_from(["yes", "no"])),
    }
    group = {"none": 1, "product": 1, "group": draw(st.sampled_from([4, 8]))}[apply]
    facts: dict[str, Any] = {
        "a": [elements[0]],
        "b": [elements[1]],
        "c": result,
        "d": result,
        "k": k,
        "step": step,
        "group": group,
        "scale": {"apply": apply} | ({} if apply == "none" else {"formats": [scale], "blocks": [16]}),
        "align": align,
        "round": {
            "mode": draw(st.sampled_from(["rz", "rne", "copy_rz", "ru", "rna"])),
            "keep": draw(st.sampled_from([keep, keep, keep - 2])),
            "overflow": draw(st.sampled_from(["inf", "saturate"])),
        },
        "subnormal": {name: draw(st.sampled_from(["keep", "keep", "flush"])) for name in ("elements", "scales", "c")}
        | {"result": draw(st.sampled_from(["gradual", "gradual", "flush"]))},
        "special": {"nan": "any", "nan_scale": draw(st.sampled_from(["always", "live"])), "zero": draw(st.sampled_from(["plus", "ieee"]))},
    }
    if late == "add":
        facts["late_c"] = "add"
    if late == "register":
        facts["accumulator"] = {"bits": draw(st.sampled_from([32, 64, 96])), "overflow": "error"}
    return {"kind": "datapath", "id": "drawn_datapath", **USER.ABOUT, "facts": facts}


def compare(plan: DatapathPlan, seed: int) -> int:
    """Every engine that can against the reference model; how many there were."""
    rows, k = 6, 2 * plan.facts.k
    a, b = (USER.some_codes(fmt, seed + number, (rows, k), finite=number + seed % 2 == 1) for number, fmt in enumerate((plan.a, plan.b)))
    scales = [None, None]
    if plan.scale is not None:
        scales = [USER.some_codes(plan.scale, seed + number, (rows, k // plan.block), finite=seed % 3 > 0) for number in (5, 6)]
    c = USER.some_codes(plan.c, seed + 9, (rows,), finite=seed % 4 > 0)
    names = {row.engine for row in engine_table.TABLE if row.operation == "dot" and row.engine != "exact" and row.can(plan)}
    wanted = outcome(a, b, scales, c, plan, "exact")
    for engine in sorted(names):
        found = outcome(a, b, scales, c, plan, engine)
        if isinstance(found, type) or isinstance(wanted, type):
            assert found in (wanted, EngineError), f"{engine}: {found}, not {wanted}"
            continue
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted), f"{engine}: {found} is not {wanted}"
    return len(names)


def outcome(a: Any, b: Any, scales: list[Any], c: Any, plan: DatapathPlan, engine: str) -> Any:
    """The codes, or the kind of error."""
    try:
        return engine_datapath.run_dot(a, b, scales[0], scales[1], c, plan, engine)
    except EmuError as error:
        return type(error)


@settings(max_examples=15, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_drawn_datapaths_on_drawn_formats(data: st.DataObject) -> None:
    elements = [data.draw(st.one_of(USER.floats(7), USER.floats(6), USER.integers(6)), label="element") for _ in range(2)]
    scale = data.draw(st.one_of(USER.floats(8), USER.exponents(8)), label="scale")
    pool = [fmt.model_copy(update={"id": name}) for fmt, name in zip((*elements, scale), ("drawn_a", "drawn_b", "drawn_s"), strict=True)]
    pool += [get("format", "fp32").model_copy(update={"id": "copy32"})]
    mode = get("rounding", "rz").model_copy(update={"id": "copy_rz"})
    drawn = data.draw(datapaths(("drawn_a", "drawn_b"), "drawn_s"), label="datapath")
    try:
        with USER.loaded(*pool, mode, drawn):
            for plan in plans_of("drawn_datapath"):
                compare(plan, data.draw(st.integers(0, 999)))
    except SpecError:
        return  # the loader refuses it
