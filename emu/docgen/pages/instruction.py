"""The page of an instruction family: its forms, registers, random bits, flags, datapath. Special sources: instruction_worked.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.base.errors import EmuError
from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, plural, table
from emu.docgen.pages.datapath_widths import width_table
from emu.docgen.pages.instruction_worked import distinct, special_table, witnesses
from emu.spec import Block, Instruction, get
from emu.spec.datapath import resolve
from emu.spec.instruction import InstructionVariant, check_slot, forms
from emu.spec.models.instruction import FormFacts, IeeeFlags, RandomOperand, RandomProfile, Register, ScaleOperand

MOST_FORMS = 12
_PERFORMS = {
    "convert": "converts each lane by itself: decode, round, overflow, encode",
    "widen": "converts each lane exactly: nothing is rounded",
    "mma": "multiplies and adds matrices; each element of the result is one dot product",
    "quantize": "quantizes one block by a recipe",
}
ISA = {"ptx": "PTX", "amd": "AMD", "x86": "x86", "arm": "Arm", "riscv": "RISC-V"}
_READS = {
    "fp32_exponent": "the exponent field of a binary32 number, minus 127; sign and fraction are ignored, all ones is NaN",
    "e8m0": "an E8M0 code: code - 127, 0xFF is NaN",
    "signed_exponent": "a two's complement integer",
    "unsigned_exponent": "an unsigned integer",
}


def _linked(kind: str) -> Callable[[Any], str]:
    return lambda name: "**open**" if name == "open" else link(kind, name)


def flags_text(flags: Any) -> str:
    """Return the exception flags of an instruction in words."""
    if isinstance(flags, IeeeFlags):
        return f"IEEE: NV DZ OF UF NX, tininess {flags.tininess} rounding"
    return "**open**" if flags == "open" else "none"


# Fact -> the kind of object it names.
LINKED = {
    **dict.fromkeys(("source", "to", "a", "b", "scale_format"), "format"),
    "rounding": "rounding",
    "policy": "policy",
    "datapath": "datapath",
    "recipe": "recipe",
    "transform": "transform",
}
# Fact -> (heading, how it is shown); in the order of the tables.
SHOWN: dict[str, tuple[str, Callable[[Any], str]]] = {
    "source": ("source", _linked("format")),
    "to": ("destination", _linked("format")),
    "rounding": ("rounding", _linked("rounding")),
    "policy": ("NaN, Inf, -0, overflow", _linked("policy")),
    "refused": ("refused sources", ", ".join),
    "datapath": ("datapath", _linked("datapath")),
    "a": ("A", _linked("format")),
    "b": ("B", _linked("format")),
    "scale_format": ("block scales", _linked("format")),
    "block": ("elements per scale", str),
    "m": ("m", str),
    "n": ("n", str),
    "k": ("k", str),
    "recipe": ("recipe", _linked("recipe")),
    "transform": ("rotation before it", _linked("transform")),
    "elements": ("elements", str),
    "amax_operand": ("tensor maximum", "operand `{}`, binary32".format),
    "signs_operand": ("signs of the rotation", "operand `{}`".format),
    "scale_result": ("scale of the block", "second result `{}`".format),
    "flags": ("flags", flags_text),
    "interleaved": ("order of the lanes", lambda word: "the operands take turns"),
    "since": ("since", str),
    "targets": ("targets", ", ".join),
}


def body(family: Instruction, context: Context) -> list[str]:
    """Return the body of the page."""
    found = forms(family)
    lines = []
    if family.rationale:
        lines += ["## Why", "", "\n\n".join(family.rationale), ""]
    lines += ["## What it does", "", f"{_words(family)}: `{family.facts.mnemonic}` {_PERFORMS[family.facts.performs]}.", ""]
    lines += _common(found) + _forms(family, found)
    lines += _registers(found)
    for number, random in enumerate(distinct(form.facts.random for form in found if form.facts.random)):
        lines += ["", "## Random bits", ""] if number == 0 else [""]
        lines += _random(random, found)
    for scale in distinct(form.facts.scale for form in found if form.facts.scale):
        lines += ["", "## Scale", "", *_scale(scale)]
    if family.facts.performs == "mma":
        lines += _widths(found)
    if family.facts.performs in ("convert", "widen"):
        lines += special_table(family)
    return lines


def _words(family: Instruction) -> str:
    """Say whose words the mnemonic is in."""
    return f"Proposed, in the words of {ISA[family.facts.isa]}" if family.status == "proposed" else ISA[family.facts.isa]


def _values(found: tuple[InstructionVariant, ...], key: str) -> list[Any]:
    return distinct(getattr(form.facts, key) for form in found)


def _common(found: tuple[InstructionVariant, ...]) -> list[str]:
    """Return the facts that all forms share."""
    shared = {key: values[0] for key in SHOWN if len(values := _values(found, key)) == 1 and values[0] is not None}
    rows = [(SHOWN[key][0], SHOWN[key][1](value)) for key, value in shared.items()]
    return table(("in every form", ""), rows) if rows else []


def _forms(family: Instruction, found: tuple[InstructionVariant, ...]) -> list[str]:
    """Return one row per form with what differs between them; of a large family its axes."""
    axes = found[0].words
    if len(found) > MOST_FORMS and len(axes) > 1:
        return _axes(family, found)
    keys = [key for key in SHOWN if len(_values(found, key)) > 1]
    states = len({form.status for form in found}) > 1
    lines = ["", "## Forms", "", f"{plural(len(found), 'form')}; `emu.instruction(mnemonic)` runs one."]
    rows = []
    for form in found:
        cells = [_plain(key, value) if (value := getattr(form.facts, key)) is not None else "" for key in keys]
        rows.append([code(form.mnemonic), *cells, *([form.status] if states else [])])
    header = ["mnemonic", *(SHOWN[key][0] for key in keys), *(["status"] if states else [])]
    return [*lines, "", *table(header, rows), *_pages(found, keys)]


def _axes(family: Instruction, found: tuple[InstructionVariant, ...]) -> list[str]:
    """Return the words of each axis with what they set: every combination is a form."""
    rows = []
    for axis, words in family.facts.axes.items():
        for key, variation in words.items():
            given = {name: value for name in SHOWN if (value := getattr(variation, name)) is not None}
            told = [f"{SHOWN[name][0]} {SHOWN[name][1](value)}" for name, value in given.items()]
            told += [f"status {variation.status}"] if variation.status else []
            rows.append((code("{" + axis + "}"), code(key if variation.word is None else variation.word), ", ".join(told)))
    lines = [
        "",
        "## Forms",
        "",
        f"{plural(len(found), 'form')}, every combination of the words below; `emu.instruction(mnemonic)` runs one.",
    ]
    return [*lines, f"The first is `{found[0].mnemonic}`, the last `{found[-1].mnemonic}`.", "", *table(("place", "word", "means"), rows)]


def _plain(key: str, value: Any) -> str:
    """Return a cell of the forms: as elsewhere, but names without links."""
    return code(value) if isinstance(value, str) and value != "open" and key in LINKED else SHOWN[key][1](value)


def _pages(found: tuple[InstructionVariant, ...], keys: list[str]) -> list[str]:
    """Return links to what the forms name, each once."""
    named = [link(LINKED[key], value) for key in keys if key in LINKED for value in _values(found, key) if value not in (None, "open")]
    return ["", f"Their pages: {', '.join(dict.fromkeys(named))}."] if named else []


def _registers(found: tuple[InstructionVariant, ...]) -> list[str]:
    """Draw operands and result, once for every layout."""
    layouts: dict[tuple[str, ...], list[InstructionVariant]] = {}
    for form in found:
        drawn = _layout(form.facts)
        if drawn:
            layouts.setdefault(tuple(drawn), []).append(form)
    if not layouts:
        return []
    lines = [
        "",
        "## Registers",
        "",
        "Bits, highest first; lanes are numbered in the order of the operands. The last line is the result.",
    ]
    for rows, members in layouts.items():
        if len(layouts) > 1:
            names = [code(form.mnemonic) for form in members]
            lines += ["", ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "") + ":"]
        lines += ["", *fence(rows)]
    return lines


def _layout(facts: FormFacts) -> list[str]:
    """Return a line per register: its bits and the lane in each slot."""
    if not facts.operands or not facts.source:
        return []
    lines, lane, turn = [], 0, len(facts.operands) if facts.interleaved else 1
    for register in facts.operands:
        lines.append(_register(register, facts.source, lane, turn))
        lane += 1 if facts.interleaved else register.lanes
    written = facts.to or _elements_of(facts)
    if facts.result is not None and written is not None:
        lines.append(_register(facts.result, written, 0))
    return lines


def _elements_of(facts: FormFacts) -> str | None:
    """Return the element format that a quantizer writes."""
    if facts.recipe is None:
        return None
    block: Block = get("block", get("recipe", facts.recipe).facts.block)
    return block.element_formats[0]


def _register(register: Register, name: str, first_lane: int, turn: int = 1) -> str:
    slot, bits = check_slot(register, get("format", name)), check_slot(Register(name=register.name), get("format", name))
    lanes = list(range(first_lane, first_lane + register.lanes * turn, turn))
    if register.first != "high":
        lanes.reverse()
    cells = []
    for place, lane in enumerate(lanes):
        low = (register.lanes - 1 - place) * slot
        zero = f"{low + slot - 1}..{low + bits} zero, " if slot > bits else ""
        cells.append(f"{zero}{low + bits - 1}..{low} lane {lane}")
    more = len(cells) > 8
    shown = [*cells[:4], "...", *cells[-2:]] if more else cells
    return f"{register.name:6} | " + " | ".join(shown) + " |"


def _random(random: RandomOperand, found: tuple[InstructionVariant, ...]) -> list[str]:
    members = [form for form in found if form.facts.random == random]
    used = "which reading holds is open: the caller names one" if random.use == "open" else f"the reading `{random.use}` holds"
    whose = f" of `{members[0].mnemonic}`" if len(members) < len(found) else ""
    lines = [f"Operand `{random.name}`, {random.bits} bits{whose}; {used}.", ""]
    rows = [(code(name), link("rounding", profile.rounding), _fields(profile)) for name, profile in random.profiles.items()]
    return lines + table(("reading", "rounding", "bits of each lane, lowest lane of the result first"), rows)


def _fields(profile: RandomProfile) -> str:
    if profile.fields is None:
        return "as the rounding shares the word"
    return "; ".join(" & ".join(f"`[{first}:{last}]`" for first, last in lane) for lane in profile.fields)


def _scale(scale: ScaleOperand) -> list[str]:
    done = {"divide": "source / 2^k", "multiply": "source * 2^k", "open": "source / 2^k or source * 2^k: **open**, the caller says which"}
    reads = f"Operand `{scale.name}`, {scale.bits} bits: k is {_READS[scale.reads]}."
    return [reads, f"Each lane is {done[scale.apply]}, exact, before the one rounding."]


def _widths(found: tuple[InstructionVariant, ...]) -> list[str]:
    """Return the derived widths of the datapaths that the forms name; nothing for open ones."""
    plans = {}
    for form in found:
        facts = form.facts
        if facts.datapath not in (None, "open"):
            try:
                plan = resolve(str(facts.datapath), facts.a, facts.b, facts.scale_format, facts.block)
            except EmuError:
                continue
            plans[plan.name] = plan
    if not plans:
        return []
    names = list(dict.fromkeys(link("datapath", plan.datapath.id) for plan in plans.values()))
    lines = ["", "## Derived widths", "", f"Of {', '.join(names)}; the words are explained there."]
    by_path: dict[str, list[Any]] = {}
    for plan in plans.values():
        by_path.setdefault(plan.datapath.id, []).append(plan)
    for name, members in by_path.items():
        lines += ["", f"`{name}`:", "", *width_table(members)]
    return lines


def _oracle(family: Instruction) -> tuple[str, ...]:
    performs = family.facts.performs
    if performs == "mma":
        return ("datapath.dot", "datapath.fused_step")
    if performs == "quantize":
        return ("block.quantize", "transform.transform_values")
    found = ("decode.decode_code", "convert.convert_value", "round.goes_up", "overflow.overflow", "encode.attach_sign")
    return (*found, "flags.convert_flags") if any(isinstance(form.facts.flags, IeeeFlags) for form in forms(family)) else found


WRITER = Writer(body, _oracle, witnesses)
