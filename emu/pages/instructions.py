"""The page that compares instructions: who converts to what and how, and the matrix instructions with their datapaths."""

from __future__ import annotations

from typing import Any

from emu.pages.instruction import ISA, flags_text
from emu.pages.instruction_worked import distinct
from emu.pages.policy import outcome
from emu.pages.render import OPEN, Anchor, Code, Links, Ref, render
from emu.spec import Instruction, get, names
from emu.spec.models.instruction import InstructionVariant, forms

Row = tuple[Any, ...]


def comparison_page() -> str:
    """Return the page."""
    families: list[Instruction] = [get("instruction", name) for name in names("instruction")]
    by_destination: dict[str, list[Row]] = {}
    for family in families:
        if family.facts.performs in ("convert", "widen"):
            for to, row in _conversions(family):
                by_destination.setdefault(to, []).append(row)
    return render(
        "instructions",
        Links(""),
        destinations=[Anchor(to, f"to-{to}") for to in sorted(by_destination)],
        conversions=sorted(by_destination.items()),
        matrix=_matrix(families),
        quantizers=_quantizers(families),
    )


def _name(family: Instruction) -> tuple[Any, ...]:
    return Ref("instruction", family.id), f" ({ISA[family.facts.isa]})"


def _states(members: list[InstructionVariant]) -> str:
    return ", ".join(distinct(form.status for form in members))


def _conversions(family: Instruction) -> list[tuple[str, Row]]:
    """Return (destination, row) for each destination, rounding and policy of a family."""
    groups: dict[tuple[str, str, str], list[InstructionVariant]] = {}
    for form in forms(family):
        facts = form.facts
        drawn = ", ".join(distinct(profile.rounding for profile in facts.random.profiles.values())) if facts.random else ""
        groups.setdefault((str(facts.to), facts.rounding or drawn, str(facts.policy)), []).append(form)
    found: list[tuple[str, Row]] = []
    for (to, rounding, policy), members in groups.items():
        sources = [Code(source) for source in distinct(str(form.facts.source) for form in members)]
        exact = "exact" if family.facts.performs == "widen" else rounding
        flags = distinct(flags_text(form.facts.flags) for form in members)
        found.append((to, (_name(family), sources, exact, *_specials(members[0], to, policy), flags, _states(members))))
    return found


def _specials(form: InstructionVariant, to: str, policy: str) -> Row:
    """Return what becomes of NaN, Inf, a value beyond the maximum and -0; a source that the family refuses is open."""
    result = None if policy == "open" else outcome(get("policy", policy), get("format", to))
    if result is None:
        return (OPEN,) * 4
    refused = form.facts.refused or ()
    beyond = "" if form.facts.performs == "widen" else result.beyond_rne
    return (
        OPEN if "nan" in refused else result.nan,
        OPEN if "inf" in refused else result.inf,
        beyond,
        result.minus_zero,
    )


def _matrix(families: list[Instruction]) -> list[Row]:
    rows = []
    for family in families:
        if family.facts.performs == "mma":
            found = list(forms(family))
            pairs = distinct(f"{form.facts.a} x {form.facts.b}" for form in found)
            shapes = distinct(" x ".join(str(size or "any") for size in (form.facts.m, form.facts.n, form.facts.k)) for form in found)
            paths = distinct(str(form.facts.datapath) for form in found)
            links = [OPEN if path == "open" else Ref("datapath", path) for path in paths]
            rows.append((_name(family), _some(pairs), _some(shapes), links, _states(found)))
    return rows


def _quantizers(families: list[Instruction]) -> list[Row]:
    rows = []
    for family in families:
        if family.facts.performs == "quantize":
            for form in forms(family):
                rotation = Ref("transform", form.facts.transform) if form.facts.transform else ""
                rows.append((_name(family), Code(form.mnemonic), Ref("recipe", str(form.facts.recipe)), rotation, form.status))
    return rows


def _some(items: list[str]) -> str:
    return ", ".join(items) if len(items) <= 4 else f"{', '.join(items[:3])} and {len(items) - 3} more"
