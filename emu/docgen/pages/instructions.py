"""The page that compares instructions: who converts to what and how, and the matrix instructions with their datapaths."""

from __future__ import annotations

from emu.docgen.markdown import code, link, table
from emu.docgen.pages.conversion import outcome
from emu.docgen.pages.instruction import ISA, flags_text
from emu.docgen.pages.instruction_worked import distinct
from emu.spec import Instruction, get, names
from emu.spec.instruction import InstructionVariant, forms

_INTRO = """Conversions by destination, then matrix instructions; one row per family and rounding. NaN, Inf and overflow are those of the
policy that the family names, computed by the oracle; a pair is positive, negative source, **open** means that nobody knows. What
hardware was run is told by the status word; the pages have forms, registers, special sources and open points."""
Row = tuple[str, ...]


def comparison_page() -> str:
    """Return the page."""
    families: list[Instruction] = [get("instruction", name) for name in names("instruction")]
    by_destination: dict[str, list[Row]] = {}
    for family in families:
        if family.facts.performs in ("convert", "widen"):
            for to, row in _conversions(family):
                by_destination.setdefault(to, []).append(row)
    links = ", ".join(f"[{to}](#to-{to})" for to in sorted(by_destination))
    lines = ["# Instructions side by side", "", _INTRO, "", f"Destinations: {links}."]
    header = ("instruction", "from", "rounding", "+NaN, -NaN", "+Inf, -Inf", "beyond max", "-0", "flags", "status")
    for to in sorted(by_destination):
        lines += ["", f"## to {to}", "", *table(header, by_destination[to])]
    lines += ["", "## Matrix instructions", "", *_matrix(families), "", "## Quantizers", "", *_quantizers(families)]
    return "\n".join(lines) + "\n"


def _name(family: Instruction) -> str:
    return f"{link('instruction', family.id, '')} ({ISA[family.facts.isa]})"


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
        sources = ", ".join(code(source) for source in distinct(str(form.facts.source) for form in members))
        exact = "exact" if family.facts.performs == "widen" else rounding
        flags = ", ".join(distinct(flags_text(form.facts.flags) for form in members))
        found.append((to, (_name(family), sources, exact, *_specials(members[0], to, policy), flags, _states(members))))
    return found


def _specials(form: InstructionVariant, to: str, policy: str) -> tuple[str, str, str, str]:
    """Return what becomes of NaN, Inf, a value beyond the maximum and -0; a source that the family refuses is open."""
    result = None if policy == "open" else outcome(get("policy", policy), get("format", to))
    if result is None:
        return ("**open**",) * 4
    refused = form.facts.refused or ()
    beyond = "" if form.facts.performs == "widen" else result.beyond_rne
    return (
        "**open**" if "nan" in refused else result.nan,
        "**open**" if "inf" in refused else result.inf,
        beyond,
        result.minus_zero,
    )


def _matrix(families: list[Instruction]) -> list[str]:
    rows = []
    for family in families:
        if family.facts.performs == "mma":
            found = list(forms(family))
            pairs = distinct(f"{form.facts.a} x {form.facts.b}" for form in found)
            shapes = distinct(" x ".join(str(size or "any") for size in (form.facts.m, form.facts.n, form.facts.k)) for form in found)
            paths = distinct(str(form.facts.datapath) for form in found)
            links = ["**open**" if path == "open" else link("datapath", path, "") for path in paths]
            rows.append((_name(family), _some(pairs), _some(shapes), ", ".join(links), _states(found)))
    return table(("instruction", "A x B", "m x n x k", "datapath", "status"), rows)


def _quantizers(families: list[Instruction]) -> list[str]:
    rows = []
    for family in families:
        if family.facts.performs == "quantize":
            for form in forms(family):
                rotation = link("transform", form.facts.transform, "") if form.facts.transform else ""
                rows.append((_name(family), code(form.mnemonic), link("recipe", str(form.facts.recipe), ""), rotation, form.status))
    return table(("instruction", "form", "recipe", "rotation before it", "status"), rows)


def _some(items: list[str]) -> str:
    return ", ".join(items) if len(items) <= 4 else f"{', '.join(items[:3])} and {len(items) - 3} more"
