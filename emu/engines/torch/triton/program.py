"""Recipes and transforms as compile-time tuples for the device interpreter (machine.py). Every number comes from the loaded spec.

A step is (operation, arguments by number, facts). Numbers 0 and 1 are x and tensor_amax. What no kernel does raises EngineError.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from emu.base.caches import Cache
from emu.base.errors import EngineError
from emu.spec import derive, digest
from emu.spec.ieee import binary_format, is_binary32, is_single
from emu.spec.models import Format, Recipe, Rounding, Transform
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.models.rounding import LostPart, PerElement
from emu.spec.programs.program import Program, cast_entry, quantize_program
from emu.spec.programs.types import ELEMENT, TENSOR, Constant, Extent, Instruction, extent_of
from emu.spec.registry import get

Step = tuple[Any, ...]
WORDS: Final = {"keep": 0, "next": 1, "to_even_code": 2, "to_odd_code": 3}
GIVEN: Final = ("x", "tensor_amax")
NONE: Final = -1


class KernelProgram(NamedTuple):
    """What the quantize kernels run.

    steps: tuples for the machine.   codes: number of the element codes.   levels: (number, is a code, one per tensor) of each level.
    lanes: elements of a block.   random_bits: what each element draws, 0: nothing.   may_open: some NaN has no known code.
    """

    steps: tuple[Step, ...]
    codes: int
    levels: tuple[tuple[int, bool, bool], ...]
    lanes: int
    random_bits: int
    may_open: bool


_programs: Cache[str, KernelProgram] = Cache("emu.engines.torch.triton.program._programs", 512)


def kernel_program(recipe: Recipe) -> KernelProgram:
    """Return the program of a recipe. Raises: EngineError (the kernels have no such step), SpecError (a bad program)."""
    key = digest(recipe)
    if key not in _programs:
        _programs[key] = _Lowering(recipe).program()
    return _programs[key]


class _Lowering:
    """Names to numbers, instructions to tuples."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.checked: Program = quantize_program(recipe)
        self.numbers = {name: number for number, name in enumerate(GIVEN)}
        self.constants: dict[int, int] = {}
        self.steps: list[Step] = []

    def program(self) -> KernelProgram:
        """Return the whole program. Raises: EngineError."""
        checked = self.checked
        rows, lanes = checked.block.facts.shape
        is_plain = rows == 1 and checked.block.is_alone and not lanes & (lanes - 1)
        self.require(is_plain and is_binary32(checked.arithmetic), "its block or its arithmetic")
        block = Extent(1, lanes)
        for item in checked.instructions:
            self.require(item.type.extent in (TENSOR, block, ELEMENT), f"step {item.out}: its place")
            step = self.step(item)
            self.numbers[item.out] = self.append(step)
        levels = []
        for level in checked.block.facts.levels:
            extent, name = extent_of(level.granularity, checked.block), checked.outputs[level.name]
            self.require(extent in (TENSOR, block), f"level {level.name}: its place")
            self.require(extent == TENSOR or checked.types[name].extent == block, f"level {level.name}: coarser than a block")
            levels.append((self.numbers[name], checked.types[name].is_code, extent == TENSOR))
        self.require(len(levels) <= 2, "three levels")
        draws = {item.rounding.random_bits for item in checked.instructions if item.rounding is not None}
        may_open = any(step[0] == "cast" and step[2] == "float" and step[3][6] < 0 for step in self.steps)
        return KernelProgram(
            tuple(self.steps), self.numbers[checked.outputs["codes"]], tuple(levels), lanes, max(draws, default=0), may_open
        )

    def require(self, condition: bool, what: str) -> None:
        """Raise EngineError unless the kernels can do this."""
        if not condition:
            raise EngineError(f"recipe {self.recipe.id}: the Triton kernels cannot do {what}: use another engine")

    def append(self, step: Step) -> int:
        """Add a step; return the number of its result."""
        self.steps.append(step)
        return len(GIVEN) + len(self.steps) - 1

    def argument(self, arg: Any) -> int:
        """Return the number of an argument; a constant becomes a step of its own."""
        if isinstance(arg, Constant):
            if arg.bits not in self.constants:
                self.constants[arg.bits] = self.append(("const", arg.bits))
            return self.constants[arg.bits]
        return self.numbers[arg]

    def step(self, item: Instruction) -> Step:
        """Return one instruction as a tuple. Raises: EngineError."""
        op, args = item.op, [self.argument(arg) for arg in item.args]
        if op in ("add", "sub", "mul", "div"):
            self.require(is_single(item.to, item.rounding), op)
            return (op, *args)
        if op in ("min", "max"):
            return (op, *args, item.step.nan == "drop")
        if op in ("abs", "neg"):
            return (op, args[0], args[0])
        if op == "clamp":
            return (op, *args, item.step.nan == "drop")
        if op == "select":
            tested = args[:-2]
            return (op, item.step.test, tested[0], tested[-1], *args[-2:])
        if op == "amax":
            self.require(item.type.extent.columns != 0, "amax over more than a block")
            return (op, args[0], item.step.nan == "drop")
        if op == "e8m0_rule":
            return (op, args[0], item.step.rule, item.step.emax or 0, item.step.frac_bits or 0)
        if op == "transform":
            return ("rotate", args[0], rotation(get("transform", item.step.transform)))
        if op in ("cast", "decode"):
            assert item.to is not None
            return self.cast(item, args[0]) if op == "cast" else (op, args[0], *decode_facts(item.to))
        raise EngineError(f"recipe {self.recipe.id}: step {item.out}: the Triton kernels have no {op}: use another engine")

    def cast(self, item: Instruction, arg: int) -> Step:
        """Return a cast as a tuple. Raises: EngineError."""
        assert item.to is not None and item.rounding is not None
        fmt, entry, facts = item.to, cast_entry(item), item.to.facts
        plain = entry.overflow in ("saturate", "wrap") and entry.inf is None and entry.zero is None and entry.negative is None
        self.require(plain and entry.nan[0] == entry.nan[1], f"step {item.out}: its policy")
        positive, negative, bits = rounding_words(item.rounding)
        known = derive.codes(fmt)
        if isinstance(facts, ExponentFacts):
            self.require(entry.overflow == "saturate" and entry.nan[0] >= 0 and not bits, f"step {item.out}: its policy")
            return ("cast", arg, "exponent", (facts.bias, positive, known.max_code, entry.nan[0]), False)
        grid = grid_of(fmt)
        kept = (1 << known.bits) - 1 if entry.overflow == "wrap" else 0
        self.require(known.has_zero and (known.neg_zero or not known.sign_bit) and known.bits <= 8, f"step {item.out}: {fmt.id}")
        return ("cast", arg, "float", (grid, positive, negative, bits, known.max_code, known.sign_bit, entry.nan[0], kept), bool(bits))


def grid_of(fmt: Format) -> tuple[int, int]:
    """Return (fraction bits, lowest exponent) of a float grid or of whole numbers in sign and magnitude. Raises: EngineError."""
    facts = fmt.facts
    if isinstance(facts, FloatFacts) and facts.subnormals == "yes":
        return facts.frac_bits, 1 - facts.bias
    if isinstance(facts, IntegerFacts) and facts.signed == "sign_magnitude":
        frac_bits = derive.codes(fmt).magnitude_bits  # every code is a subnormal
        return frac_bits, facts.unit_exp + frac_bits
    raise EngineError(
        f"format {fmt.id}: the Triton kernels round to floats with subnormals and sign-magnitude integers: use another engine"
    )


def rounding_words(rounding: Rounding) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the choices for positive and negative magnitudes, and the random bits. Raises: EngineError."""
    facts = rounding.facts
    if facts.add is not None:
        if facts.add != "add" or not isinstance(facts.random, PerElement) or facts.random.per_element > 16:
            raise EngineError(f"rounding {rounding.id}: the Triton kernels add up to 16 random bits per element: use another engine")
        return (0, 0, 0), (0, 0, 0), facts.random.per_element

    def words(part: LostPart | None) -> tuple[int, ...]:
        assert part is not None
        return WORDS[part.less_than_half], WORDS[part.half], WORDS[part.more_than_half]

    return words(facts.magnitude or facts.positive), words(facts.magnitude or facts.negative), 0


def decode_facts(fmt: Format) -> tuple[str, tuple[int, ...]]:
    """Return the class of a format and what decoding it takes. Raises: EngineError (outside binary32, or NaN codes with gaps)."""
    found = _decoded.get(fmt.facts_digest)
    return found if found is not None else _decoded.keep(fmt.facts_digest, _decode_facts(fmt))


_decoded: Cache[str, tuple[str, tuple[int, ...]]] = Cache("emu.engines.torch.triton.program._decoded", 256)


def _decode_facts(fmt: Format) -> tuple[str, tuple[int, ...]]:
    facts, known = fmt.facts, derive.codes(fmt)
    if isinstance(facts, ExponentFacts):
        if known.nan not in ((), ((1 << facts.bits) - 1,)) or facts.bits > 8:
            raise EngineError(f"format {fmt.id}: the Triton kernels know no such powers of two: use another engine")
        return "exponent", (facts.bias, known.nan[0] if known.nan else NONE)
    if not isinstance(facts, FloatFacts) or facts.subnormals == "no" or isinstance(facts, CodebookFacts | IntegerFacts):
        raise EngineError(f"format {fmt.id}: the Triton kernels decode floats with subnormals and powers of two: use another engine")
    inf = NONE if known.inf is None else known.inf
    if facts.nan == "ieee":
        first = inf + 1
    else:
        magnitudes = sorted(code & ~known.sign_bit for code in known.nan)
        first = magnitudes[0] if magnitudes else NONE
        if magnitudes and first <= known.max_code:
            raise EngineError(f"format {fmt.id}: its NaN codes lie between numbers: use another engine")
    fits = facts.frac_bits <= 23 and facts.bias <= 127 and (facts.bias == 127) == (facts.exp_bits == 8)
    if not fits:
        raise EngineError(f"format {fmt.id}: its values are not all binary32 numbers: use another engine")
    return "float", (facts.frac_bits, facts.bias, known.sign_bit, inf, first)


def rotation(transform: Transform) -> Step:
    """Return (order of additions, power of two of the scale, grid of the result) of a transform. Raises: EngineError."""
    facts = transform.facts
    scale = derive.parse_exact(facts.scale)
    power = scale.numerator.bit_length() - scale.denominator.bit_length()
    result: Format = get("format", facts.result)
    single = is_binary32(get("format", facts.sum_format))
    if facts.size != 16 or facts.matrix != "hadamard_sylvester" or not single or derive.parse_exact(f"2^{power}") != scale:
        raise EngineError(f"transform {transform.id}: the Triton kernels rotate 16 elements in binary32: use another engine")
    if facts.sum not in ("butterfly", "sequential", "exact") or binary_format(result) not in ("binary32", "bfloat16"):
        raise EngineError(f"transform {transform.id}: the Triton kernels know no sum {facts.sum} to {facts.result}: use another engine")
    return facts.sum, power, () if is_binary32(result) else grid_of(result)
