"""The page of RISC-V: what of its drafts is executed, from the spec. What is not, and why, is said by hand in the template."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from emu.pages.instruction import ISA, flags_text
from emu.pages.instruction_worked import distinct
from emu.pages.render import OPEN, Code, Links, Ref, SourceRef, render
from emu.spec import Datapath, Instruction, get, names
from emu.spec.known import load_sources
from emu.spec.models.instruction import forms
from emu.spec.models.levels import DatapathLevels, FloatHold
from tools.docs import TEMPLATES
from tools.docs.overviews import READ
from tools.isa.asciidoc import MAIN, asciidoc_parts

PAGE: Final = "docs/riscv.md"
SET: Final = "riscv"  # of instructions (facts.isa), and in the address of a source
Row = tuple[Any, ...]


def riscv_pages(root: Path, proposal: str | None) -> dict[str, str]:
    """Return path -> text of the page. root: a source tree.   proposal: text of the ISA proposal; without it there is no page."""
    if proposal is None:
        return {}
    entries = [entry for entry in load_sources(root / "spec") if SET in entry.url]
    known = {entry.id for entry in entries}
    products: list[Datapath] = [thing for name in names("datapath") if _rests_on(thing := get("datapath", name), known)]
    families: list[Instruction] = [thing for name in names("instruction") if (thing := get("instruction", name)).facts.isa == SET]
    policies = [thing for name in names("policy") if _rests_on(thing := get("policy", name), known)]
    text = render(
        "riscv",
        Links("reference/"),
        TEMPLATES,
        isa=ISA[SET],
        entries=[(SourceRef(entry.id), entry.title, entry.version, READ[entry.read]) for entry in entries],
        products=[_product(model) for model in products],
        worked=[_worked(model) for model in products if model.expect],
        families=[_family(family) for family in families],
        open=_open_points([*products, *families, *policies]),
        parts=[Code(name) for name in asciidoc_parts(proposal) if name != MAIN],
        main=MAIN,
    )
    return {PAGE: f"<!-- generated from spec/ by: python -m tools.docs build -->\n\n{text}"}


def _rests_on(thing: Any, known: set[str]) -> bool:
    return any(source.ref in known for source in thing.sources)


def _sources(thing: Any) -> list[SourceRef]:
    return [SourceRef(ref) for ref in dict.fromkeys(source.ref for source in thing.sources)]


def _product(model: Datapath) -> Row:
    """Return the row of a dot product: what it adds, how C joins, what it says beside the result."""
    facts = model.facts
    if not isinstance(facts, DatapathLevels):
        return Ref("datapath", model.id), "", "", model.title, model.status, _sources(model)
    holds = [level.hold for level in facts.levels if level.start == "c"]
    joins = [f"added, rounded `{hold.rounding}`" if isinstance(hold, FloatHold) else "added" for hold in holds]
    flags = ", ".join(facts.flags.report) if facts.flags else "none"
    operands = f"{facts.k} of {', '.join(distinct((*facts.a, *facts.b)))}"
    return Ref("datapath", model.id), operands, ", ".join(joins) or "none", flags, model.status, _sources(model)


def _worked(model: Datapath) -> Row:
    """Return the first worked example of a dot product, as its file has it."""
    row = model.expect[0].model_dump(by_alias=True)
    operands = [Code(row[key]) for key in ("a", "b", "c") if row.get(key)]
    return Ref("datapath", model.id), row.get("why") or "", operands, Code(row["d"])


def _family(family: Instruction) -> Row:
    found = list(forms(family))
    ways = distinct(f"{form.facts.source} to {form.facts.to}" for form in found)
    policies = [Ref("policy", policy) for policy in distinct(str(form.facts.policy) for form in found)]
    roundings = "exact" if family.facts.performs == "widen" else distinct(str(form.facts.rounding) for form in found)
    facts = family.facts
    flags = OPEN if facts.flags == "open" else flags_text(facts.flags)
    targets = ", ".join(facts.targets or ()) + (f" {facts.since}" if facts.since else "")
    named = Ref("instruction", family.id), Code(facts.mnemonic), targets
    return *named, ways, roundings, policies, flags, family.status, _sources(family)


def _open_points(things: Iterable[Any]) -> list[Row]:
    """Return each open point once, with the objects that have it."""
    found: dict[tuple[str, str], list[Ref]] = {}
    for thing in things:
        for point in thing.open:
            found.setdefault((point.what, point.until), []).append(Ref(thing.kind, thing.id))
    return [(what, until, refs) for (what, until), refs in found.items()]
