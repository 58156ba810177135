"""The constants of the spec for hardware and C: formats, datapaths with their derived widths, contracts; all from the loaded registry.

One list of typed constants, written as a SystemVerilog package or as a C header. A constant whose value does not exist (a format without
NaN, a datapath without a floor) is left out, never a magic number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from emu.base.errors import OpenError, SpecError
from emu.base.templates import filled
from emu.engines.exact.datapath_stages import fixed_lsb_exp, sum_bits
from emu.spec import derive
from emu.spec.contract import ContractName, contracts, plans
from emu.spec.datapath import DatapathPlan
from emu.spec.models import KINDS, Format
from emu.spec.models.common import digest_json
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.reach import reach
from emu.spec.registry import digest, get, names

PACKAGE: Final = "emu_spec_pkg"
GUARD: Final = "EMU_SPEC_H"
WIDEST: Final = 32  # bits of a code in a constant
CLASSES: Final = {"float": 0, "integer": 1, "exponent": 2, "codebook": 3}


class Constant(NamedTuple):
    """One constant. kind: number, code (bits wide, unsigned) or text.   title: opens a new group where it is not empty."""

    name: str
    kind: Literal["number", "code", "text"]
    value: int | str
    bits: int = 0
    title: str = ""


def constants() -> list[Constant]:
    """Return every constant, in the order of the files. Names are upper case and start with FORMAT_, DATAPATH_, CONTRACT_ or FACTS_."""
    found = [Constant("FACTS_SHA256", "text", facts_sha256(), title="digest of all facts below")]
    for number, name in enumerate(names("format")):
        found += _format(number, get("format", name))
    for number, plan in enumerate(plans()):
        found += _datapath(number, plan)
    for number, contract in enumerate(contracts()):
        found += _contract(number, contract)
    repeated = len(found) - len({constant.name for constant in found})
    if repeated:
        raise SpecError(f"{repeated} constants have the name of another: ids of formats and datapaths collide")
    return found


def facts_sha256() -> str:
    """Return the digest of every object of the registry: equal files have equal facts."""
    return digest_json([[kind, name, digest(get(kind, name))] for kind in KINDS for name in names(kind)])


def _upper(text: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", text.upper())


def _numbers(prefix: str, title: str, values: dict[str, int | None]) -> Iterator[Constant]:
    """Yield the numbers that exist; the first one opens the group."""
    for name, value in values.items():
        if value is not None:
            yield Constant(f"{prefix}_{name}", "number", value, title=title)
            title = ""


def _format(number: int, fmt: Format) -> Iterator[Constant]:
    facts, codes, prefix = fmt.facts, derive.codes(fmt), f"FORMAT_{_upper(fmt.id)}"
    values: dict[str, int | None] = {
        "ID": number, "CLASS": CLASSES[facts.class_], "BITS": codes.bits, "MAGNITUDE_BITS": codes.magnitude_bits,
        "UNUSED_HIGH_BITS": derive.unused_high_bits(fmt), "TWOS_COMPLEMENT": int(derive.is_twos_complement(fmt)),
        "HAS_ZERO": int(codes.has_zero), "HAS_NEG_ZERO": int(codes.neg_zero),
        "HAS_NAN": int(bool(codes.nan)), "HAS_INF": int(codes.inf is not None),
    }  # fmt: skip
    if isinstance(facts, FloatFacts):
        values |= {"EXP_BITS": facts.exp_bits, "FRAC_BITS": facts.frac_bits, "BIAS": facts.bias}
    if isinstance(facts, ExponentFacts):
        values |= {"BIAS": facts.bias}
    if not isinstance(facts, CodebookFacts):
        span = reach(fmt)
        values |= {"LSB_EXP": span.lsb_exp, "MIN_EXP": span.min_exp, "MAX_EXP": span.max_exp}
    yield from _numbers(prefix, f"format {fmt.id}: {fmt.title}", values)
    if codes.bits > WIDEST:
        return
    some: dict[str, int | None] = {"SIGN_BIT": codes.sign_bit, "INF": codes.inf, "NAN": codes.nan[0] if codes.nan else None}
    some["MAX_CODE"] = None if isinstance(facts, CodebookFacts) else codes.max_code
    yield from (Constant(f"{prefix}_{name}", "code", value, codes.bits) for name, value in some.items() if value is not None)


def _datapath(number: int, plan: DatapathPlan) -> Iterator[Constant]:
    """F, I, floor and the widths with their sign bits, as the stage columns of golden vectors have them."""
    prefix, widths, register = f"DATAPATH_{_upper(plan.name)}", plan.widths, plan.accumulator
    grouped = plan.facts.scale.apply == "group"
    values: dict[str, int | None] = {
        "ID": number, "K": plan.facts.k, "STEP": plan.step, "GROUP": plan.group, "SPLIT": plan.facts.split, "BLOCK": plan.block,
        "F": plan.frac_bits, "I": plan.integer_bits, "FLOOR": plan.floor, "ADDER_BITS": plan.adder_bits,
        "PRODUCT_BITS": widths.product_bits + 1, "PRODUCT_LSB_EXP": widths.product_lsb_exp,
        "GROUP_SUM_BITS": widths.group_sum_bits + 1 if grouped else None, "TERM_BITS": widths.term_bits + 1,
        "STEP_SUM_BITS": widths.step_sum_bits + 1, "STEP_SUM_LSB_EXP": widths.step_sum_lsb_exp,
        "ACCUMULATOR_BITS": None if register is None else register.bits, "LARGEST_K": plan.largest_k,
        "LSB_EXP": fixed_lsb_exp(plan),
    }  # fmt: skip
    if plan.facts.scale.apply != "promote":
        values["SUM_BITS"] = sum_bits(plan)
    with suppress(OpenError):
        yield from _numbers(prefix, f"dot/{plan.name}: {plan.a.id} x {plan.b.id}", values)
    bits = derive.codes(plan.d).bits
    yield Constant(f"{prefix}_NAN", "code", plan.nan_code, bits)


def _contract(number: int, contract: ContractName) -> Iterator[Constant]:
    prefix = f"CONTRACT_{_upper(str(contract))}"
    yield Constant(f"{prefix}_ID", "number", number, title="contracts: number here, and name" if number == 0 else "")
    yield Constant(prefix, "text", str(contract))


def render(language: str) -> str:
    """Return the text of a package: "sv" or "c". Raises: SpecError."""
    classes = ", ".join(f"{number} {name}" for name, number in CLASSES.items())
    return filled(Path(__file__).with_name(f"package.{language}.j2"), constants=constants(), name=PACKAGE, guard=GUARD, classes=classes)
