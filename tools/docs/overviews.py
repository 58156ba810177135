"""Pages of the reference that hold all objects side by side: contents, policies, datapaths, instructions, sources."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from emu.base.errors import OpenError
from emu.pages.datapath_widths import choices, exact_frac_bits, exact_while
from emu.pages.grid import TABLE_BITS
from emu.pages.instruction import ISA, flags_text
from emu.pages.instruction_worked import distinct
from emu.pages.objects import kind_table
from emu.pages.policy import HEADER, Outcome, outcome, told
from emu.pages.render import OPEN, Anchor, Code, Links, Ref, render
from emu.spec import Datapath, Format, Instruction, Policy, derive, get, names
from emu.spec.datapath import DatapathPlan
from emu.spec.known import load_sources
from emu.spec.models import KINDS
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.instruction import InstructionVariant, forms
from emu.spec.models.levels import DatapathLevels
from emu.spec.reach import frac_bits_of
from tools.docs import TEMPLATES

Row = tuple[Any, ...]

# What a status word promises, strongest evidence of a document first.
STATUS: dict[str, str] = {
    "standard": "the text of a published standard says it",
    "vendor": "a document of the vendor says it",
    "source-code": "it was read in public source code",
    "paper": "it was read in a paper",
    "measured": "the named implementation was run, and its bits compared",
    "reported": "a third party reports it of real hardware; not measured here",
    "inferred": "deduced from what the sources say; none says it in words",
    "proposed": "no implementation: a proposal",
    "unknown": "nobody says it: refused",
}


def contents_page() -> str:
    """Return the Markdown page of the whole spec."""
    objects = {kind: [get(kind, name) for name in names(kind)] for kind in KINDS}
    found = Counter(thing.status for things in objects.values() for thing in things)
    statuses = [(word, means, found[word]) for word, means in STATUS.items()]
    return render("contents", Links(""), TEMPLATES, kinds=[kind_table(kind, things) for kind, things in objects.items()], statuses=statuses)


def policies_page() -> str:
    """Return the page that compares all policies, destination by destination; policies that agree share a row."""
    narrow: list[Format] = [fmt for fmt in (get("format", name) for name in names("format")) if derive.codes(fmt).bits <= TABLE_BITS]
    tables = []
    for fmt in narrow:
        groups: dict[Outcome, list[Any]] = {}
        silent = []
        for name in names("policy"):
            policy: Policy = get("policy", name)
            found = outcome(policy, fmt)
            if found is None:
                silent.append(Code(name))
            else:
                groups.setdefault(found, []).append(told(policy, "policy", name, fmt.id))
        tables.append((fmt.id, *_side_by_side(groups), silent))
    destinations = [Anchor(fmt.id, fmt.id) for fmt in narrow]
    return render("policies", Links(""), TEMPLATES, destinations=destinations, tables=tables)


def _side_by_side(groups: dict[Outcome, list[Any]]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return head and rows of one destination; columns that say nothing, or the same as the one before, are left out."""
    keep = [number for number in range(len(HEADER)) if any(found[number] for found in groups)]
    header = dict(enumerate(HEADER))
    if all(found.beyond_rne == found.beyond_rz for found in groups):
        keep.remove(HEADER.index("beyond max, rz"))
        header[HEADER.index("beyond max, rne")] = "beyond max, rne and rz"
    rows = [(policies, *(found[number] for number in keep)) for found, policies in groups.items()]
    return ["policies", *(header[number] for number in keep)], rows


WIDTHS_OF = "nv_like"


def datapaths_page() -> str:
    """Return the page."""
    known, refused, levels = [], [], []
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        if isinstance(model.facts, DatapathLevels):
            levels.append((Ref("datapath", name), model.status, model.title, ", ".join(level.id for level in model.facts.levels)))
            continue
        try:
            known.append(_datapath(model, choices(model)))
        except OpenError as error:
            refused.append((Ref("datapath", name), model.status, str(error).partition(": ")[2]))
    widths = _by_operands(get("datapath", WIDTHS_OF)) if WIDTHS_OF in names("datapath") else None
    return render("datapaths", Links(""), TEMPLATES, known=known, refused=refused, levels=levels, widths=widths)


def _datapath(model: Datapath, plans: list[DatapathPlan]) -> tuple[Any, ...]:
    facts = model.facts
    assert isinstance(facts, DatapathFacts)
    pairs = list(dict.fromkeys(f"{plan.a.id} x {plan.b.id}" for plan in plans))
    scales = facts.scale.formats
    return (
        Ref("datapath", model.id),
        model.status,
        pairs[0] if len(pairs) == 1 else f"{len(pairs)} pairs of {', '.join(dict.fromkeys((*facts.a, *facts.b)))}",
        f"{facts.scale.apply}: {', '.join(scales)} per {', '.join(str(block) for block in facts.scale.blocks)}" if scales else "",
        f"{facts.k} / {_span([plan.step for plan in plans])}",
        _span([plan.group for plan in plans]),
        "exact" if plans[0].frac_bits is None else _span([plan.frac_bits for plan in plans]),
        _span([plan.integer_bits for plan in plans]),
        _span([plan.adder_bits for plan in plans]),
        _span([plan.floor for plan in plans]),
        facts.round.mode,
        f"{facts.round.keep} of {frac_bits_of(plans[0].d)} bits, {facts.d}",
        _addend(facts),
        _exact(plans),
    )


def _span(numbers: list[int | None]) -> str:
    found = sorted({number for number in numbers if number is not None})
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _addend(facts: DatapathFacts) -> str:
    if facts.promote != "none":
        return "first, each block in binary32"
    if facts.accumulator != "none":
        return "after the whole of K"
    if facts.late_c != "none":
        return "late: P rounded first" if facts.late_c == "add" else "late: a second alignment"
    return "one of the terms"


def _exact(plans: list[DatapathPlan]) -> str:
    if plans[0].late_c is not None:
        return "no"
    said = list(dict.fromkeys(exact_while(plan) for plan in plans))
    return said[0] if len(said) == 1 else "depends"


def _by_operands(model: Datapath) -> list[tuple[Any, ...]]:
    """Return the widths of every pair of elements with UE4M3 scales, both orders in one row."""
    rows: dict[str, tuple[int, ...]] = {}
    for plan in choices(model):
        if plan.scale is not None and plan.scale.id == "ue4m3" and plan.block == plan.group:
            needs, widths = exact_frac_bits(plan), plan.widths
            cells = (widths.product_bits, widths.group_sum_bits, widths.term_bits, plan.integer_bits_needed, needs)
            pair = " x ".join(sorted((plan.a.id, plan.b.id)))
            rows[pair] = (*cells, needs + plan.integer_bits_needed + 1, widths.step_sum_bits + 1, widths.largest_int64_k)
    return [(pair, *cells) for pair, cells in rows.items()]


def instructions_page() -> str:
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
        TEMPLATES,
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


READ = {
    "text": "the text was read",
    "code": "the code was read",
    "run": "it was run, and its output compared",
    "abstract": "only the abstract was read",
    "quoted": "only what others cite of it",
}


def sources_page(root: Path) -> str:
    """Return the page. root: a source tree with spec/sources.yaml."""
    users: dict[str, list[Any]] = {}
    for kind in KINDS:
        for name in names(kind):
            for ref in dict.fromkeys(source.ref for source in get(kind, name).sources):
                users.setdefault(ref, []).append((f"{kind} ", Ref(kind, name)))
    entries = [(entry, READ[entry.read], users.get(entry.id)) for entry in load_sources(root / "spec")]
    return render("sources", Links(""), TEMPLATES, entries=entries)
