"""The page of an instruction family: its forms, registers, random bits, flags, datapath. Special sources: instruction_worked.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.base.errors import EmuError
from emu.pages.datapath_widths import width_table
from emu.pages.frame import Data, Writer
from emu.pages.instruction_worked import distinct, examples, special_table
from emu.pages.render import OPEN, Code, Ref, joined
from emu.spec import Block, Instruction, get
from emu.spec.datapath import resolve
from emu.spec.instruction import check_slot
from emu.spec.models.instruction import FormFacts, IeeeFlags, InstructionVariant, RandomOperand, RandomProfile, Register, forms

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


def _linked(kind: str) -> Callable[[Any], Any]:
    return lambda name: OPEN if name == "open" else Ref(kind, name)


def flags_text(flags: Any) -> Any:
    """Return the exception flags of an instruction in words."""
    if isinstance(flags, IeeeFlags):
        return f"IEEE: NV DZ OF UF NX, tininess {flags.tininess} rounding"
    return OPEN if flags == "open" else "none"


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
SHOWN: dict[str, tuple[str, Callable[[Any], Any]]] = {
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
    "amax_operand": ("tensor maximum", lambda name: ("operand ", Code(name), ", binary32")),
    "signs_operand": ("signs of the rotation", lambda name: ("operand ", Code(name))),
    "scale_result": ("scale of the block", lambda name: ("second result ", Code(name))),
    "flags": ("flags", flags_text),
    "interleaved": ("order of the lanes", lambda word: "the operands take turns"),
    "since": ("since", str),
    "targets": ("targets", ", ".join),
}


def data(family: Instruction) -> Data:
    """Return what the template shows: forms, registers, random bits, scales, derived widths, special sources, worked examples."""
    found = forms(family)
    performs = family.facts.performs
    return {
        "isa": ISA[family.facts.isa],
        "performs": _PERFORMS[performs],
        "count": len(found),
        "common": _common(found),
        **_forms(family, found),
        "registers": _registers(found),
        "random_bits": [_random(random, found) for random in distinct(form.facts.random for form in found if form.facts.random)],
        "scales": _scales(found),
        "widths": _widths(found) if performs == "mma" else None,
        "specials": special_table(family) if performs in ("convert", "widen") else None,
        **examples(family),
    }


def _values(found: tuple[InstructionVariant, ...], key: str) -> list[Any]:
    return distinct(getattr(form.facts, key) for form in found)


def _common(found: tuple[InstructionVariant, ...]) -> list[tuple[str, Any]]:
    """Return the facts that all forms share."""
    shared = {key: values[0] for key in SHOWN if len(values := _values(found, key)) == 1 and values[0] is not None}
    return [(SHOWN[key][0], SHOWN[key][1](value)) for key, value in shared.items()]


def _forms(family: Instruction, found: tuple[InstructionVariant, ...]) -> Data:
    """Return one row per form with what differs between them; of a large family its axes."""
    if len(found) > MOST_FORMS and len(found[0].words) > 1:
        return {"axes": _axes(family), "first": found[0].mnemonic, "last": found[-1].mnemonic}
    keys = [key for key in SHOWN if len(_values(found, key)) > 1]
    states = ["status"] if len({form.status for form in found}) > 1 else []
    rows = []
    for form in found:
        cells = [_plain(key, value) if (value := getattr(form.facts, key)) is not None else "" for key in keys]
        rows.append([Code(form.mnemonic), *cells, *([form.status] if states else [])])
    named = [Ref(LINKED[key], value) for key in keys if key in LINKED for value in _values(found, key) if value not in (None, "open")]
    header = ["mnemonic", *(SHOWN[key][0] for key in keys), *states]
    return {"axes": None, "form_header": header, "form_rows": rows, "pages": list(dict.fromkeys(named))}


def _axes(family: Instruction) -> list[tuple[Any, ...]]:
    """Return the words of each axis with what they set: every combination is a form."""
    rows = []
    for axis, words in family.facts.axes.items():
        for key, variation in words.items():
            given = {name: value for name in SHOWN if (value := getattr(variation, name)) is not None}
            told: list[Any] = [(SHOWN[name][0], " ", SHOWN[name][1](value)) for name, value in given.items()]
            told += [f"status {variation.status}"] if variation.status else []
            rows.append((Code("{" + axis + "}"), Code(key if variation.word is None else variation.word), told))
    return rows


def _plain(key: str, value: Any) -> Any:
    """Return a cell of the forms: as elsewhere, but names without links."""
    return Code(value) if isinstance(value, str) and value != "open" and key in LINKED else SHOWN[key][1](value)


def _registers(found: tuple[InstructionVariant, ...]) -> list[tuple[tuple[str, ...], list[Code], int]]:
    """Draw operands and result, once for every layout: (lines, the first forms that have it, how many more)."""
    layouts: dict[tuple[str, ...], list[Code]] = {}
    for form in found:
        drawn = _layout(form.facts)
        if drawn:
            layouts.setdefault(tuple(drawn), []).append(Code(form.mnemonic))
    return [(rows, names[:4], max(len(names) - 4, 0)) for rows, names in layouts.items()]


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


def _random(random: RandomOperand, found: tuple[InstructionVariant, ...]) -> tuple[RandomOperand, str, list[tuple[Any, ...]]]:
    """Return the operand, the form it belongs to where not all have it, and a row per reading."""
    members = [form for form in found if form.facts.random == random]
    rows = [(Code(name), Ref("rounding", profile.rounding), _fields(profile)) for name, profile in random.profiles.items()]
    return random, members[0].mnemonic if len(members) < len(found) else "", rows


def _scales(found: tuple[InstructionVariant, ...]) -> list[tuple[Any, str, list[Code], int]]:
    """Return every scale operand: (the operand, what it reads, the first forms that have it where not all do, how many more)."""
    told = []
    for scale in distinct(form.facts.scale for form in found if form.facts.scale):
        names = [Code(form.mnemonic) for form in found if form.facts.scale == scale]
        shown = names[:4] if len(names) < len(found) else []
        told.append((scale, _READS[scale.reads], shown, max(len(names) - 4, 0)))
    return told


def _fields(profile: RandomProfile) -> Any:
    if profile.fields is None:
        return "as the rounding shares the word"
    return joined("; ", [joined(" & ", [Code(f"[{first}:{last}]") for first, last in lane]) for lane in profile.fields])


def _widths(found: tuple[InstructionVariant, ...]) -> list[tuple[Ref, Any]]:
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
    by_path: dict[str, list[Any]] = {}
    for plan in plans.values():
        by_path.setdefault(plan.datapath.id, []).append(plan)
    return [(Ref("datapath", name), width_table(members)) for name, members in by_path.items()]


def _functions(family: Instruction) -> tuple[str, ...]:
    performs = family.facts.performs
    if performs == "mma":
        return ("datapath.dot", "datapath.fused_step")
    if performs == "quantize":
        return ("block.quantize", "transform.transform_values")
    found = ("decode.decode_code", "convert.convert_value", "round.goes_up", "overflow.overflow", "encode.attach_sign")
    return (*found, "flags.convert_flags") if any(isinstance(form.facts.flags, IeeeFlags) for form in forms(family)) else found


WRITER = Writer("instruction", data, _functions)
