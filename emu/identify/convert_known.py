"""Documented conversions, the sources that tell them apart and what they answer. Not here: the verdict (convert.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.errors import EmuError
from emu.contracts.convert.cases import directed
from emu.contracts.convert.contract import ConvertContract
from emu.engines.numpy import tables
from emu.engines.numpy.convert import convert_marked, element_random
from emu.identify.convert_calls import ConvertAnswers
from emu.identify.rows import KEY, OPEN, Bits
from emu.spec import derive
from emu.spec.contract import parse
from emu.spec.derive import REFUSE
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import CodebookFacts
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names

EXHAUSTED: Final = 16  # bits of sources that are asked whole
DRAWN: Final = 1 << 16  # random sources of each kind that confirm
WIDEST: Final = 8  # bits of the codes that are looked for


@dataclass(frozen=True)
class Hypothesis:
    """A documented conversion. answers: codes of the source codes that were asked; OPEN where nobody knows, REFUSE where it is refused."""

    fmt: str
    rounding: str
    policy: str
    answers: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The contract."""
        return f"convert/{self.fmt}/{self.rounding}/{self.policy}"


def sources(source: Format, formats: Sequence[str]) -> Bits:
    """Return the source codes that are asked: all up to 16 bits; of fp32 every bf16 number and the directed rows of some formats."""
    bits = derive.codes(source).bits
    if bits <= EXHAUSTED:
        return np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)
    codes = [np.arange(1 << EXHAUSTED, dtype=np.uint32) << np.uint32(bits - EXHAUSTED)]
    for fmt in formats:
        policy = next((name for name in names("policy") if covers(name, fmt)), None)
        if policy is not None:
            rows = directed(ConvertContract.of(parse(f"convert/{fmt}/rne/{policy}"), source.id))
            codes.append(np.array([case.values[0] for case in rows], np.uint32))
    return np.unique(np.concatenate(codes))


def drawn(source: Format) -> Bits:
    """Return random source codes: of all bits, and with magnitudes near 1."""
    from emu.engines.exact.encode import code_of_one

    words = philox.words(KEY, 2 * DRAWN, 0, philox.stream_of("identify_sources")).astype(np.int64)
    bits, one = derive.codes(source).bits, code_of_one(source)
    near = one - (one >> 4) + words[DRAWN:] % (one >> 3) | (words[DRAWN:] >> 31) * derive.codes(source).sign_bit
    return np.unique(np.concatenate([words[:DRAWN] & ((1 << bits) - 1), near])).astype(np.uint32)


def chosen(kind: str, among: Sequence[str] | None) -> list[str]:
    """Return the ids of one kind that are named; all where none of it is."""
    known = list(names(kind))
    wanted = [name for name in known if among and name in among]
    return wanted or known


def element_formats(among: Sequence[str] | None) -> list[str]:
    """Return the element formats: floats and integers of at most eight bits on a regular grid, with a policy that covers them."""
    known = [name for name in chosen("format", among) if derive.codes(get("format", name)).bits <= WIDEST]
    known = [name for name in known if not isinstance(get("format", name).facts, CodebookFacts)]
    return [name for name in known if any(covers(policy, name) for policy in names("policy"))]


def covers(policy: str, fmt: str) -> bool:
    """Tell whether a policy has an entry for a format."""
    try:
        derive.policy_entry(get("policy", policy), get("format", fmt))
    except EmuError:
        return False
    return True


def has_meaning(fmt: str, rounding: str) -> bool:
    """Tell whether a rounding into a format is a contract under some policy."""
    return any(covers(policy, fmt) and _parses(f"convert/{fmt}/{rounding}/{policy}") for policy in names("policy"))


def _parses(text: str) -> bool:
    try:
        parse(text)
    except EmuError:
        return False
    return True


def _converted(asked: ConvertAnswers, fmt: str, rounding: str, policy: str) -> NDArray[np.int64] | None:
    """Return codes, OPEN, REFUSE; None where this engine cannot, or the rounding takes other random integers."""
    to: Format = get("format", fmt)
    mode: Rounding = get("rounding", rounding)
    model: Policy = get("policy", policy)
    if mode.random_bits and (isinstance(mode.facts.random, Word) or int(asked.random.max()) >> mode.random_bits):
        return None
    try:
        drawn = element_random(asked.random, mode, asked.x.shape) if mode.random_bits else None
        found = convert_marked(asked.x, asked.source, to, mode, derive.policy_entry(model, to), drawn)
    except EmuError:
        return None
    out = found.astype(np.int64)
    if found.dtype == tables.marker_dtype(to):
        for mark in (OPEN, REFUSE):
            out[found == tables.mark(mark, to)] = mark
    return out


def _inside(asked: ConvertAnswers, fmt: str) -> NDArray[np.bool_]:
    """Tell which sources are finite, not zero and within the format."""
    to: Format = get("format", fmt)
    values = values_of(asked.x, asked.source)
    top = float(values_of(np.array([derive.codes(to).max_code]), to)[0])
    signed = bool(derive.codes(to).sign_bit) or getattr(to.facts, "signed", "no") != "no"
    inside: NDArray[np.bool_] = np.isfinite(values) & (np.abs(values) <= top) & (values != 0) & (signed | (values > 0))
    return inside


def values_of(codes: Bits, fmt: Format) -> NDArray[np.float64]:
    """Return the values of codes; exact for the formats that are asked."""
    from emu.engines.numpy.convert import to_fp64

    return to_fp64(codes, fmt)


def _any_policy(fmt: str) -> str:
    return next(policy for policy in names("policy") if covers(policy, fmt))


def grid_share(asked: ConvertAnswers, fmt: str) -> Fraction:
    """Return which part of the sources that are values of the format get their codes."""
    to: Format = get("format", fmt)
    inside = _inside(asked, fmt)
    mine = _converted(ConvertAnswers(asked.source, asked.x, asked.random, False, asked.answers, 0), fmt, "rne", _any_policy(fmt))
    if mine is None:
        return Fraction(0)
    known = inside & (mine >= 0)
    exact = np.zeros(known.shape, bool)
    exact[known] = values_of(mine[known].astype(np.uint16), to) == values_of(asked.x[known], asked.source)
    return Fraction(int((asked.answers[exact] == mine[exact]).sum()), max(int(exact.sum()), 1))


def same_inside(asked: ConvertAnswers, fmt: str, rounding: str) -> bool:
    """Tell whether sources within the format get the codes of a rounding; which zero is the policy's business."""
    mine = next(
        (found for policy in names("policy") if covers(policy, fmt) and (found := _converted(asked, fmt, rounding, policy)) is not None),
        None,
    )
    if mine is None:
        return False
    inside = _inside(asked, fmt) & (asked.answers >= 0) & (mine >= 0)
    zero = _zeros(get("format", fmt))
    both_zero = np.isin(mine, zero) & np.isin(asked.answers, zero)
    return bool(((mine == asked.answers) | both_zero)[inside].all())


def _zeros(fmt: Format) -> list[int]:
    return [0, derive.codes(fmt).sign_bit] if getattr(fmt.facts, "neg_zero", "no") == "yes" else [0]


def hypotheses(asked: ConvertAnswers, pool: Sequence[tuple[str, str]], among: Sequence[str] | None) -> Iterator[Hypothesis]:
    """Yield the documented conversions of some formats and roundings under every policy that is compared."""
    for fmt, rounding in pool:
        for policy in chosen("policy", among):
            if covers(policy, fmt):
                answers = _converted(asked, fmt, rounding, policy)
                if answers is not None:
                    yield Hypothesis(fmt, rounding, policy, answers)
