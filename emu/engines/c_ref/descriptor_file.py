"""Descriptor files: spec objects as text that the C reference loads without Python. docs/descriptors.md says how the text reads.

Only facts are written, those of the structs that the binding fills; the C reference derives everything else again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from emu.base.errors import EmuError, EngineError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.datapath import fill_descriptor
from emu.engines.c_ref.descriptors import format_descriptor, policy_descriptor, rounding_descriptor
from emu.engines.c_ref.levels import levels_descriptor
from emu.spec import derive
from emu.spec.datapath import known_facts, levels_of, pairs
from emu.spec.levels import holds_of, level_plans_of
from emu.spec.models import Datapath, Format, Policy, Rounding, SpecObject
from emu.spec.models.levels import DatapathLevels, FloatHold
from emu.spec.registry import get, names

VERSION: Final = 1
KINDS: Final = ("format", "rounding", "policy", "datapath")
SECTIONS: Final = ("formats", "roundings", "policies", "datapaths")
YES_NO: Final = ("no", "yes")
FLOAT, INTEGER, EXPONENT, CODEBOOK = lib.EMU_FLOAT, lib.EMU_INTEGER, lib.EMU_EXPONENT, lib.EMU_CODEBOOK
SPECIAL: Final = {lib.EMU_BY_RULE: "rule", lib.EMU_IS_OPEN: "open", lib.EMU_IS_REFUSED: "refused"}


class Line(NamedTuple):
    """One line of an object: its key, and how the field of the struct reads.

    kind: number, hex, special, or a tuple of words.   when: fields, and the values with which the line is there.
    field: name in the struct, as the key where it is empty.
    """

    key: str
    kind: Any = "number"
    when: tuple[tuple[str, tuple[int, ...]], ...] = ()
    field: str = ""


def _in_class(*classes: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return (("format_class", classes),)


FORMAT: Final = (
    Line("class", ("float", "integer", "exponent", "codebook"), field="format_class"),
    Line("bits", when=_in_class(INTEGER, EXPONENT, CODEBOOK)),
    Line("has_sign", YES_NO, _in_class(FLOAT)),
    Line("exp_bits", when=_in_class(FLOAT)),
    Line("frac_bits", when=_in_class(FLOAT)),
    Line("bias", when=_in_class(FLOAT, EXPONENT)),
    Line("subnormals", YES_NO, _in_class(FLOAT)),
    Line("neg_zero", YES_NO, _in_class(FLOAT)),
    Line("unused_high_bits", when=_in_class(FLOAT)),
    Line("inf", ("none", "ieee"), _in_class(FLOAT)),
    Line("nan", ("none", "ieee", "list"), _in_class(FLOAT, EXPONENT)),
    Line("integer_sign", ("twos_complement", "sign_magnitude", "no"), _in_class(INTEGER)),
    Line("unit_exp", when=_in_class(INTEGER, CODEBOOK)),
    Line("tie", ("even_code", "lower", "away"), _in_class(CODEBOOK)),
    Line("minus_zero_code", when=_in_class(CODEBOOK)),
)
CHOICES: Final = ("keep", "next", "to_even_code", "to_odd_code")
ADDS: Final = ("none", "carry", "compare", "half", "te_fma")
POLICY: Final = (
    Line("overflow", ("saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap")),
    Line("nan", "special"),
    Line("negative", "special"),
    Line("zero", "special"),
    Line("inf", "special"),
    Line("overflow_nan", "special"),
)


RULES: Final = ("stated", "derived", "unlimited")
PROMOTED: Final = (("apply", (lib.EMU_APPLY_PROMOTE,)),)


def _stated(name: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return ((name, (lib.EMU_STATED,)),)


DATAPATH: Final = (
    Line("result", "format"),
    *(Line(name) for name in ("k", "step", "group", "split")),
    Line("apply", ("none", "group", "product", "promote")),
    Line("ignores_unused_bits", YES_NO),
    Line("is_normalised", YES_NO),
    Line("exponent_raise"),
    Line("frac_rule", RULES),
    Line("frac_bits", when=_stated("frac_rule")),
    Line("integer_rule", RULES),
    Line("integer_bits", when=_stated("integer_rule")),
    Line("floor_rule", RULES),
    Line("floor_exp", when=_stated("floor_rule")),
    Line("align_mode", ("rz", "rd", "rne")),
    Line("wraps", YES_NO),
    Line("cancelled_group_counts", YES_NO),
    Line("c_kind", ("aligned", "added", "realigned", "last")),
    Line("f2", when=(("c_kind", (lib.EMU_C_REALIGNED,)),)),
    Line("drop_below", when=(("c_kind", (lib.EMU_C_REALIGNED,)),)),
    Line("accumulator_bits", when=(("c_kind", (lib.EMU_C_LAST,)),)),
    *(Line(name, "rounding", PROMOTED) for name in ("scale_product", "term", "sum")),
    Line("is_fused", YES_NO, PROMOTED),
    Line("rounding", "rounding"),
    Line("keep"),
    Line("saturates", YES_NO),
    *(Line(f"flushes_{name}", YES_NO) for name in ("elements", "scales", "c", "result")),
    Line("nan_scale_live", YES_NO),
    Line("ieee_zero", YES_NO),
    Line("any_nan", YES_NO),
    Line("nan_code", "hex"),
)


ALIGNED: Final = (("aligns", (1,)),)
CHAIN: Final = (("add", (lib.EMU_SUM_CHAIN,)),)
LEVELS: Final = (
    Line("k"),
    Line("ignores_unused_bits", YES_NO),
    *(Line(f"flushes_{name}", YES_NO) for name in ("elements", "scales", "c")),
    *(Line(name, YES_NO) for name in ("per_add", "nan_scale_live", "ieee_zero")),
    Line("nan_code", "hex"),
    Line("out_plus_c", YES_NO),
    *(Line(name) for name in ("invalid_levels", "overflow_levels")),
    *(Line(f"signals_{name}", YES_NO) for name in ("a", "b", "scale", "c")),
)
LEVEL: Final = (
    Line("of_rule", ("count", "all", "block")),
    Line("of", when=(("of_rule", (lib.EMU_OF_COUNT,)),)),
    Line("every"),
    Line("add", ("exact", "aligned", "chain", "pairwise")),
    Line("by", when=CHAIN),
    Line("start", ("zero", "first", "c"), CHAIN),
    *(Line(name, YES_NO) for name in ("plus_c", "names_largest", "cancelled_counts", "aligns")),
)
ALIGNMENT: Final = (
    Line("cut", "rounding"),
    Line("frac_rule", RULES),
    Line("frac_bits", when=_stated("frac_rule")),
    Line("integer_rule", RULES),
    Line("integer_bits", when=_stated("integer_rule")),
    Line("floor_rule", RULES),
    Line("floor_exp", when=_stated("floor_rule")),
    Line("is_normalised", YES_NO),
    Line("exponent_raise"),
    Line("wraps", YES_NO),
)
BEYOND: Final = ("inf", "ieee", "saturate", "wrap", "error", "saturate_symmetric")


def descriptor_text(things: Iterable[SpecObject]) -> str:
    """Return the descriptor file of spec objects and of everything that they name.

    things: formats, roundings, policies (for the formats among them; without one, for every format that the policy covers), datapaths.
    Returns: ASCII text, at most 1 MiB.   Exactness: the C reference computes from it what it computes from the objects, bit for bit.
    Raises: EngineError (a limit of the C reference, a kind that no descriptor holds, too long).
    Source: docs/descriptors.md.   Tests: tests/engines/c_ref/test_c_descriptor.py.
    """
    given = list(things)
    writer = _Writer(tuple(thing for thing in given if isinstance(thing, Format)))
    for thing in sorted(given, key=lambda thing: not isinstance(thing, Format)):
        writer.add(thing)
    text = writer.text()
    if len(text) > lib.EMU_MAX_DESCRIPTOR:
        raise EngineError(f"descriptor: {len(text)} bytes, at most {lib.EMU_MAX_DESCRIPTOR}: export fewer objects at a time")
    return text


class _Writer:
    """Objects by kind and id, each written once, and what the structs that point to them hold."""

    def __init__(self, wanted: tuple[Format, ...]) -> None:
        self.wanted = wanted
        self.objects: dict[str, dict[Any, list[str]]] = {kind: {} for kind in KINDS}

    def text(self) -> str:
        """Return the whole file."""
        lines = [f"emu descriptor {VERSION}"]
        for kind, section in zip(KINDS, SECTIONS, strict=True):
            lines.append(f"{section} {len(self.objects[kind])}")
            lines += [line for body in self.objects[kind].values() for line in body]
        return "\n".join([*lines, "end", ""])

    def add(self, thing: SpecObject) -> None:
        """Add an object and what it names. Raises: EngineError."""
        adders: dict[str, Callable[[Any], object]] = {kind: getattr(self, kind) for kind in KINDS}
        if thing.kind not in adders:
            raise EngineError(f"{thing.kind}/{thing.id}: no descriptor holds a {thing.kind}: export one of {', '.join(adders)}")
        adders[thing.kind](thing)

    def put(self, kind: str, key: Any, body: Callable[[], list[str]]) -> None:
        """Add the lines of an object under its id, once."""
        if key not in self.objects[kind]:
            self.objects[kind][key] = body()

    def format(self, fmt: Format) -> Any:
        """Add a format; return its emu_format."""
        pointer = format_descriptor(fmt).pointer
        self.put("format", fmt.id, lambda: [f"format {fmt.id}", *_format_lines(pointer)])
        return pointer

    def rounding(self, rounding: Rounding) -> None:
        """Add a rounding."""
        fp32: Format = get("format", "fp32")
        pointer = rounding_descriptor(rounding, fp32, format_descriptor(fp32))
        self.put("rounding", rounding.id, lambda: [f"rounding {rounding.id}", *_rounding_lines(pointer)])

    def policy(self, policy: Policy) -> None:
        """Add what a policy says of the formats that were asked for, or of all. Raises: EngineError (nothing of any)."""
        entries = list(_entries(policy, self.wanted or tuple(get("format", name) for name in names("format"))))
        if not entries:
            found = ", ".join(fmt.id for fmt in self.wanted)
            raise EngineError(f"policy {policy.id} says nothing of {found}: leave it out, or name a format that it covers")
        for fmt, entry in entries:
            self.entry(policy.id, fmt, entry)

    def entry(self, name: str, fmt: Format, entry: Any) -> None:
        """Add what a policy says of one format."""
        self.format(fmt)
        pointer = policy_descriptor(entry, fmt, format_descriptor(fmt))
        self.put("policy", (name, fmt.id), lambda: [f"policy {name} {fmt.id}", *_lines(pointer, POLICY)])

    def datapath(self, model: Datapath) -> None:
        """Add a datapath with every choice of operands. Raises: EngineError (a limit of the C reference), OpenError."""
        if isinstance(model.facts, DatapathLevels):
            self.put("datapath", model.id, lambda: list(self.levels(model)))
            return
        facts = known_facts(model)
        made = fill_descriptor(facts, get("format", facts.d))
        body = [f"datapath {model.id}", *_lines(made.pointer, DATAPATH, self.named)]
        self.put("datapath", model.id, lambda: [*body, *self.choices(pairs(facts), facts.scale.formats, facts.scale.blocks)])

    def choices(self, chosen: Sequence[tuple[str, str]], scales: Sequence[str], blocks: Sequence[int]) -> Iterator[str]:
        """Yield the lines of the operands that a datapath leaves free; their formats are added."""
        for name in (*(name for pair in chosen for name in pair), *scales):
            self.format(get("format", name))
        yield from (f"pairs {len(chosen)}", *(f"pair {first} {second}" for first, second in self.own(chosen)))
        yield from (f"scales {len(scales)}", *(f"scale {get('format', name).id}" for name in scales))
        yield from (f"blocks {len(blocks)}", *(f"block {size}" for size in blocks))

    def levels(self, model: Datapath) -> Iterator[str]:
        """Yield the lines of a datapath of levels. Raises: EngineError (a limit of the C reference)."""
        facts = levels_of(model)
        for hold in holds_of(facts):
            if isinstance(hold, FloatHold) and hold.policy is not None:
                policy, fmt = get("policy", hold.policy), get("format", hold.format)
                self.entry(policy.id, fmt, derive.policy_entry(policy, fmt))
        made = [levels_descriptor(plan) for plan in level_plans_of(model)]  # every choice is within the limits
        found = made[0].pointer  # they differ in their operands alone
        yield f"levels {model.id}"
        yield "c none" if found.c == ffi.NULL else f"c {self.named('format', found.c)}"
        yield from _lines(found, LEVELS)
        yield f"any_nan {YES_NO[facts.special.nan == 'any']}"
        yield self.hold("products", found.product)
        yield from self.scaling(found.product_scaling)
        yield f"level_count {found.level_count}"
        for level in found.levels[0 : found.level_count]:
            yield from self.level(level)
        yield self.hold("out", found.out)
        offered = facts.offered
        yield from self.choices(pairs(facts), () if offered is None else offered.formats, () if offered is None else offered.blocks)

    def level(self, level: Any) -> Iterator[str]:
        """Yield the lines of an emu_sum_level."""
        align = level.align
        yield from ("level", *_lines(level, LEVEL))
        if level.aligns:
            yield from _lines(align, ALIGNMENT, self.named)
            own = align.running != ffi.NULL
            yield f"running {self.named('rounding', align.running)} {align.running_bits} {align.drop_below}" if own else "running none"
        yield self.hold("hold", level.hold)
        yield from self.scaling(level.scaling)

    def scaling(self, scaling: Any) -> Iterator[str]:
        """Yield the lines of an emu_scaling."""
        yield f"applies {YES_NO[scaling.applies]}"
        if scaling.applies:
            yield from (self.hold(name, getattr(scaling, name)) for name in ("each", "product", "term"))

    def hold(self, key: str, hold: Any) -> str:
        """Return the line of an emu_hold."""
        rounding = "none" if hold.rounding == ffi.NULL else self.named("rounding", hold.rounding)
        if hold.kind == lib.EMU_HOLD_EXACT:
            return f"{key} exact"
        if hold.kind == lib.EMU_HOLD_FIXED:
            unit = "derived" if hold.unit_rule == lib.EMU_DERIVED else str(hold.unit_exp)
            return f"{key} fixed {hold.bits} {unit} {rounding} {BEYOND[hold.beyond]}"
        if hold.kind == lib.EMU_HOLD_CUT:
            return f"{key} cut {'fraction' if hold.is_fraction else 'significant'} {hold.bits} {rounding}"
        name = self.named("format", hold.format)
        policy = "none" if hold.policy == ffi.NULL else self.policy_of(hold.policy, name)
        return f"{key} float {name} {rounding} {hold.keep} {BEYOND[hold.beyond]} {YES_NO[hold.flushes]} {policy}"

    def policy_of(self, pointer: Any, name: str) -> str:
        """Return the id of the policy that an emu_policy of a format is, which has been added."""
        lines = tuple(_lines(pointer, POLICY))
        return next(str(key[0]) for key, body in self.objects["policy"].items() if key[1] == name and tuple(body[1:]) == lines)

    def own(self, chosen: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield pairs of formats by their ids, aliases resolved."""
        for first, second in chosen:
            yield get("format", first).id, get("format", second).id

    def named(self, kind: str, pointer: Any) -> str:
        """Return the id of the object that a struct points to, which is added: the first of the file or of the spec with those facts."""
        lines = tuple((_format_lines if kind == "format" else _rounding_lines)(pointer))
        for body in self.objects[kind].values():
            if tuple(body[1:]) == lines:
                return body[0].split(" ")[1]
        for name in names(kind):
            other = _Writer(())
            with suppress(EmuError):
                other.add(get(kind, name))
                if tuple(other.objects[kind][name][1:]) == lines:
                    self.add(get(kind, name))
                    return name
        raise EngineError(f"a {kind} that is in no file of the spec: load the spec that has it")


def _entries(policy: Policy, formats: Iterable[Format]) -> Iterator[tuple[Format, Any]]:
    """Yield every format that a policy covers and C can write, with its entry."""
    for fmt in formats:
        try:
            entry = derive.policy_entry(policy, fmt)
            policy_descriptor(entry, fmt, format_descriptor(fmt))
        except EmuError:
            continue
        yield fmt, entry


def _format_lines(pointer: Any) -> Iterator[str]:
    """Yield the lines of an emu_format."""
    yield from _lines(pointer, FORMAT)
    if pointer.nan == lib.EMU_NAN_LIST:
        yield "nan_codes " + " ".join(f"{pointer.nan_codes[i]:#x}" for i in range(pointer.nan_count))
    if pointer.format_class == CODEBOOK:
        yield from (f"value {value}" for value in pointer.values[0 : 1 << pointer.bits])


def _rounding_lines(pointer: Any) -> Iterator[str]:
    """Yield the lines of an emu_rounding."""
    yield f"add {ADDS[pointer.add]}"
    for sign, name in enumerate(("positive", "negative")):
        yield f"{name} " + " ".join(CHOICES[word] for word in pointer.choice[sign])
    if pointer.add:
        yield f"random_bits {pointer.random_bits}"
    yield "beyond_max " + " ".join(("max", "away")[word] for word in pointer.beyond_max)


def _lines(struct: Any, table: Iterable[Line], named: Callable[[str, Any], str] | None = None) -> Iterator[str]:
    """Yield the lines of a struct. named: the id of what a pointer means."""
    for line in table:
        if all(getattr(struct, name) in values for name, values in line.when):
            value = getattr(struct, line.field or line.key)
            is_id = named is not None and line.kind in ("format", "rounding")
            yield f"{line.key} {named(line.kind, value) if named is not None and is_id else _value(value, line.kind)}"


def _value(value: Any, kind: Any) -> str:
    """Return the value of a line."""
    if kind == "special":
        pair = [value] if ffi.typeof(value).kind == "struct" else list(value)
        return " ".join(SPECIAL.get(item.rule, f"{item.code:#x}") for item in pair)
    if isinstance(kind, tuple):
        return str(kind[value])
    return f"{value:#x}" if kind == "hex" else str(value)
