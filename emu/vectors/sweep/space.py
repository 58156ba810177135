"""What is swept, out of the spec: every float source of 16 and 32 bits, to every 4-bit format, every rounding, every overflow.

Three kinds. finite: every code of the source for one (format, rounding, overflow word); policies that differ on special values only share
it, so NaN stands for two marker codes there. special: NaN, Inf and zeros of the source under one policy, in every rounding that draws
nothing. random: every code of a 16-bit source, each with the random operands of inputs.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from emu.base.caches import bounded, lazy
from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.contract import ContractName, check
from emu.spec.models import Format, Policy, Recipe, Rounding
from emu.spec.models.common import Overflow, digest_json
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.models.policy import BySign, Entry
from emu.spec.models.recipe import CastStep
from emu.spec.registry import digest, get, names

VERSION: Final = 1  # of the inputs and their order: part of every spec digest
BITS: Final = 4
SOURCE_BITS: Final = (16, 32)
MARKERS: Final = BySign(positive="0x0", negative="0x1")  # what NaN gives in a finite sweep
Kind = Literal["finite", "special", "random"]


@dataclass(frozen=True)
class Sweep:
    """One whole space. policies: whose entry it is; empty for words that only recipes use."""

    kind: Kind
    source: Format
    fmt: Format
    roundings: tuple[Rounding, ...]
    entry: Entry
    label: str
    policies: tuple[str, ...]

    @property
    def name(self) -> str:
        """source/format/rounding/overflow, or special/source/format/policy."""
        if self.kind == "special":
            return f"special/{self.source.id}/{self.fmt.id}/{self.label}"
        return f"{self.source.id}/{self.fmt.id}/{self.roundings[0].id}/{self.label}"

    @lazy
    def policy(self) -> Policy:
        """The entry as a policy that the engines take."""
        base: Policy = get("policy", names("policy")[0])
        return base.model_copy(update={"id": "sweep", "facts": {self.fmt.id: self.entry}})

    @lazy
    def spec_sha256(self) -> str:
        """sha256 of all facts that the codes depend on, and of the way the inputs are laid out."""
        entry = derive.entry_codes(self.entry, self.fmt).outcomes
        return digest_json([VERSION, self.kind, digest(self.source), digest(self.fmt), [digest(one) for one in self.roundings], entry])


def planned() -> tuple[Sweep, ...]:
    """Return every sweep of the registry (shipped spec and loaded folders), in the order they run: what is quick and what decides first."""
    found = [sweep for source in _sources() for fmt in _destinations() for sweep in _of_pair(source, fmt)]
    order = {"special": 0, "finite": 1, "random": 2}
    return tuple(sorted(found, key=lambda sweep: (derive.codes(sweep.source).bits, order[sweep.kind])))


def find(name: str) -> Sweep:
    """Return a planned sweep. Raises: KeyError."""
    kinds = ("format", "policy", "rounding", "recipe")
    return _by_name(tuple((kind, item, digest(get(kind, item))) for kind in kinds for item in names(kind)))[name]


@bounded(1, names=True)
def _by_name(_known: tuple[tuple[str, str, str], ...]) -> dict[str, Sweep]:
    return {sweep.name: sweep for sweep in planned()}


def _sources() -> list[Format]:
    formats: list[Format] = [get("format", name) for name in names("format")]
    return [fmt for fmt in formats if isinstance(fmt.facts, FloatFacts) and derive.codes(fmt).bits in SOURCE_BITS]


def _destinations() -> list[Format]:
    formats: list[Format] = [get("format", name) for name in names("format")]
    return [fmt for fmt in formats if derive.codes(fmt).bits == BITS]


def _roundings(fmt: Format, draws: bool) -> tuple[Rounding, ...]:
    """Return the roundings that have a meaning for a format. A codebook has no random sweep: one engine alone rounds it that way."""
    every: list[Rounding] = [get("rounding", name) for name in names("rounding")]
    codebook = isinstance(fmt.facts, CodebookFacts)
    if codebook:
        every = [rounding for rounding in every if not derive.needs_code_order(rounding)]
    return tuple(rounding for rounding in every if bool(rounding.random_bits) == draws and not (draws and codebook))


def _told_apart(roundings: tuple[Rounding, ...], words: list[tuple[Entry, str, tuple[str, ...]]]) -> tuple[Rounding, ...]:
    """Leave out roundings that differ from another one in where they go beyond the maximum, unless a word for overflow asks for that."""
    if any(derive.asks_beyond(entry.overflow) for entry, _, _ in words):
        return roundings
    first: dict[str, Rounding] = {}
    for rounding in roundings:
        first.setdefault(derive.within_range(rounding), rounding)
    return tuple(first.values())


def _of_pair(source: Format, fmt: Format) -> Iterator[Sweep]:
    words = _words(fmt)
    fixed, drawing = _told_apart(_roundings(fmt, draws=False), words), _roundings(fmt, draws=True)
    for entry, label, policies in _specials(fmt):
        yield Sweep("special", source, fmt, fixed, entry, label, policies)
    for entry, label, policies in words:
        yield from (Sweep("finite", source, fmt, (rounding,), entry, label, policies) for rounding in fixed)
    if derive.codes(source).bits == min(SOURCE_BITS):
        used = [word for word in words if word[2]]  # what lies beyond the maximum does not see the random bits
        for entry, label, policies in used:
            yield from (Sweep("random", source, fmt, (rounding,), entry, label, policies) for rounding in drawing)


def _entries(fmt: Format) -> Iterator[tuple[str, Entry]]:
    """Yield (policy, entry) of every policy that speaks of a format."""
    for name in names("policy"):
        policy: Policy = get("policy", name)
        entry = policy.facts.get(fmt.id) or policy.facts.get("with_nan" if derive.codes(fmt).nan else "without_nan")
        if entry is not None and _has_meaning(fmt, policy):
            yield policy.id, entry


def _has_meaning(fmt: Format, policy: Policy) -> bool:
    try:
        check(ContractName("convert", (fmt.id, "rz", policy.id)))
    except SpecError:
        return False
    return True


def _specials(fmt: Format) -> list[tuple[Entry, str, tuple[str, ...]]]:
    """Return the distinct entries, each with the policies that share it."""
    return _grouped(fmt, list(_entries(fmt)))


def _words(fmt: Format) -> list[tuple[Entry, str, tuple[str, ...]]]:
    """Return the distinct entries once special values are left out: of policies, and of the casts of recipes (there is wrap)."""
    plain = [(name, entry.model_copy(update={"nan": MARKERS, "inf": None, "zero": None})) for name, entry in _entries(fmt)]
    found = _grouped(fmt, plain)
    overflows = [entry.overflow for entry, _, _ in found]
    named = [
        (entry, entry.overflow if overflows.count(entry.overflow) == 1 else f"{entry.overflow}-{label}", policies)
        for entry, label, policies in found
    ]
    return named + [(_cast_entry(fmt, word), word, ()) for word in sorted(_cast_words(fmt) - set(overflows))]


def _cast_words(fmt: Format) -> set[Overflow]:
    """Return the overflow words with which recipes cast to a format."""
    recipes: list[Recipe] = [get("recipe", name) for name in names("recipe")]
    return {step.overflow for recipe in recipes for step in recipe.facts.steps if isinstance(step, CastStep) and step.to == fmt.id}


def _cast_entry(fmt: Format, word: Overflow) -> Entry:
    nan = derive.codes(fmt).nan
    both = BySign(positive=f"0x{nan[0]:X}", negative=f"0x{nan[-1]:X}") if word in ("nan", "ieee_nan") else None
    return Entry(overflow=word, nan=MARKERS, overflow_nan=both)


def _grouped(fmt: Format, entries: list[tuple[str, Entry]]) -> list[tuple[Entry, str, tuple[str, ...]]]:
    """Put entries with equal codes together; the first policy in the alphabet names them."""
    groups: dict[derive.EntryCodes, tuple[Entry, list[str]]] = {}
    for name, entry in entries:
        groups.setdefault(derive.entry_codes(entry, fmt), (entry, []))[1].append(name)
    return [(entry, policies[0], tuple(policies)) for entry, policies in groups.values()]
