"""Descriptor files: spec objects as text that the C reference loads without Python. docs/descriptors.md says how the text reads.

Only facts are written, those of the structs that the binding fills; the C reference derives everything else again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple

from emu.base.errors import EmuError, EngineError, SpecError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.datapath import fill_descriptor
from emu.engines.c_ref.descriptors import Descriptor, format_descriptor, lane_places, policy_descriptor, rounding_descriptor
from emu.engines.c_ref.layout import layout_descriptor
from emu.engines.c_ref.levels import unchecked_descriptor
from emu.engines.c_ref.library import Library
from emu.engines.c_ref.program import ProgramDescriptor, program_descriptor, transform_descriptor
from emu.spec import derive
from emu.spec.datapath import known_facts, levels_of, pairs
from emu.spec.levels import holds_of, level_plans_of
from emu.spec.models import Block, Datapath, Format, Layout, Policy, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.levels import DatapathLevels, FloatHold
from emu.spec.models.rounding import Word
from emu.spec.programs.program import Program, dequantize_program, quantize_program
from emu.spec.programs.types import Instruction, extent_of
from emu.spec.registry import get, names

VERSION: Final = 1
KINDS: Final = ("format", "rounding", "policy", "transform", "block", "layout", "recipe", "datapath")
SECTIONS: Final = ("formats", "roundings", "policies", "transforms", "blocks", "layouts", "recipes", "datapaths")
YES_NO: Final = ("no", "yes")
FLOAT, INTEGER, EXPONENT, CODEBOOK = lib.EMU_FLOAT, lib.EMU_INTEGER, lib.EMU_EXPONENT, lib.EMU_CODEBOOK
AFTER: Final = {lib.EMU_BY_ROUNDED: "_rounded"}
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
    Line("inf", ("none", "ieee", "top"), _in_class(FLOAT)),
    Line("nan", ("none", "ieee", "list"), _in_class(FLOAT, EXPONENT)),
    Line("integer_sign", ("twos_complement", "sign_magnitude", "no"), _in_class(INTEGER)),
    Line("unit_exp", when=_in_class(INTEGER, CODEBOOK)),
    Line("tie", ("even_code", "lower", "away"), _in_class(CODEBOOK)),
    Line("minus_zero_code", when=_in_class(CODEBOOK)),
)
CHOICES: Final = ("keep", "next", "to_even_code", "to_odd_code")
ADDS: Final = ("none", "carry", "compare", "half", "te_fma", "nearest")
POLICY: Final = (
    Line("overflow", ("saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap")),
    Line("nan", "special"),
    Line("negative", "special"),
    Line("zero", "special"),
    Line("inf", "special"),
    Line("overflow_nan", "special"),
)


ORDERS: Final = ("exact", "sequential", "tree", "halves", "butterfly")
TRANSFORM: Final = (
    Line("size"),
    Line("order", ORDERS),
    Line("signs", "hex"),
    Line("scale_exp"),
    Line("sum_format", "format"),
    Line("result", "format"),
)
RECIPE: Final = (
    Line("tail", ("error", "keep", "drop")),
    Line("finite_only", YES_NO),
    Line("tensor_amax_min", "hex"),
)
GIVEN: Final = ("x", "tensor_amax", "random", "codes", "values")

NANS: Final = ("propagate", "drop")
ROUNDED: Final = ("format", "rounding")


class Operation(NamedTuple):
    """How a step of an operation is written behind its registers. says: parts of _Writer.said, in order.   variants: of its variant."""

    says: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()


OPERATIONS: Final[dict[str, Operation]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "fma"), Operation(ROUNDED)),
    **dict.fromkeys(("abs", "neg", "pow2", "log2"), Operation()),
    **dict.fromkeys(("min", "max", "clamp", "amax"), Operation((), NANS)),
    "round": Operation(ROUNDED, ("bounded", "unbounded")),
    "e8m0_rule": Operation(("emax",), ("floor", "ceil", "even", "field_up")),
    "cast": Operation((*ROUNDED, "random", "policy")),
    **dict.fromkeys(("decode", "wrap"), Operation(("format",))),
    "nearest": Operation(ROUNDED),
    "select": Operation((), ("nan", "inf", "zero", "neg", "lt", "le", "ge")),
    "sum": Operation(("rounding",), ORDERS[:-1]),
    "transform": Operation(("transform",)),
}
NAME_OF: Final = {getattr(lib, f"EMU_OP_{name.upper()}"): name for name in OPERATIONS}

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

    things: formats, roundings, policies (for the formats among them; without one, for every format that the policy covers), transforms,
    blocks, layouts, recipes, datapaths.
    Returns: ASCII text, which C has loaded.   Exactness: the C reference computes from it what it computes from the objects, bit for bit.
    Raises: EngineError (a limit of the C reference, a kind that no descriptor holds, too long).
    Source: docs/descriptors.md.   Tests: tests/engines/c_ref/test_c_descriptor.py.
    """
    given = list(things)
    writer = _Writer(tuple(thing for thing in given if isinstance(thing, Format)))
    for thing in sorted(given, key=lambda thing: not isinstance(thing, Format)):
        writer.add(thing)
    text = writer.text()
    _check(text)
    return text


def _check(text: str) -> None:
    """Load a text as a reader of C does, whose limits are the only ones. Raises: EngineError (the object, and what C says)."""
    try:
        Library(text)
    except SpecError as error:
        line, _, why = str(error).removeprefix("descriptor line ").partition(": ")
        raise EngineError(f"{_object_at(text.splitlines()[: int(line)])}: the C reference refuses line {line} of it: {why}") from error


def _object_at(lines: list[str]) -> str:
    """Return the kind and id of the object to which the last of the lines of a descriptor belongs."""
    section, found = -1, "descriptor"
    for key, _, rest in (line.partition(" ") for line in lines):
        if key in SECTIONS[section + 1 :]:
            section = SECTIONS.index(key)
        elif section >= 0 and (key == KINDS[section] or (key == "levels" and KINDS[section] == "datapath")):
            found = f"{KINDS[section]}/{rest.split(' ')[0]}"
    return found


class _Writer:
    """Objects by kind and id, each written once, and what the structs that point to them hold."""

    def __init__(self, wanted: tuple[Format, ...]) -> None:
        self.wanted = wanted
        self.keep: list[Descriptor] = []
        self.objects: dict[str, dict[Any, list[str]]] = {kind: {} for kind in KINDS}

    def pointer(self, made: Descriptor) -> Any:
        """Return the struct of a descriptor, whose memory stays as long as the writer."""
        self.keep.append(made)
        return made.pointer

    def text(self) -> str:
        """Return the whole file."""
        lines = [f"emu descriptor {VERSION}"]
        for kind, section in zip(KINDS, SECTIONS, strict=True):
            bodies = sorted(self.objects[kind].values(), key=lambda body: body[0].startswith("levels "))  # behind the fused datapaths
            lines += [f"{section} {len(bodies)}", *(line for body in bodies for line in body)]
        text = "\n".join([*lines, ""])
        return f"{text}end {sha256(text.encode('ascii')).hexdigest()}\n"

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
        pointer = self.pointer(format_descriptor(fmt))
        self.put("format", fmt.id, lambda: [f"format {fmt.id}", *_format_lines(pointer)])
        return pointer

    def rounding(self, rounding: Rounding) -> None:
        """Add a rounding."""
        fp32: Format = get("format", "fp32")
        pointer = rounding_descriptor(rounding, fp32, format_descriptor(fp32))
        self.put("rounding", rounding.id, lambda: [f"rounding {rounding.id}", *_rounding_lines(pointer), *_word_lines(rounding)])

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

    def transform(self, transform: Transform) -> None:
        """Add a rotation. Raises: EngineError (a limit of the C reference)."""
        pointer = self.pointer(transform_descriptor(transform, checked=False))
        body = [f"transform {transform.id}", *_lines(pointer, TRANSFORM, self.named)]
        self.put("transform", transform.id, lambda: body)

    def block(self, block: Block) -> None:
        """Add a block format: its tile, elements and levels."""
        self.put("block", block.id, lambda: list(self.block_lines(block)))

    def block_lines(self, block: Block) -> Iterator[str]:
        """Yield the lines of a block; its formats are added."""
        for name in (*block.element_formats, *(level.format for level in block.facts.levels)):
            self.format(get("format", name))
        yield from (f"block {block.id}", f"tile {block.facts.shape[0]} {block.facts.shape[1]}")
        yield f"elements {' '.join(get('format', name).id for name in block.element_formats)}"
        yield f"level_count {len(block.facts.levels)}"
        for level in block.facts.levels:
            extent = extent_of(level.granularity, block)
            yield f"level {level.name} {get('format', level.format).id} {extent.rows} {extent.columns}"

    def layout(self, layout: Layout) -> None:
        """Add an order of codes in memory. Raises: EngineError (a limit of the C reference)."""
        pointer = self.pointer(layout_descriptor(layout, checked=False))
        digits = [
            f"digit {('index', 'row')[item.is_row]}{'_down' * item.down} {item.step} {item.count or 'rest'}"
            for item in pointer.digits[0 : pointer.digit_count]
        ]
        held = [f"holds {('elements', 'scales')[pointer.holds_scales]}", f"code_bits {pointer.code_bits}"]
        self.put("layout", layout.id, lambda: [f"layout {layout.id}", *held, f"digits {len(digits)}", *digits])

    def recipe(self, recipe: Recipe) -> None:
        """Add a recipe: its quantize program and a dequantize program for each profile. Raises: EngineError (a limit of C)."""
        self.block(get("block", recipe.facts.block))
        programs: list[tuple[str | None, Program]] = [(None, quantize_program(recipe))]
        programs += [(profile, dequantize_program(recipe, profile)) for profile in recipe.facts.dequantize]
        body: list[str] = []
        for profile, program in programs:
            made = program_descriptor(recipe, program, checked=False)
            for item in program.instructions:
                if item.rounding is not None:
                    self.rounding(item.rounding)
            if profile is None:
                body += [f"recipe {recipe.id} {program.block.id}", *_lines(made.pointer, RECIPE), f"programs {len(programs)}"]
            body += ["quantize" if profile is None else f"dequantize {profile}", *self.program(program, made)]
        self.put("recipe", recipe.id, lambda: body)

    def program(self, program: Program, made: ProgramDescriptor) -> Iterator[str]:
        """Yield the lines of a program: what it is given, its registers, its steps."""
        found = made.pointer
        yield f"arithmetic {self.named('format', found.arithmetic)}"
        yield f"registers {found.register_count}"
        for item, name in zip(found.registers[0 : found.register_count], found.names[0 : found.register_count], strict=True):
            place = f"{item.rows} {item.columns}"
            yield f"constant {item.bits:#x}" if item.is_constant else f"register {ffi.string(name).decode()} {place}"
        yield from (f"{name} {_number_or_none(getattr(found, name))}" for name in GIVEN)
        yield from (f"level {name} {level.reg}" for name, level in zip(made.levels, found.levels[0 : found.level_count], strict=True))
        yield f"steps {found.step_count}"
        for step, item in zip(found.steps[0 : found.step_count], program.instructions, strict=True):
            yield " ".join(self.step(step, item))

    def step(self, step: Any, item: Instruction) -> Iterator[str]:
        """Yield the words of a step: operation, variant, the registers of its result and arguments, and what it says beside them."""
        words = OPERATIONS[item.op]
        yield from ("step", item.op)
        yield from [words.variants[step.variant]] if words.variants else []
        yield from (str(step.out), *(str(reg) for reg in step.args if reg >= 0))
        for part in words.says:
            yield from self.said(part, step, item)

    def said(self, part: str, step: Any, item: Instruction) -> tuple[str, ...]:
        """Return the words of one part of a step."""
        if part == "format":
            return (self.named("format", step.format),)
        if part == "rounding":
            assert item.rounding is not None
            return (item.rounding.id,)
        if part == "random":
            return (_number_or_none(step.random),)
        if part == "emax":
            return str(step.emax), str(step.frac_bits)
        if part == "transform":
            chosen: Transform = get("transform", item.step.transform)
            self.transform(chosen)
            return (chosen.id,)
        policy = step.policy
        return next(_lines(policy, POLICY[:1])).split(" ")[1], _value(policy.nan, "special"), _value(policy.overflow_nan, "special")

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
        found = self.pointer(unchecked_descriptor(next(iter(level_plans_of(model)))))  # choices differ in their operands alone
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
        yield from (f"level {ffi.string(level.name).decode()}", *_lines(level, LEVEL))
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
            if tuple(body[1 : 1 + len(lines)]) == lines:
                return body[0].split(" ")[1]
        for name in names(kind):
            other = _Writer(())
            with suppress(EmuError):
                other.add(get(kind, name))
                if tuple(other.objects[kind][name][1 : 1 + len(lines)]) == lines:
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
    yield "beyond_max " + " ".join(("max", "away", "odd_code")[word] for word in pointer.beyond_max)


def _word_lines(rounding: Rounding) -> Iterator[str]:
    """Yield how elements share the random words of a rounding."""
    word = rounding.facts.random
    if not isinstance(word, Word):
        yield "word 0 0"
        return
    yield f"word {word.lanes} {word.word}"
    places, bits = lane_places(word), rounding.random_bits
    yield from ("lane " + " ".join(map(str, places[lane * bits : (lane + 1) * bits])) for lane in range(word.lanes))


def _number_or_none(register: int) -> str:
    return "none" if register < 0 else str(register)


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
        return " ".join(SPECIAL.get(item.rule, f"{item.code:#x}{AFTER.get(item.rule, '')}") for item in pair)
    if isinstance(kind, tuple):
        return str(kind[value])
    if kind == "hex" and isinstance(value, ffi.CData):
        return " ".join(f"{item:#x}" for item in value)
    return f"{value:#x}" if kind == "hex" else str(value)
