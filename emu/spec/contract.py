"""Contracts: the string that fixes every bit of an operation. One parser, one formatter, and the list of all of them.

decode/<format>   convert/<dst>/<rounding>/<policy>   quantize/<recipe>   dequantize/<recipe>/<profile>   transform/<transform>
dot/<datapath>   accumulate/<datapath>   followed, where the datapath leaves them free, by /<a>x<b>, /<scale format> and /<block size>
layout/<block>/<layout>   insn/<instruction>: the id of a form, then
an answer to each of its open questions
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from emu.base.errors import OpenError, SpecError
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, known_facts, plans_of, resolve
from emu.spec.instruction import all_forms, find_form, questions
from emu.spec.models import Block, Datapath, Format, Layout, Policy, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.common import digest_json
from emu.spec.models.format import CodebookFacts
from emu.spec.programs.program import dequantize_program, quantize_program
from emu.spec.registry import digest, get, names

OPERATIONS = {
    "decode": ("format",),
    "convert": ("format", "rounding", "policy"),
    "quantize": ("recipe",),
    "dequantize": ("recipe", "profile"),
    "transform": ("transform",),
    "dot": ("datapath",),
    "accumulate": ("datapath",),
    "layout": ("block", "layout"),
    "insn": ("form",),
}
CHOOSING = ("dot", "accumulate")  # more parts may follow: what the datapath leaves free
PLAIN = {"dequantize": 1, "insn": 0}  # from this part on the parts are names inside the object, not objects


@dataclass(frozen=True)
class Contract:
    """One operation with everything that decides its bits.

    op: a key of OPERATIONS.   parts: canonical ids (never aliases), in the order of the string.
    """

    op: str
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join((self.op, *self.parts))

    @property
    def spec(self) -> tuple[str, ...]:
        """The spec objects it names, as "kind/id"; of a datapath the formats of its operands too."""
        if self.op in CHOOSING:
            plan = plan_of(self)
            formats = dict.fromkeys(fmt.id for fmt in (plan.a, plan.b, plan.scale, plan.c, plan.d) if fmt is not None)
            return (f"datapath/{plan.datapath.id}", *(f"format/{name}" for name in formats))
        if self.op == "insn":
            return (f"instruction/{find_form(self.parts[0])[0].id}",)
        return tuple(f"{kind}/{part}" for kind, part in zip(OPERATIONS[self.op], self.parts, strict=True) if kind != "profile")

    @property
    def objects(self) -> tuple[SpecObject, ...]:
        """The models of `spec`."""
        return tuple(get(*name.split("/")) for name in self.spec)

    @property
    def spec_sha256(self) -> str:
        """sha256 of the resolved facts that the contract depends on: no titles, sources, comments, nor other entries of a policy."""
        if self.op in CHOOSING:
            return digest_json([self.op, *_chosen(plan_of(self))])
        if self.op == "layout":
            return digest_json([self.op, *_stored(*self.objects)])
        facts = [_resolved(item, self.parts[0]) if isinstance(item, Policy) else digest(item) for item in self.objects]
        return digest_json([self.op, *facts, *self.parts[PLAIN.get(self.op, len(self.parts)) :]])


def _resolved(policy: Policy, destination: str) -> list[object]:
    """Return a policy's entry for one destination with every outcome as a code."""
    entry = derive.policy_entry(policy, get("format", destination))
    return [entry.overflow, entry.nan, entry.overflow_nan, entry.inf, entry.zero, entry.negative]


def _stored(block: SpecObject, layout: SpecObject) -> list[object]:
    """Return what decides the places of a block's codes: the order, and how many elements share a scale."""
    assert isinstance(block, Block) and isinstance(layout, Layout)
    return [digest(layout), block.facts.shape[1] if layout.facts.holds == "elements" else 1]


def fits(block: Block, layout: Layout) -> bool:
    """Tell whether a block's codes can lie so: elements by the packing that it states, scales of blocks in codes of the same width."""
    if layout.facts.holds == "elements":
        return block.facts.packing == layout.id
    scales = [get("format", level.format) for level in block.facts.levels if level.granularity == "block"]
    return bool(scales) and derive.codes(scales[-1]).bits + derive.unused_high_bits(scales[-1]) == layout.facts.code_bits


def _chosen(plan: DatapathPlan) -> list[object]:
    """Return the facts of a plan, without the operands that it did not choose."""
    facts = plan.datapath.facts_json()
    kept = {key: value for key, value in facts.items() if key not in ("a", "b", "c", "d", "pairs")}
    kept["scale"] = {key: value for key, value in facts["scale"].items() if key not in ("formats", "blocks")}
    formats = [None if fmt is None else digest(fmt) for fmt in (plan.a, plan.b, plan.scale, plan.c, plan.d)]
    roundings = [digest(get(kind, name)) for kind, name, _ in plan.datapath.references() if kind == "rounding"]
    return [kept, *formats, plan.block, roundings]


def plan_of(contract: Contract) -> DatapathPlan:
    """Return the plan of a dot or accumulate contract. Raises: SpecError (a choice that is not offered), OpenError (unknown datapath)."""
    return _plan_of("/".join((contract.op, *contract.parts)), contract.parts)


def _plan_of(text: str, parts: Sequence[str]) -> DatapathPlan:
    model: Datapath = get("datapath", parts[0])
    known_facts(model)
    chosen: dict[str, str] = {}
    for part in parts[1:]:
        pair = _pair(part)
        found = {"block": part} if part.isdigit() else {"a": pair[0], "b": pair[1]} if pair else {"scale": part}
        if chosen.keys() & found.keys():
            raise SpecError(f"contract {text!r}: {part!r} chooses again: write <a>x<b>, <scale format> and <block size> once each")
        chosen |= found
    block = int(chosen["block"]) if "block" in chosen else None
    return resolve(model, chosen.get("a"), chosen.get("b"), chosen.get("scale"), block)


def _pair(text: str) -> tuple[str, str] | None:
    """Return the two formats of "<a>x<b>"; None for a text that is a format, or that has no two sides."""
    if _is_format(text):
        return None
    sides = [(text[:place], text[place + 1 :]) for place, letter in enumerate(text) if letter == "x" and 0 < place < len(text) - 1]
    return next((pair for pair in sides if all(map(_is_format, pair))), sides[0] if sides else None)


def _is_format(text: str) -> bool:
    try:
        get("format", text)
    except SpecError:
        return False
    return True


def parse(text: str) -> Contract:
    """Return the contract of a string; aliases become ids.

    Raises: SpecError (unknown operation, wrong number of parts, unknown id, a policy without an entry for the destination).
    """
    op, *parts = text.split("/")
    if op not in OPERATIONS:
        near = difflib.get_close_matches(op, OPERATIONS, n=1)
        raise SpecError(
            f"contract {text!r}: operation {op!r} is unknown: "
            + (f"did you mean {near[0]}?" if near else f"one of {', '.join(OPERATIONS)}")
        )
    kinds = OPERATIONS[op]
    if op in CHOOSING and parts:
        return Contract(op, tuple(_plan_of(text, parts).name.split("/")))
    if op == "insn" and parts:
        return _instruction(text, parts)
    if len(parts) != len(kinds):
        more = "[/<a>x<b>][/<scale format>][/<block size>]" if op in CHOOSING else ""
        raise SpecError(f"contract {text!r}: write {op}/" + "/".join(f"<{kind}>" for kind in kinds) + more)
    ids = tuple(_id(kind, part) for kind, part in zip(kinds, parts, strict=True))
    contract = Contract(op, ids)
    check(contract)
    return contract


def _instruction(text: str, parts: Sequence[str]) -> Contract:
    """Return the contract of a form. Raises: SpecError (answers to what is not open, or some of them missing)."""
    family, form = find_form(parts[0])
    asked = questions(family, form)
    fits = len(parts) == 1 or (
        len(parts) - 1 == len(asked) and all(part in options for part, options in zip(parts[1:], asked.values(), strict=True))
    )
    if not fits:
        wanted = "".join(f"/<{key}: {', '.join(options) or 'no answer is known'}>" for key, options in asked.items())
        raise SpecError(f"contract {text!r}: write insn/{form.id}{wanted}")
    return Contract("insn", (form.id, *parts[1:]))


def _id(kind: str, part: str) -> str:
    """Return the canonical id of one part."""
    if kind == "form":
        return find_form(part)[1].id
    return part if kind == "profile" else str(get(kind, part).id)


def check(contract: Contract) -> None:
    """Refuse a combination that has no meaning. Raises: SpecError."""
    if contract.op in CHOOSING:
        plan_of(contract)
        return
    objects = contract.objects
    if isinstance(objects[-1], Layout):
        block, layout = objects
        assert isinstance(block, Block)
        if not fits(block, objects[-1]):
            held = objects[-1].facts
            raise SpecError(f"{contract}: {layout.id} holds {held.holds} of {held.code_bits} bits, {block.id} has none")
    if isinstance(objects[0], Recipe):
        quantize_program(objects[0]) if contract.op == "quantize" else dequantize_program(objects[0], contract.parts[1])
    if contract.op == "convert":
        fmt, rounding, policy = objects
        assert isinstance(fmt, Format) and isinstance(rounding, Rounding) and isinstance(policy, Policy)
        derive.policy_entry(policy, fmt)
        if isinstance(fmt.facts, CodebookFacts) and derive.needs_code_order(rounding):
            raise SpecError(f"{contract}: {rounding.id} needs a format with a regular grid, {fmt.id} is a codebook")


def contracts() -> Iterator[Contract]:
    """Yield every contract of the registry, sorted by operation and ids: shipped spec and loaded folders."""
    for fmt in names("format"):
        yield Contract("decode", (fmt,))
    for fmt in names("format"):
        for rounding in names("rounding"):
            for policy in names("policy"):
                contract = Contract("convert", (fmt, rounding, policy))
                if _has_meaning(contract):
                    yield contract
    for name in names("recipe"):
        yield Contract("quantize", (name,))
        recipe: Recipe = get("recipe", name)
        yield from (Contract("dequantize", (name, profile)) for profile in recipe.facts.dequantize)
    for name in names("transform"):
        transform: Transform = get("transform", name)
        yield Contract("transform", (transform.id,))
    for op in CHOOSING:
        yield from (Contract(op, tuple(plan.name.split("/"))) for plan in plans())
    for block in names("block"):
        yield from (Contract("layout", (block, name)) for name in names("layout") if fits(get("block", block), get("layout", name)))


def plans() -> Iterator[DatapathPlan]:
    """Yield every plan of the registry: each known datapath with each choice of operands, scale format and block size."""
    for name in names("datapath"):
        with suppress(OpenError):
            yield from plans_of(name)


def instruction_contracts() -> Iterator[Contract]:
    """Yield the contract of every form of every instruction, family by family, open questions unanswered. Not among `contracts()`."""
    for _, form in all_forms():
        yield Contract("insn", (form.id,))


def vector_instructions() -> Iterator[Contract]:
    """Yield the contracts of instructions that have vectors: each answer of an open form; no products, whose rows are those of dot."""
    for family, form in all_forms():
        if form.facts.performs != "mma":
            for answers in product(*questions(family, form).values()):
                yield Contract("insn", (form.id, *answers))


def is_product(text: str) -> bool:
    """Tell whether a contract is that of an instruction which multiplies matrices. Raises: as parse."""
    contract = parse(text)
    return contract.op == "insn" and find_form(contract.parts[0])[1].facts.performs == "mma"


def _has_meaning(contract: Contract) -> bool:
    try:
        check(contract)
    except SpecError:
        return False
    return True
