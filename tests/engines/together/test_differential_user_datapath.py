"""Datapaths that no file has, said in levels: every engine that takes one gives the reference model's codes, and so do the levels."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from emu.base.errors import EmuError, EngineError, SpecError
from emu.engines import datapath as engine_datapath
from emu.engines import table as engine_table
from emu.engines.exact.levels import dot
from emu.spec import get
from emu.spec.checks.datapath import check_datapath
from emu.spec.datapath import DatapathPlan, plans_of
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models.datapath import DatapathFacts
from emu.spec.steps import level_facts

_SPEC = spec_from_file_location("user_objects_of_datapaths", Path(__file__).with_name("user_objects.py"))
assert _SPEC is not None and _SPEC.loader is not None
USER: Any = module_from_spec(_SPEC)
_SPEC.loader.exec_module(USER)


@st.composite
def datapaths(draw: st.DrawFn, elements: tuple[str, str], scale: str) -> dict[str, Any]:
    """Facts of a fused step; many of them cannot be."""
    k, late = 32, draw(st.sampled_from(["none", "none", "none", "add", "register", "aligned", "promote"]))
    apply = {"aligned": "none", "promote": "promote"}.get(late) or draw(st.sampled_from(["none", "none", "group", "product"]))
    step = draw(st.sampled_from([8, 16, 32]))
    exact = late not in ("none", "aligned") or draw(st.integers(0, 3)) == 0
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
    group = draw(st.sampled_from([4, 8, "block"])) if apply == "group" else 1
    step = "block" if group == "block" else step
    facts: dict[str, Any] = {
        "a": (elements[0],),
        "b": (elements[1],),
        "c": result,
        "d": result,
        "k": k,
        "step": step,
        "group": group,
        "scale": {"apply": apply} | ({} if apply == "none" else {"formats": (scale,), "blocks": (16,)}),
        "align": align,
        "round": {
            "mode": draw(st.sampled_from(["rz", "rne", "copy_rz", "ru", "rna"])),
            "keep": draw(st.sampled_from([keep, keep, keep - 2])),
            "overflow": draw(st.sampled_from(["inf", "saturate"])),
        },
        "subnormal": {name: draw(st.sampled_from(["keep", "keep", "flush"])) for name in ("elements", "scales", "c")}
        | {"result": draw(st.sampled_from(["gradual", "gradual", "flush"]))},
        "special": {"nan": "any", "nan_scale": draw(st.sampled_from(["always", "live"])), "zero": "plus"},
    }
    if late == "add":
        facts["late_c"] = "add"
    if late == "aligned":
        bits = draw(st.integers(8, 36))
        align |= {"fraction_bits": bits, "integer_bits": "none", "floor": "none", "exponent": "nominal", "rounding": "rz"}
        facts["late_c"] = {"f2": draw(st.integers(bits - 1, bits + 9)), "drop_below": draw(st.integers(1, 30))}
        facts["split"] = draw(st.sampled_from([1, 2, 4]))
    if late == "promote":
        modes = st.sampled_from(["rz", "copy_rz", "rne", "ru"])
        facts |= {name: (draw(st.sampled_from(["e2m1", "int4"])),) for name in "ab"}
        facts |= {"c": "fp32", "d": "copy32", "step": "block", "group": "block"}
        facts["scale"] = {"apply": "promote", "formats": ("fp32",), "blocks": (draw(st.sampled_from([4, 16, 32])),)}
        facts["promote"] = {name: draw(modes) for name in ("scale_product", "term", "acc")} | {
            "fused": draw(st.sampled_from(["yes", "no"]))
        }
        facts["round"] = {"mode": "rne", "keep": 23}
        facts["subnormal"]["result"] = "gradual"
        facts["special"]["zero"] = draw(st.sampled_from(["plus", "ieee"]))
    if late == "register":
        facts["accumulator"] = {"bits": draw(st.sampled_from([32, 64, 96])), "overflow": "error"}
    return facts


def compare(plan: DatapathPlan, drawn: DatapathPlan, seed: int) -> int:
    """Every engine that can, and the levels, against the reference model under the facts that were drawn; how many there were."""
    rows, k = 6, 2 * plan.facts.k
    a, b = (USER.some_codes(fmt, seed + number, (rows, k), finite=number + seed % 2 == 1) for number, fmt in enumerate((plan.a, plan.b)))
    scales = [None, None]
    if plan.scale is not None:
        scales = [USER.some_codes(plan.scale, seed + number, (rows, k // plan.block), finite=seed % 3 > 0) for number in (5, 6)]
    c = USER.some_codes(plan.c, seed + 9, (rows,), finite=seed % 4 > 0)
    names = {row.engine for row in engine_table.TABLE if row.operation == "dot" and row.engine != "exact" and row.can(plan)}
    wanted = outcome(a, b, scales, c, drawn, "exact")
    levels = resolve_levels(plan.datapath, plan.a, plan.b, plan.scale, plan.block or None)
    for number in range(rows):
        row = [[] if item is None else item[number].tolist() for item in (a, b, *scales)]
        found = by_levels(row, int(c[number]), levels)
        assert found == (wanted if isinstance(wanted, type) else int(wanted[number])) or (found is not None and isinstance(wanted, type))
    for engine in sorted(names):
        found = outcome(a, b, scales, c, plan, engine)
        if isinstance(found, type) or isinstance(wanted, type):
            assert found in (wanted, EngineError), f"{engine}: {found}, not {wanted}"
            continue
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted), f"{engine}: {found} is not {wanted}"
    return len(names)


def numbers(plan: DatapathPlan) -> tuple[int | None, ...]:
    """What is derived of a step."""
    return plan.step, plan.group, plan.frac_bits, plan.floor, plan.adder_bits, plan.largest_k


def by_levels(row: list[list[int]], c: int, plan: LevelsPlan) -> Any:
    """The code by the levels, or the kind of error."""
    try:
        return dot(*row, c, [], plan).code
    except EmuError as error:
        return type(error)


def outcome(a: Any, b: Any, scales: list[Any], c: Any, plan: DatapathPlan, engine: str) -> Any:
    """The codes, or the kind of error."""
    try:
        return engine_datapath.run_dot(a, b, scales[0], scales[1], c, plan, engine)
    except EmuError as error:
        return type(error)


@settings(max_examples=25, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_drawn_datapaths_on_drawn_formats(data: st.DataObject) -> None:
    elements = [data.draw(st.one_of(USER.floats(7), USER.floats(6), USER.integers(6)), label="element") for _ in range(2)]
    scale = data.draw(st.one_of(USER.floats(8), USER.exponents(8)), label="scale")
    pool = [fmt.model_copy(update={"id": name}) for fmt, name in zip((*elements, scale), ("drawn_a", "drawn_b", "drawn_s"), strict=True)]
    pool += [get("format", "fp32").model_copy(update={"id": "copy32"})]
    mode = get("rounding", "rz").model_copy(update={"id": "copy_rz"})
    words = data.draw(datapaths(("drawn_a", "drawn_b"), "drawn_s"), label="datapath")
    with USER.loaded(*pool, mode):
        step = get("datapath", "ideal").model_copy(update={"id": "drawn_datapath", "facts": DatapathFacts.model_validate(words)})
        try:
            check_datapath(step)
        except SpecError:
            return  # a step that cannot be
        if words.get("late_c") == "add" and words["subnormal"]["c"] == "flush":
            with pytest.raises(ValueError, match=r"^subnormal.c: levels do not read the rounded sum of a step as C is read$"):
                level_facts(step.facts)
            return
        if "promote" in words and words["special"]["nan_scale"] == "live":
            with pytest.raises(ValueError, match=r"^special.nan_scale: a step that promotes multiplies by a NaN scale always$"):
                level_facts(step.facts)
            return
        if "promote" in words and words["special"]["zero"] == "plus":
            with pytest.raises(ValueError, match=r"^special.zero: a step that promotes keeps the signs of zeros as IEEE 754 has them$"):
                level_facts(step.facts)
            return
        said = level_facts(step.facts).model_dump(mode="json", exclude_defaults=True)
        try:
            with USER.loaded({"kind": "datapath", "id": "drawn_datapath", **USER.ABOUT, "facts": said}):
                assert isinstance(get("datapath", "drawn_datapath").facts, DatapathFacts)
                for plan, drawn in zip(plans_of("drawn_datapath"), plans_of(step), strict=True):
                    assert numbers(plan) == numbers(drawn)
                    compare(plan, drawn, data.draw(st.integers(0, 999)))
        except SpecError as error:
            if "holds no zero" not in str(error):
                raise
