"""Contract strings: what fixes every bit of an operation. One parser, one formatter, and the list of all of them.

decode/<format>   convert/<dst>/<rounding>/<policy>   quantize/<recipe>   dequantize/<recipe>/<profile>   transform/<transform>
dot/<datapath>   accumulate/<datapath>   followed, where the datapath leaves them free, by /<a>x<b>, /<scale format> and /<block size>
layout/<block>/<layout>   insn/<instruction>: the id of a form, then an answer to each of its open questions
operate/<operation>/<format>, where a number comes out followed by /<format of the result>/<rounding>/<policy>

Each operation has a Grammar; a new one is registered (emu.contracts). What an operation does with its string is in emu.contracts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Final

from emu.base.errors import OpenError, OperandError, SpecError
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, known_facts, plans_of, resolve
from emu.spec.instruction import all_forms, find_form, questions
from emu.spec.levels import LevelsPlan, level_plans_of, products_of_row, resolve_levels
from emu.spec.models import Block, Datapath, Format, Layout, Policy, Recipe, Rounding, SpecObject
from emu.spec.models.common import digest_json
from emu.spec.models.levels import DatapathLevels
from emu.spec.operations import OPERATIONS, result_of
from emu.spec.programs.program import dequantize_program, quantize_program
from emu.spec.registry import digest, get, knows, names


@dataclass(frozen=True)
class ContractName:
    """One operation with the ids of everything that decides its bits: a contract string, parsed.

    op: a key of GRAMMARS.   parts: canonical ids (never aliases), in the order of the string.
    """

    op: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join((self.op, *self.parts))

    @property
    def spec(self) -> tuple[str, ...]:
        """The spec objects it names, as "kind/id"; of a datapath the formats of its operands too."""
        return GRAMMARS[self.op].spec(self)

    @property
    def objects(self) -> tuple[SpecObject, ...]:
        """The models of `spec`."""
        return tuple(get(*name.split("/")) for name in self.spec)

    @property
    def spec_sha256(self) -> str:
        """sha256 of the resolved facts that the contract depends on: no titles, sources, comments, nor other entries of a policy."""
        return digest_json([self.op, *GRAMMARS[self.op].facts(self)])


@dataclass(frozen=True)
class Grammar:
    """How the contract strings of one operation read: so many parts, each the id of an object of a kind.

    kinds: kinds of spec objects, in order.   inside: trailing kinds whose parts are names inside an object, not objects.
    """

    op: str
    kinds: tuple[str, ...]
    inside: int = 0

    def parse(self, text: str, parts: Sequence[str]) -> ContractName:
        """Return the name of a string's parts; aliases become ids. Raises: SpecError."""
        if len(parts) != len(self.kinds):
            raise SpecError(f"contract {text!r}: write {self.usage}")
        objects = len(self.kinds) - self.inside
        ids = [str(get(kind, part).id) for kind, part in zip(self.kinds[:objects], parts, strict=False)]
        found = ContractName(self.op, (*ids, *parts[objects:]))
        self.check(found)
        return found

    @property
    def usage(self) -> str:
        """The form of a string."""
        return f"{self.op}/" + "/".join(f"<{kind}>" for kind in self.kinds)

    def spec(self, name: ContractName) -> tuple[str, ...]:
        """Return the spec objects as "kind/id"."""
        return tuple(f"{kind}/{part}" for kind, part in zip(self.kinds, name.parts[: len(self.kinds) - self.inside], strict=False))

    def facts(self, name: ContractName) -> list[object]:
        """Return the facts that the bits depend on, as plain data."""
        return [*map(digest, name.objects), *name.parts[len(name.parts) - self.inside :]]

    def check(self, name: ContractName) -> None:
        """Refuse a combination that has no meaning. Raises: SpecError."""

    def every(self) -> Iterator[ContractName]:
        """Yield every contract of the registry, sorted by ids: of an operation of several kinds those that have a meaning."""
        for ids in product(*(names(kind) for kind in self.kinds)):
            found = ContractName(self.op, ids)
            if _has_meaning(found):
                yield found


class _Convert(Grammar):
    """The entry of the policy for one destination, every outcome as a code."""

    def facts(self, name: ContractName) -> list[object]:
        fmt, rounding, policy = name.objects
        assert isinstance(fmt, Format) and isinstance(policy, Policy)
        entry = derive.policy_entry(policy, fmt)
        return [digest(fmt), digest(rounding), entry.outcomes]

    def check(self, name: ContractName) -> None:
        fmt, rounding, policy = name.objects
        assert isinstance(fmt, Format) and isinstance(rounding, Rounding) and isinstance(policy, Policy)
        derive.policy_entry(policy, fmt)
        derive.check_codebook_rounding(fmt, rounding)


def recipes_of_blocks() -> tuple[str, ...]:
    """Return the ids of recipes whose suites are listed: a block is a row. Scales of whole rows, of a tensor or of large tiles are not."""
    return tuple(name for name in names("recipe") if get("block", get("recipe", name).facts.block).is_alone)


class _Quantize(Grammar):
    """A recipe whose program can be read."""

    def check(self, name: ContractName) -> None:
        quantize_program(get("recipe", name.parts[0]))

    def every(self) -> Iterator[ContractName]:
        yield from (ContractName(self.op, (name,)) for name in recipes_of_blocks())


class _Dequantize(Grammar):
    """A recipe and one of its profiles."""

    def check(self, name: ContractName) -> None:
        dequantize_program(get("recipe", name.parts[0]), name.parts[1])

    def every(self) -> Iterator[ContractName]:
        for name in recipes_of_blocks():
            recipe: Recipe = get("recipe", name)
            yield from (ContractName(self.op, (name, profile)) for profile in recipe.facts.dequantize)


class _Choosing(Grammar):
    """A datapath, then what it leaves free."""

    @property
    def usage(self) -> str:
        return super().usage + "[/<a>x<b>][/<scale format>][/<block size>]"

    def parse(self, text: str, parts: Sequence[str]) -> ContractName:
        found = ContractName(self.op, tuple(_any_plan_of(text, parts).name.split("/")))
        self.check(found)
        return found

    def spec(self, name: ContractName) -> tuple[str, ...]:
        plan = any_plan_of(name)
        formats = dict.fromkeys(fmt.id for fmt in (plan.a, plan.b, plan.scale, plan.c, plan.d) if fmt is not None)
        return (f"datapath/{plan.datapath.id}", *(f"format/{fmt}" for fmt in formats))

    def facts(self, name: ContractName) -> list[object]:
        """Return the facts of a plan, without the operands that it did not choose."""
        plan = any_plan_of(name)
        if isinstance(plan, LevelsPlan):
            return _level_facts(plan)
        facts = plan.datapath.facts_json()
        kept = {key: value for key, value in facts.items() if key not in ("a", "b", "c", "d", "pairs")}
        kept["scale"] = {key: value for key, value in facts["scale"].items() if key not in ("formats", "blocks")}
        formats = [None if fmt is None else digest(fmt) for fmt in (plan.a, plan.b, plan.scale, plan.c, plan.d)]
        named = [(path[1] in ("promote", "epilogue"), name) for kind, name, path in plan.datapath.references() if kind == "rounding"]
        roundings = [digest(get("rounding", name)) for _, name in sorted(named, key=lambda pair: pair[0])]  # those that all have, first
        return [kept, *formats, plan.block, roundings]

    def check(self, name: ContractName) -> None:
        plan = any_plan_of(name)
        if isinstance(plan, LevelsPlan):
            products_of_row(plan, self.op == "accumulate")

    def every(self) -> Iterator[ContractName]:
        every: list[DatapathPlan | LevelsPlan] = [*plans(), *level_plans()]
        found = (ContractName(self.op, tuple(plan.name.split("/"))) for plan in every)
        yield from (name for name in found if _has_meaning(name))


def _level_facts(plan: LevelsPlan) -> list[object]:
    """Return the facts of a datapath of levels, without the operands that it did not choose."""
    facts = plan.datapath.facts_json()
    kept = {key: value for key, value in facts.items() if key not in ("a", "b", "c", "pairs", "scale")}
    offered = facts["scale"]
    kept["scale"] = offered if isinstance(offered, str) else {key: offered[key] for key in offered if key not in ("formats", "blocks")}
    formats = [None if fmt is None else digest(fmt) for fmt in (plan.a, plan.b, plan.scale, plan.c, plan.d)]
    named = [digest(get(kind, name)) for kind, name, path in plan.datapath.references() if path[1] not in ("a", "b", "c", "scale")]
    aligned = [level.align for level in plan.levels]
    derived = [None if align is None else (align.frac_bits, align.integer_bits, align.floor) for align in aligned]
    return [kept, *formats, plan.block, named, derived]


class _Layout(Grammar):
    """A block and an order in which its codes can lie."""

    def facts(self, name: ContractName) -> list[object]:
        """Return what decides the places of a block's codes: the order, and how many elements share a scale."""
        block, layout = name.objects
        assert isinstance(block, Block) and isinstance(layout, Layout)
        return [digest(layout), block.facts.shape[1] if layout.facts.holds == "elements" else 1]

    def check(self, name: ContractName) -> None:
        block, layout = name.objects
        assert isinstance(block, Block) and isinstance(layout, Layout)
        if not fits(block, layout):
            held = layout.facts
            raise SpecError(f"{name}: {layout.id} holds {held.holds} of {held.code_bits} bits, {block.id} has none")


class _Instruction(Grammar):
    """A form of an instruction, then an answer to each of its open questions."""

    def parse(self, text: str, parts: Sequence[str]) -> ContractName:
        family, form = find_form(parts[0])
        asked = questions(family, form)
        fits = len(parts) == 1 or (
            len(parts) - 1 == len(asked) and all(part in options for part, options in zip(parts[1:], asked.values(), strict=True))
        )
        if not fits:
            wanted = "".join(f"/<{key}: {', '.join(options) or 'no answer is known'}>" for key, options in asked.items())
            raise SpecError(f"contract {text!r}: write insn/{form.id}{wanted}")
        return ContractName(self.op, (form.id, *parts[1:]))

    def spec(self, name: ContractName) -> tuple[str, ...]:
        return (f"instruction/{find_form(name.parts[0])[0].id}",)

    def facts(self, name: ContractName) -> list[object]:
        return [*map(digest, name.objects), *name.parts]

    def every(self) -> Iterator[ContractName]:
        """Yield nothing: forms have lists of their own, `instruction_contracts` and `vector_instructions`."""
        yield from ()


class _Operate(Grammar):
    """An operation on numbers, the formats of its operands, one for all or one for each, and the projection where a number comes out."""

    @property
    def usage(self) -> str:
        return f"{self.op}/<operation>/<format, or one for each operand: <a>x<b>>[/<format of the result>/<rounding>/<policy>]"

    def parse(self, text: str, parts: Sequence[str]) -> ContractName:
        known = OPERATIONS.get(parts[0])
        if known is None:
            raise SpecError(f"contract {text!r}: operation {parts[0]!r} is unknown: one of {', '.join(OPERATIONS)}")
        if len(parts) != (5 if known.gives == "number" else 2):
            raise SpecError(f"contract {text!r}: write {self.usage}")
        formats = [str(get("format", item).id) for item in ([parts[1]] if knows("format", parts[1]) else parts[1].split("x"))]
        if len(formats) not in (1, known.operands):
            raise SpecError(f"contract {text!r}: {parts[0]} has {known.operands} operands and {len(formats)} formats: name one, or each")
        projected = [str(get(kind, part).id) for kind, part in zip(("format", "rounding", "policy"), parts[2:], strict=False)]
        found = ContractName(self.op, (parts[0], formats[0] if len(set(formats)) == 1 else "x".join(formats), *projected))
        self.check(found)
        return found

    def spec(self, name: ContractName) -> tuple[str, ...]:
        projected = zip(("format", "rounding", "policy"), name.parts[2:], strict=False)
        named = (*(("format", fmt) for fmt in operand_formats(name)), *projected)
        return tuple(dict.fromkeys(f"{kind}/{part}" for kind, part in named))

    def facts(self, name: ContractName) -> list[object]:
        sources = [digest(get("format", fmt)) for fmt in operand_formats(name)]
        if len(name.parts) == 2:
            return [name.parts[0], sources]
        fmt, rounding, policy = (get(kind, part) for kind, part in zip(("format", "rounding", "policy"), name.parts[2:], strict=True))
        return [name.parts[0], sources, digest(fmt), digest(rounding), derive.policy_entry(policy, fmt).outcomes]

    def check(self, name: ContractName) -> None:
        sources: list[Format] = [get("format", fmt) for fmt in operand_formats(name)]
        to, rounding, policy = name.parts[2:] or (None, "rne", None)
        try:
            target, _ = result_of(name.parts[0], sources, to, rounding)
        except OperandError as error:
            raise SpecError(f"{name}: {error}") from None
        if policy is not None:
            derive.policy_entry(get("policy", policy), target)

    def every(self) -> Iterator[ContractName]:
        """Yield nothing: any formats will do; those that have vectors are named where the frozen set is chosen."""
        yield from ()


def operand_formats(name: ContractName) -> tuple[str, ...]:
    """Return the id of the format of each operand of an operate contract."""
    formats = (name.parts[1],) if knows("format", name.parts[1]) else tuple(name.parts[1].split("x"))
    return formats * (OPERATIONS[name.parts[0]].operands if len(formats) == 1 else 1)


GRAMMARS: Final[dict[str, Grammar]] = {
    grammar.op: grammar
    for grammar in (
        Grammar("decode", ("format",)),
        _Convert("convert", ("format", "rounding", "policy")),
        _Quantize("quantize", ("recipe",)),
        _Dequantize("dequantize", ("recipe", "profile"), inside=1),
        Grammar("transform", ("transform",)),
        _Choosing("dot", ("datapath",)),
        _Choosing("accumulate", ("datapath",)),
        _Layout("layout", ("block", "layout")),
        _Instruction("insn", ("form",)),
        _Operate("operate", ("operation",)),
    )
}


def parse(text: str) -> ContractName:
    """Return the contract of a string; aliases become ids.

    Raises: SpecError (unknown operation, wrong number of parts, unknown id, a policy without an entry for the destination).
    """
    op, *parts = text.split("/")
    if op not in GRAMMARS:
        near = difflib.get_close_matches(op, GRAMMARS, n=1)
        raise SpecError(
            f"contract {text!r}: operation {op!r} is unknown: " + (f"did you mean {near[0]}?" if near else f"one of {', '.join(GRAMMARS)}")
        )
    if not parts:
        raise SpecError(f"contract {text!r}: write {GRAMMARS[op].usage}")
    return GRAMMARS[op].parse(text, parts)


def check(name: ContractName) -> None:
    """Refuse a combination that has no meaning. Raises: SpecError."""
    GRAMMARS[name.op].check(name)


def _has_meaning(name: ContractName) -> bool:
    try:
        check(name)
    except SpecError:
        return False
    return True


def contracts() -> Iterator[ContractName]:
    """Yield every contract of the registry, operation by operation, sorted by ids: shipped spec and loaded folders."""
    for grammar in GRAMMARS.values():
        yield from grammar.every()


def plans() -> Iterator[DatapathPlan]:
    """Yield every plan of one fused step: each known datapath with each choice of operands, scale format and block size."""
    for name in names("datapath"):
        with suppress(OpenError):
            yield from plans_of(name)


def level_plans() -> Iterator[LevelsPlan]:
    """Yield every plan of levels: each datapath that is written so, with each choice of operands, scale format and block size."""
    for name in names("datapath"):
        if isinstance(get("datapath", name).facts, DatapathLevels):
            yield from level_plans_of(name)


def instruction_contracts() -> Iterator[ContractName]:
    """Yield the contract of every form of every instruction, family by family, open questions unanswered. Not among `contracts()`."""
    for _, form in all_forms():
        yield ContractName("insn", (form.id,))


def vector_instructions() -> Iterator[ContractName]:
    """Yield the contracts of instructions that have vectors: each answer of an open form; no products, whose rows are those of dot."""
    for family, form in all_forms():
        if form.facts.performs != "mma":
            for answers in product(*questions(family, form).values()):
                yield ContractName("insn", (form.id, *answers))


def is_product(text: str) -> bool:
    """Tell whether a contract is that of an instruction which multiplies matrices. Raises: as parse."""
    contract = parse(text)
    return contract.op == "insn" and find_form(contract.parts[0])[1].facts.performs == "mma"


def plan_of(contract: ContractName) -> DatapathPlan:
    """Return the plan of a dot or accumulate contract of one fused step.

    Raises: SpecError (a choice that is not offered), OpenError (an unknown datapath, or one of levels).
    """
    known_facts(get("datapath", contract.parts[0]))
    plan = any_plan_of(contract)
    assert isinstance(plan, DatapathPlan)
    return plan


def any_plan_of(contract: ContractName) -> DatapathPlan | LevelsPlan:
    """Return the plan of a dot or accumulate contract. Raises: SpecError (a choice that is not offered), OpenError (unknown datapath)."""
    return _any_plan_of("/".join((contract.op, *contract.parts)), contract.parts)


def _any_plan_of(text: str, parts: Sequence[str]) -> DatapathPlan | LevelsPlan:
    model: Datapath = get("datapath", parts[0])
    levels = isinstance(model.facts, DatapathLevels)
    if not levels:
        known_facts(model)
    chosen: dict[str, str] = {}
    for part in parts[1:]:
        pair = _pair(part)
        found = {"block": part} if part.isdigit() else {"a": pair[0], "b": pair[1]} if pair else {"scale": part}
        if chosen.keys() & found.keys():
            raise SpecError(f"contract {text!r}: {part!r} chooses again: write <a>x<b>, <scale format> and <block size> once each")
        chosen |= found
    block = int(chosen["block"]) if "block" in chosen else None
    choose = resolve_levels if levels else resolve
    return choose(model, chosen.get("a"), chosen.get("b"), chosen.get("scale"), block)


def _pair(text: str) -> tuple[str, str] | None:
    """Return the two formats of "<a>x<b>"; None for a text that is a format, or that has no two sides."""
    if knows("format", text):
        return None
    sides = [(text[:place], text[place + 1 :]) for place, letter in enumerate(text) if letter == "x" and 0 < place < len(text) - 1]
    return next((pair for pair in sides if all(knows("format", side) for side in pair)), sides[0] if sides else None)


def fits(block: Block, layout: Layout) -> bool:
    """Tell whether a block's codes can lie so: elements by the packing that it states, scales of blocks in codes of the same width."""
    if layout.facts.holds == "elements":
        return block.facts.packing == layout.id
    scales = [get("format", level.format) for level in block.facts.levels if level.granularity == "block"]
    return bool(scales) and derive.codes(scales[-1]).bits + derive.unused_high_bits(scales[-1]) == layout.facts.code_bits
