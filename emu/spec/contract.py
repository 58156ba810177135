"""Contracts: the string that fixes every bit of an operation. One parser, one formatter, and the list of all of them.

decode/<format>   convert/<dst>/<rounding>/<policy>   quantize/<recipe>   dequantize/<recipe>/<profile>   transform/<transform>
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from emu.errors import SpecError
from emu.spec import derive
from emu.spec.models import Conversion, Format, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.common import digest_json
from emu.spec.models.format import CodebookFacts
from emu.spec.program import dequantize_program, quantize_program
from emu.spec.registry import digest, get, names

OPERATIONS = {
    "decode": ("format",),
    "convert": ("format", "rounding", "conversion"),
    "quantize": ("recipe",),
    "dequantize": ("recipe", "profile"),
    "transform": ("transform",),
}


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
        """The spec objects it names, as "kind/id"."""
        return tuple(f"{kind}/{part}" for kind, part in zip(OPERATIONS[self.op], self.parts, strict=True) if kind != "profile")

    @property
    def objects(self) -> tuple[SpecObject, ...]:
        """The models of `spec`."""
        return tuple(get(*name.split("/")) for name in self.spec)

    @property
    def spec_sha256(self) -> str:
        """sha256 of the resolved facts that the contract depends on: no titles, sources, comments, nor other entries of a policy."""
        facts = [_resolved(item, self.parts[0]) if isinstance(item, Conversion) else digest(item) for item in self.objects]
        return digest_json([self.op, *facts, *(self.parts[1:] if self.op == "dequantize" else ())])


def _resolved(policy: Conversion, destination: str) -> list[object]:
    """Return a policy's entry for one destination with every outcome as a code."""
    entry = derive.policy_entry(policy, get("format", destination))
    return [entry.overflow, entry.nan, entry.overflow_nan, entry.inf, entry.zero, entry.negative]


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
    if len(parts) != len(kinds):
        raise SpecError(f"contract {text!r}: write {op}/" + "/".join(f"<{kind}>" for kind in kinds))
    ids = tuple(part if kind == "profile" else get(kind, part).id for kind, part in zip(kinds, parts, strict=True))
    contract = Contract(op, ids)
    check(contract)
    return contract


def check(contract: Contract) -> None:
    """Refuse a combination that has no meaning. Raises: SpecError."""
    objects = contract.objects
    if isinstance(objects[0], Recipe):
        quantize_program(objects[0]) if contract.op == "quantize" else dequantize_program(objects[0], contract.parts[1])
    if contract.op == "convert":
        fmt, rounding, policy = objects
        assert isinstance(fmt, Format) and isinstance(rounding, Rounding) and isinstance(policy, Conversion)
        derive.policy_entry(policy, fmt)
        if isinstance(fmt.facts, CodebookFacts) and derive.needs_code_order(rounding):
            raise SpecError(f"{contract}: {rounding.id} needs a format with a regular grid, {fmt.id} is a codebook")


def contracts() -> Iterator[Contract]:
    """Yield every contract of the registry, sorted by operation and ids: shipped spec and loaded folders."""
    for fmt in names("format"):
        yield Contract("decode", (fmt,))
    for fmt in names("format"):
        for rounding in names("rounding"):
            for policy in names("conversion"):
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


def _has_meaning(contract: Contract) -> bool:
    try:
        check(contract)
    except SpecError:
        return False
    return True
