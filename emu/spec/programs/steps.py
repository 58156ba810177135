"""The operations of recipe programs: one table of what is known of each before anything runs, and the type rules that it names.

A type rule says which arguments an operation takes, where its result lives and what it is. How many arguments there are, and the words of
a step, is in the models (emu.spec.models.recipe). docs/add_an_operation.md goes from here to the engines.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.ieee import is_binary32, is_single, is_within
from emu.spec.models import Block, Format, Rounding, Transform
from emu.spec.models.format import FloatFacts, IntegerFacts
from emu.spec.programs.types import ELEMENT, Argument, Extent, Instruction, Typed, constant, extent_of, meet
from emu.spec.registry import get

Types = Mapping[str, Typed]
_COMPARE = ("lt", "le", "ge")
SEARCHED_BITS: Final = 8
WRAPPED_BITS: Final = 16


def type_step(step: Any, types: Types, arithmetic: Format, rounding: Rounding, block: Block) -> Instruction:
    """Check one step and return it resolved. Raises: SpecError saying what is wrong with it."""
    args = tuple(_resolve(text, types, arithmetic) for text in step.args)
    given = [types[arg] if isinstance(arg, str) else Typed(Extent(0, 0), False, (arithmetic,)) for arg in args]
    typed, to, mode = OPERATIONS[step.op].rule(step, given, arithmetic, rounding, block)
    if step.op == "cast":
        _check_random(step, mode, types)
    return Instruction(step.out, step.op, args, typed, step, to, mode)


def _resolve(text: str, types: Types, arithmetic: Format) -> Argument:
    if text[0] in "-0123456789":
        return constant(text, arithmetic)
    if text not in types:
        raise SpecError(f"{text} is not set before this step" + _nearest(text, types))
    return text


def _nearest(name: str, types: Types) -> str:
    near = difflib.get_close_matches(name, list(types), n=1)
    return f": did you mean {near[0]}?" if near else ""


def _ids(typed: Typed) -> str:
    return " or ".join(item.id for item in typed.formats)


def _what(typed: Typed) -> str:
    """Say in words what a name is."""
    if not typed.formats:
        return "the random operand"
    return f"a {'code' if typed.is_code else 'value'} of {_ids(typed)}"


def _granularity(granularity: Any) -> str:
    return granularity if isinstance(granularity, str) else f"a part of {granularity.sub}"


Result = tuple[Typed, Format | None, Rounding | None]


def _values(step: Any, given: list[Typed]) -> None:
    for name, item in zip(step.args, given, strict=False):
        if item.is_code:
            raise SpecError(
                f"{step.op} takes values, {name} is a code: decode it first"
                if item.formats
                else f"{name} is the random operand: only random of a cast reads it"
            )


def _plain(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    """abs, neg, min, max, clamp, pow2: exact, result at the finest place."""
    _values(step, given)
    return Typed(meet([item.extent for item in given]), False, (arithmetic,)), None, None


def _arithmetic(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    to: Format = get("format", step.to) if step.to else arithmetic
    mode: Rounding = get("rounding", step.round) if step.round else rounding
    derive.arithmetic_entry(to)
    _deterministic(mode)
    _fits(to, arithmetic)
    return Typed(meet([item.extent for item in given]), False, (arithmetic,)), to, mode


def _round(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    to: Format = get("format", step.to)
    mode: Rounding = get("rounding", step.round) if step.round else rounding
    _deterministic(mode)
    if step.overflow == "ieee_inf" or not isinstance(to.facts, IntegerFacts):
        _fits(to, arithmetic)
    if step.overflow == "ieee_inf":
        derive.arithmetic_entry(to)
    return Typed(given[0].extent, False, (arithmetic,)), to, mode


def _reduce(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    extent = extent_of(step.at, block)
    if extent.columns and block.facts.shape[1] % extent.columns:
        raise SpecError(f"at: {extent.columns} does not divide the block of {block.facts.shape[1]}")
    if extent == Extent(0, 0):
        raise SpecError("at: a program does not reduce to the tensor: read tensor_amax")
    if not extent.holds(given[0].extent) or extent == given[0].extent:
        raise SpecError(f"a reduction goes up: {step.args[0]} does not live at a finer place than {_granularity(step.at)}")
    if step.op == "sum":
        if extent.rows != 1 or extent.columns == 0:
            raise SpecError("at: a sum stays inside one block")
        terms = extent.columns // given[0].extent.columns
        if step.order == "tree" and terms & (terms - 1):
            raise SpecError(f"order: a tree sum needs a power of two of terms, not {terms}: say sequential")
        if step.order == "halves" and terms % 2:
            raise SpecError(f"order: a sum of halves needs an even number of terms, not {terms}: say sequential")
        return Typed(extent, False, (arithmetic,)), arithmetic, rounding
    return Typed(extent, False, (arithmetic,)), None, None


def _e8m0_rule(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    if not is_binary32(arithmetic):
        raise SpecError("e8m0_rule reads binary32 fields: arithmetic.to must be fp32")
    needed = {"floor": {"emax"}, "ceil": {"emax"}, "even": {"emax", "frac_bits"}, "field_up": set()}[step.rule]
    if {key for key in ("emax", "frac_bits") if getattr(step, key) is not None} != needed:
        raise SpecError(f"rule {step.rule} states {' and '.join(sorted(needed)) or 'neither emax nor frac_bits'}")
    return Typed(given[0].extent, True, (get("format", "e8m0"),)), None, None


def _cast(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    to: Format = get("format", step.to)
    mode: Rounding = get("rounding", step.round) if step.round else rounding
    derive.check_overflow(step.overflow, to)
    derive.check_codebook_rounding(to, mode)
    if step.nan is not None and int(step.nan, 16) >> derive.codes(to).bits:
        raise SpecError(f"nan {step.nan} has more bits than {to.id}")
    extent = ELEMENT if mode.random_bits else given[0].extent
    return Typed(extent, True, (to,)), to, mode


def _log2(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    if not is_single(arithmetic, rounding):
        raise SpecError("log2 is rounded to binary32, nearest even: arithmetic must be fp32 and rne")
    return Typed(given[0].extent, False, (arithmetic,)), arithmetic, rounding


def _nearest_code(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    to: Format = get("format", step.to)
    _deterministic(rounding)
    if derive.codes(to).bits > SEARCHED_BITS:
        raise SpecError(f"nearest tries every code: {to.id} has more than {SEARCHED_BITS} bits")
    if not is_within(to, arithmetic):
        raise SpecError(f"values of {to.id} do not fit the program's arithmetic {arithmetic.id}")
    return Typed(meet([item.extent for item in given]), True, (to,)), to, rounding


def _wrap(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    to: Format = get("format", step.to)
    if derive.codes(to).bits > WRAPPED_BITS or derive.unused_high_bits(to):
        raise SpecError(f"wrap gives codes of at most {WRAPPED_BITS} bits without unused ones, not {to.id}")
    return Typed(given[0].extent, True, (to,)), to, None


def _check_random(step: Any, mode: Rounding | None, types: Types) -> None:
    draws = mode is not None and mode.random_bits > 0
    assert mode is not None
    if draws and (step.random is None or step.random not in types or types[step.random].formats or not types[step.random].is_code):
        raise SpecError(f'rounding {mode.id} draws: say random: "random"')
    if not draws and step.random is not None:
        raise SpecError(f"rounding {mode.id} draws nothing: remove random")


def _decode(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    if not given[0].is_code or not given[0].formats:
        raise SpecError(f"decode takes a code, {step.args[0]} is {'the random operand' if given[0].is_code else 'a value'}")
    if step.format:
        fmt: Format = get("format", step.format)
    elif len(given[0].formats) == 1:
        fmt = given[0].formats[0]
    else:
        raise SpecError(f"{step.args[0]} is a code of {_ids(given[0])}: say which with format")
    if all(fmt.facts_digest != item.facts_digest for item in given[0].formats):
        raise SpecError(f"{step.args[0]} is a code of {_ids(given[0])}, not of {fmt.id}")
    return Typed(given[0].extent, False, (arithmetic,)), fmt, None


def _select(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    tested = 2 if step.test in _COMPARE else 1
    if len(given) != tested + 2:
        raise SpecError(f"select {step.test} takes {tested + 2} arguments, there are {len(given)}")
    _values(step, given[:tested])
    arms = given[tested:]
    for name, arm in zip(step.args[tested:], arms, strict=True):
        if not arm.formats:
            raise SpecError(f"{name} is the random operand: only random of a cast reads it")
    if arms[0].is_code != arms[1].is_code:
        raise SpecError(f"the arms of select must both be codes or both be values: {_what(arms[0])} and {_what(arms[1])}")
    formats = tuple({item.facts_digest: item for arm in arms for item in arm.formats}.values())
    if arms[0].is_code and len({derive.codes(item).bits for item in formats}) != 1:
        raise SpecError(f"the arms of select are codes of different widths: {_what(arms[0])} and {_what(arms[1])}")
    return Typed(meet([item.extent for item in given]), arms[0].is_code, formats), None, None


def _transform(step: Any, given: list[Typed], arithmetic: Format, rounding: Rounding, block: Block) -> Result:
    _values(step, given)
    transform: Transform = get("transform", step.transform)
    if given[0].extent != ELEMENT:
        raise SpecError(f"transform takes elements, {step.args[0]} is shared by several")
    if block.facts.shape[1] % transform.facts.size:
        raise SpecError(f"a rotation of {transform.facts.size} does not divide the block of {block.facts.shape[1]}")
    _fits(get("format", transform.facts.result), arithmetic)
    return Typed(ELEMENT, False, (arithmetic,)), None, None


def _deterministic(mode: Rounding) -> None:
    if mode.random_bits:
        raise SpecError(f"rounding {mode.id} draws random bits: only cast may")


def _fits(to: Format, arithmetic: Format) -> None:
    """A result is carried in the arithmetic format, so its grid must lie inside that one's."""
    small, large = to.facts, arithmetic.facts
    if not isinstance(small, FloatFacts) or not isinstance(large, FloatFacts):
        raise SpecError(f"{to.id} is no float format")
    lowest = 1 - small.bias - small.frac_bits >= 1 - large.bias - large.frac_bits
    highest = (1 << small.exp_bits) - small.bias <= (1 << large.exp_bits) - large.bias
    if small.frac_bits > large.frac_bits or not lowest or not highest:
        raise SpecError(f"values of {to.id} do not fit the program's arithmetic {arithmetic.id}")


ALL: Final = ("numpy", "torch", "c_ref", "native")
_COMPARISON: Final = {"lt": "<", "le": "<=", "ge": ">="}
Words = Callable[[Any, Sequence[str]], str]


def _sign(sign: str) -> Words:
    return lambda step, args: f"{args[0]} {sign} {args[1]}"


def _select_words(step: Any, args: Sequence[str]) -> str:
    sign = _COMPARISON.get(step.test)
    condition = f"{args[0]} {sign} {args[1]}" if sign else f"{args[0]} is {'negative' if step.test == 'neg' else step.test}"
    return f"{args[-2]} if {condition} else {args[-1]}"


def _decode_words(step: Any, args: Sequence[str]) -> str:
    return f"value of {args[0]}" + (f" as {step.format}" if step.format else "")


def _nearest_words(step: Any, args: Sequence[str]) -> str:
    return f"first code of {step.to} with the least |value * {args[1]} - {args[0]}|"


def _wrap_words(step: Any, args: Sequence[str]) -> str:
    return f"code of {step.to} with the bits of {args[0]}"


@dataclass(frozen=True)
class StepOperation:
    """What is known of an operation before anything runs; one line of the table below.

    rule: its type rule.   engines: who has it beside exact, which has all; the others refuse a program with it in one line.
    exact: the result is never rounded.   may_refuse: some values are refused, so the step runs even where nothing reads it.
    keeps_odd: as a function of one value, compared with even bf16 constants alone, it does the same before and after rounding to odd into
    bf16, so a chain may hold it (lowering.py).   words: the step in words for pages and `emu show`; None: op(arguments).
    """

    rule: Callable[[Any, list[Typed], Format, Rounding, Block], Result]
    engines: tuple[str, ...] = ()
    exact: bool = False
    may_refuse: bool = False
    keeps_odd: bool = False
    words: Words | None = None


OPERATIONS: Final[Mapping[str, StepOperation]] = {
    "amax": StepOperation(_reduce, ALL, exact=True),
    "sum": StepOperation(_reduce, ("numpy", "torch", "c_ref")),
    "add": StepOperation(_arithmetic, ALL, words=_sign("+")),
    "sub": StepOperation(_arithmetic, ALL, words=_sign("-")),
    "mul": StepOperation(_arithmetic, ALL, words=_sign("*")),
    "div": StepOperation(_arithmetic, ALL, words=_sign("/")),
    "fma": StepOperation(_arithmetic, ("numpy", "torch", "c_ref")),
    "abs": StepOperation(_plain, ALL, exact=True, keeps_odd=True),
    "neg": StepOperation(_plain, ALL, exact=True, keeps_odd=True),
    "min": StepOperation(_plain, ALL, exact=True, keeps_odd=True),
    "max": StepOperation(_plain, ALL, exact=True, keeps_odd=True),
    "clamp": StepOperation(_plain, ALL, exact=True, keeps_odd=True),
    "log2": StepOperation(_log2, ("numpy", "torch", "c_ref")),
    "pow2": StepOperation(_plain, ("numpy", "torch", "c_ref"), exact=True, may_refuse=True),
    "round": StepOperation(_round, ("numpy", "torch", "c_ref")),
    "e8m0_rule": StepOperation(_e8m0_rule, ALL),
    "cast": StepOperation(_cast, ALL),
    "nearest": StepOperation(_nearest_code, ("numpy", "torch", "c_ref"), words=_nearest_words),
    "wrap": StepOperation(_wrap, ("numpy", "torch", "c_ref"), exact=True, may_refuse=True, words=_wrap_words),
    "decode": StepOperation(_decode, ALL, exact=True, words=_decode_words),
    "select": StepOperation(_select, ALL, exact=True, keeps_odd=True, words=_select_words),
    "transform": StepOperation(_transform, ALL),
}


def words_of(step: Any, args: Sequence[str]) -> str:
    """Return a step in words. args: its arguments as they are to be shown."""
    words = OPERATIONS[step.op].words
    return f"{step.op}({', '.join(args)})" if words is None else words(step, args)


def compared(item: Instruction) -> tuple[Argument, ...]:
    """Return the arguments that a step compares with one another: of a select those that are tested, else all."""
    return item.args[:-2] if item.op == "select" else item.args


def outputs_of(step: Any, types: Types, block: Block, arithmetic: Format) -> dict[str, str]:
    """Check the emit step; return output -> name. Raises: SpecError."""
    if hasattr(step, "values"):
        _known(step.values, types)
        if types[step.values].is_code or types[step.values].extent != ELEMENT:
            what = _what(types[step.values]) if types[step.values].is_code else "shared by several"
            raise SpecError(f"values must be a value of every element, {step.values} is {what}")
        return {"values": step.values}
    wanted = [level.name for level in block.facts.levels]
    if sorted(step.levels) != sorted(wanted):
        missing, extra = [name for name in wanted if name not in step.levels], [name for name in step.levels if name not in wanted]
        said = [f"{', '.join(names)} {word}" for names, word in ((missing, "missing"), (extra, "unknown")) if names]
        raise SpecError(f"emit names every level of block {block.id}: {'; '.join(said)}")
    _known(step.codes, types)
    elements = {get("format", name).facts_digest for name in block.element_formats}
    typed = types[step.codes]
    if not typed.is_code or not {item.facts_digest for item in typed.formats} <= elements or not typed.formats:
        raise SpecError(f"codes must be a code of {' or '.join(block.element_formats)}, {step.codes} is {_what(typed)}")
    for level in block.facts.levels:
        _check_level(step.levels[level.name], level, types, block, arithmetic)
    return {"codes": step.codes, **{name: step.levels[name] for name in wanted}}


def _known(name: str, types: Types) -> None:
    if name not in types:
        raise SpecError(f"{name} is not set before emit" + _nearest(name, types))


def _check_level(name: str, level: Any, types: Types, block: Block, arithmetic: Format) -> None:
    _known(name, types)
    fmt: Format = get("format", level.format)
    typed = types[name]
    if not typed.extent.holds(extent_of(level.granularity, block)):
        raise SpecError(f"level {level.name} lives at {_granularity(level.granularity)}, {name} is finer")
    same = any(item.facts_digest == fmt.facts_digest for item in typed.formats)
    if typed.is_code != (fmt.facts_digest != arithmetic.facts_digest) or not same:
        raise SpecError(f"level {level.name} is stored in {fmt.id}, {name} is {_what(typed)}")
