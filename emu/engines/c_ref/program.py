"""Recipe programs and transforms -> descriptors of the C reference. Registers are numbered here; nothing is computed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from emu.base.errors import EngineError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptors import Descriptor, format_descriptor, policy_descriptor, rounding_descriptor
from emu.spec import derive
from emu.spec.models import Format, Recipe, Rounding, Transform
from emu.spec.programs.program import Program, cast_entry
from emu.spec.programs.types import Constant, Extent, Instruction, extent_of
from emu.spec.registry import get

OPERATION: Final = {
    name: getattr(lib, f"EMU_OP_{name.upper()}")
    for name in (
        *("add", "sub", "mul", "div", "fma", "abs", "neg", "min", "max", "clamp", "round", "pow2"),
        *("e8m0_rule", "cast", "decode", "select", "amax", "sum", "transform", "log2", "nearest", "wrap"),
    )
}
NAN: Final = {"propagate": lib.EMU_NAN_PROPAGATE, "drop": lib.EMU_NAN_DROP}
BOUND: Final = {"ieee_inf": lib.EMU_BOUNDED, "none": lib.EMU_UNBOUNDED}
ORDER: Final = {
    "exact": lib.EMU_SUM_EXACT,
    "sequential": lib.EMU_SUM_SEQUENTIAL,
    "tree": lib.EMU_SUM_TREE,
    "halves": lib.EMU_SUM_HALVES,
    "butterfly": lib.EMU_SUM_BUTTERFLY,
}
TEST: Final = {name: getattr(lib, f"EMU_TEST_{name.upper()}") for name in ("nan", "inf", "zero", "neg", "lt", "le", "ge")}
RULE: Final = {name: getattr(lib, f"EMU_RULE_{name.upper()}") for name in ("floor", "ceil", "even", "field_up")}
TAIL: Final = {"error": lib.EMU_TAIL_ERROR, "zero_pad_keep": lib.EMU_TAIL_KEEP, "zero_pad_drop": lib.EMU_TAIL_DROP}
WORD_BITS: Final = 64
SIGN_WORDS: Final = 4


class ProgramDescriptor(NamedTuple):
    """An emu_program and the memory it points into; levels: its level names, in the order of the C matrices."""

    pointer: Any
    levels: tuple[str, ...]
    memory: Any


def transform_descriptor(transform: Transform, checked: bool = True) -> Descriptor:
    """Return the emu_transform of a transform. Raises: EngineError when it passes a limit of the C reference, where that is checked."""
    facts = transform.facts
    total, result = (format_descriptor(get("format", name)) for name in (facts.sum_format, facts.result))
    out = ffi.new("emu_transform *")
    out.size, out.order, out.scale_exp = facts.size, ORDER[facts.sum], _power(derive.parse_exact(facts.scale), transform.id)
    out.signs = sign_words(int(facts.signs, 16))
    out.sum_format, out.result = total.pointer, result.pointer
    if checked and lib.emu_check_transform(out):
        raise EngineError(f"{transform.id} passes a limit of the C reference (c_ref/emu_ref.h): use engine='exact'")
    return Descriptor(out, (total, result))


def _power(scale: Fraction, name: str) -> int:
    """Return the exponent of a power of two."""
    if scale <= 0 or scale.numerator & (scale.numerator - 1) or scale.denominator & (scale.denominator - 1):
        raise EngineError(f"{name}: the C reference scales by powers of two only: use engine='exact'")
    return scale.numerator.bit_length() - scale.denominator.bit_length()


def sign_words(signs: int) -> list[int]:
    """Return a sign mask as the 64-bit words of the C reference, the lowest first."""
    return [signs >> WORD_BITS * number & (1 << WORD_BITS) - 1 for number in range(SIGN_WORDS)]


def program_descriptor(recipe: Recipe, program: Program, checked: bool = True) -> ProgramDescriptor:
    """Return the emu_program of a recipe's checked program.

    Raises: EngineError when it passes a limit of the C reference (see emu_ref.h), where that is checked.
    """
    return _Builder(recipe, program, checked).build()


class _Builder:
    """The registers and steps of one program, and every descriptor they point to."""

    def __init__(self, recipe: Recipe, program: Program, checked: bool) -> None:
        self.recipe, self.program, self.checked = recipe, program, checked
        self.formats: dict[str, Descriptor] = {}
        self.roundings: dict[tuple[str, str], Any] = {}
        self.keep: list[Any] = []
        self.numbers: dict[str | Constant, int] = {}
        self.registers: list[dict[str, int]] = []
        self.names: list[Any] = []

    def build(self) -> ProgramDescriptor:
        """Number the registers, fill the steps and check the whole."""
        program, facts = self.program, self.recipe.facts
        for name in program.given:
            if program.reads(name) or name in self.level_names or name == "codes":
                self.register(name, program.given[name].extent)
        steps = [self.step(item) for item in program.instructions]
        levels = [self.level(level) for level in program.block.facts.levels]
        out = ffi.new("emu_program *")
        out.arithmetic = self.format(program.arithmetic)
        out.tile_rows, out.tile_columns = program.block.facts.shape
        out.tail, out.finite_only = TAIL[facts.tail], facts.domain.non_finite == "no"
        out.tensor_amax_min = int(facts.domain.tensor_amax_min or "0x0", 16)
        out.x, out.tensor_amax, out.random = (self.numbers.get(name, -1) for name in ("x", "tensor_amax", "random"))
        values = program.outputs.get("values")
        out.codes = self.numbers["codes" if values else program.outputs["codes"]]
        out.values = self.numbers[values] if values else -1
        self.keep.append(ffi.new("char *[]", self.names))
        out.names = ffi.cast("char **", self.keep[-1])
        arrays = {"registers": ("emu_register[]", self.registers), "steps": ("emu_step[]", steps), "levels": ("emu_level[]", levels)}
        for name, (kind, items) in arrays.items():
            memory = ffi.new(kind, items)
            self.keep.append(memory)
            setattr(out, name, memory)
        out.register_count, out.step_count, out.level_count = len(self.registers), len(steps), len(levels)
        if self.checked and lib.emu_check_program(out):
            raise EngineError(f"{self.recipe.id} passes a limit of the C reference (c_ref/emu_ref.h): use engine='exact'")
        return ProgramDescriptor(out, self.level_names, (self.keep, self.names, self.formats, self.roundings))

    @property
    def level_names(self) -> tuple[str, ...]:
        """Names of the block's levels, outermost first."""
        return tuple(level.name for level in self.program.block.facts.levels)

    def register(self, name: str | Constant, extent: Extent, bits: int | None = None) -> int:
        """Return the number of a new register."""
        self.numbers[name] = len(self.registers)
        self.names.append(ffi.new("char[]", name.encode()) if isinstance(name, str) else ffi.NULL)
        self.registers.append({"rows": extent.rows, "columns": extent.columns, "is_constant": bits is not None, "bits": bits or 0})
        return self.numbers[name]

    def argument(self, arg: str | Constant) -> int:
        """Return the register of an argument; a constant has one of its own."""
        if isinstance(arg, Constant) and arg not in self.numbers:
            return self.register(arg, Extent(0, 0), arg.bits)
        return self.numbers[arg]

    def format(self, fmt: Format) -> Any:
        """Return the one descriptor of a format."""
        if fmt.facts_digest not in self.formats:
            self.formats[fmt.facts_digest] = format_descriptor(fmt)
        return self.formats[fmt.facts_digest].pointer

    def rounding(self, rounding: Rounding, fmt: Format) -> Any:
        """Return the descriptor of a rounding on the way to a format."""
        key = (rounding.facts_digest, fmt.facts_digest)
        if key not in self.roundings:
            self.format(fmt)
            self.roundings[key] = rounding_descriptor(rounding, fmt, self.formats[fmt.facts_digest])
        return self.roundings[key]

    def step(self, item: Instruction) -> dict[str, Any]:
        """Return the emu_step of an instruction."""
        if item.op not in OPERATION:
            raise EngineError(f"{self.recipe.id}: step {item.out}: the C reference has no operation {item.op}: use engine='exact'")
        args = [self.argument(arg) for arg in item.args]
        random = getattr(item.step, "random", None)
        out = {"operation": OPERATION[item.op], "args": args + [-1] * (4 - len(args)), "random": self.numbers[random] if random else -1}
        out["variant"] = _variant(item)
        if item.op == "e8m0_rule":
            out |= {"emax": item.step.emax or 0, "frac_bits": item.step.frac_bits or 0}
        if item.to is not None and item.op not in ("sum", "log2"):
            out["format"] = self.format(item.to)
        if item.rounding is not None and item.to is not None and item.op != "log2":
            out["rounding"] = self.rounding(item.rounding, self.program.arithmetic if item.op == "nearest" else item.to)
        if item.op == "cast":
            assert item.to is not None
            self.keep.append(policy_descriptor(cast_entry(item), item.to, self.formats[item.to.facts_digest]))
            out["policy"] = self.keep[-1]
        if item.op == "transform":
            self.keep.append(transform_descriptor(get("transform", item.step.transform), self.checked))
            out["transform"] = self.keep[-1].pointer
        out["out"] = self.register(item.out, item.type.extent)
        return out

    def level(self, level: Any) -> dict[str, Any]:
        """Return the emu_level of a level of the block."""
        extent = extent_of(level.granularity, self.program.block)
        name = self.program.outputs.get(level.name, level.name)
        fmt: Format = get("format", level.format)
        return {"reg": self.numbers[name], "rows": extent.rows, "columns": extent.columns, "format": self.format(fmt)}


def _variant(item: Instruction) -> int:
    """Return the word of a step that tells what its operation does."""
    step = item.step
    tables: Mapping[str, tuple[Mapping[str, int], str]] = {
        **dict.fromkeys(("min", "max", "clamp", "amax"), (NAN, "nan")),
        "round": (BOUND, "overflow"),
        "sum": (ORDER, "order"),
        "select": (TEST, "test"),
        "e8m0_rule": (RULE, "rule"),
    }
    if item.op not in tables:
        return 0
    words, key = tables[item.op]
    return words[getattr(step, key)]
