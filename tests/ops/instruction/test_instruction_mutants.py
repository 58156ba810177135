"""A wrong fact of a form makes a example of its family fail: order of lanes and operands, rounding, policy, random bits, scale, flags."""

from collections.abc import Iterator
from typing import Any

import pytest

from emu.base.errors import EmuError
from emu.contracts.insn.contract import run
from emu.ops.instruction import Executable, instruction, register_text
from emu.spec import get, names
from emu.spec.models.instruction import form_id, forms

FAMILIES = [name for name in names("instruction") if get("instruction", name).expect]
OTHER = {"rne": "rz", "rz": "ru", "ru": "rz", "rd": "ru", "rna": "rz", "odd": "rz"}
TURN = {"high": "low", "low": "high"}


def mutants(facts: Any) -> Iterator[tuple[str, Any]]:
    """(what is wrong, the facts with it) for each fact that a form states."""
    if facts.result is not None and facts.result.lanes > 1:
        yield (
            "order of the result",
            facts.model_copy(update={"result": facts.result.model_copy(update={"first": TURN[facts.result.first]})}),
        )
    if facts.operands is not None and len(facts.operands) > 1:
        yield "order of the operands", facts.model_copy(update={"operands": facts.operands[::-1]})
    if facts.performs == "convert" and facts.rounding not in (None, "open"):
        yield "rounding", facts.model_copy(update={"rounding": OTHER[facts.rounding]})
    if facts.performs == "convert" and facts.policy in ("nvidia", "amd", "x86"):
        yield "policy", facts.model_copy(update={"policy": {"nvidia": "ml_dtypes", "amd": "nvidia", "x86": "nvidia"}[facts.policy]})
    if facts.random is not None:
        yield "random", facts.model_copy(update={"random": without_upper_half(facts.random)})
    if facts.scale is not None:
        other = {"divide": "multiply", "multiply": "divide"}.get(facts.scale.apply, "divide")
        yield "scale", facts.model_copy(update={"scale": facts.scale.model_copy(update={"apply": other})})
    if hasattr(facts.flags, "tininess"):
        yield (
            "flags",
            facts.model_copy(
                update={"flags": facts.flags.model_copy(update={"tininess": "after" if facts.flags.tininess == "before" else "before"})}
            ),
        )
    if facts.datapath in ("nv_like", "hopper_fp8"):
        yield "datapath", facts.model_copy(update={"datapath": {"nv_like": "ideal", "hopper_fp8": "blackwell_f8f6f4"}[facts.datapath]})


def without_upper_half(random: Any) -> Any:
    """Every profile reads its bits 8 places lower, or where the word is shared by a rounding, that of another one."""
    profiles = {}
    for name, profile in random.profiles.items():
        if profile.fields is None:
            other = {"sr_ptx_share16": "sr_ptx_split8", "sr_ptx_split8": "sr_b200_bitrev", "sr_b200_bitrev": "sr_ptx_share16"}
            profiles[name] = profile.model_copy(update={"rounding": other[profile.rounding]})
        else:
            fields = tuple(tuple(tuple((bit + 5) % random.bits for bit in item) for item in lane) for lane in profile.fields[::-1])
            narrow = tuple(tuple((max(item), max(item)) for item in lane) for lane in fields)
            profiles[name] = profile.model_copy(update={"fields": narrow})
    return random.model_copy(update={"profiles": profiles})


def holds(call: Executable, example: Any, order: tuple[str, ...]) -> bool:
    wanted = [text for text in (example.result, example.scale_result, example.flags) if text is not None]
    try:
        found = run(call, example, order)
    except EmuError:
        return False
    return len(found) == len(wanted) and [register_text(value, len(text)) for value, text in zip(found, wanted, strict=True)] == wanted


def killed(family: Any) -> dict[str, bool]:
    """What is wrong -> does some worked example of the family fail."""
    found: dict[str, bool] = {}
    for example in family.expect:
        form = next(item for item in forms(family) if item.id == form_id(example.form))
        call = instruction(example.form, **example.choose)
        assert holds(call, example, call.operands)
        for what, facts in mutants(call.facts):
            found[what] = found.get(what, False) or not holds(Executable(family, form, facts), example, call.operands)
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_a_wrong_fact_fails_an_example(name: str) -> None:
    found = killed(get("instruction", name))
    assert [what for what, dies in found.items() if not dies] == []


def test_every_kind_of_fault_was_tried() -> None:
    tried = {
        what
        for name in FAMILIES
        for example in get("instruction", name).expect[:3]
        for what, _ in mutants(instruction(example.form, **example.choose).facts)
    }
    assert tried >= {"order of the result", "order of the operands", "rounding", "policy", "random", "scale", "flags", "datapath"}
