"""Facts that follow from a format's or policy's YAML: widths, maxima, special codes, constants as bits. Nothing here rounds a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from emu.base.caches import Cache
from emu.base.errors import SpecError
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.common import digest_json
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.models.policy import OF_SERIES, PATTERNS, BySign, Entry

OPEN: Final = -1  # a code that nobody knows
REFUSE: Final = -2  # the described library raises


@dataclass(frozen=True)
class Codes:
    """The code space of one format.

    bits: width of a code.   magnitude_bits: width without the sign bit (two's complement and codebooks: all bits).
    sign_bit: mask of the sign bit, 0 where there is none.   max_code: largest finite magnitude code,
    in two's complement of the positive side.
    nan: NaN codes, canonical first; for ieee NaN only the canonical quiet ones.   inf: magnitude code of Inf or None.
    """

    bits: int
    magnitude_bits: int
    sign_bit: int
    max_code: int
    nan: tuple[int, ...]
    inf: int | None
    neg_zero: bool
    has_zero: bool

    @property
    def negative_max(self) -> int:
        """Code of the lowest finite value of a sign-magnitude format; the largest one where there is no sign."""
        return self.sign_bit | self.max_code


_codes: Cache[str, Codes] = Cache("emu.spec.derive._codes", 4096)


def codes(fmt: Format) -> Codes:
    """Return the derived code space of a format."""
    found = _codes.get(fmt.facts_digest)
    return found if found is not None else _codes.keep(fmt.facts_digest, _derive_codes(fmt))


def _derive_codes(fmt: Format) -> Codes:
    facts = fmt.facts
    if isinstance(facts, FloatFacts):
        return _float_codes(facts)
    if isinstance(facts, ExponentFacts):
        nan = _listed(facts.nan)
        return Codes(facts.bits, facts.bits, 0, _largest((1 << facts.bits) - 1, nan), nan, None, False, False)
    if isinstance(facts, CodebookFacts):
        return Codes(facts.bits, facts.bits, 0, (1 << facts.bits) - 1, (), None, False, True)
    if facts.signed == "no":
        return Codes(facts.bits, facts.bits, 0, (1 << facts.bits) - 1, (), None, False, True)
    half = 1 << (facts.bits - 1)
    if facts.signed == "sign_magnitude":
        return Codes(facts.bits, facts.bits - 1, half, half - 1, (), None, True, True)
    return Codes(facts.bits, facts.bits, 0, half - 1, (), None, False, True)


def _float_codes(facts: FloatFacts) -> Codes:
    width = facts.exp_bits + facts.frac_bits
    sign_bit = 1 << width if facts.signed == "yes" else 0
    top = ((1 << facts.exp_bits) - 1) << facts.frac_bits
    inf = top if facts.inf == "ieee" else None if facts.inf == "none" else int(facts.inf[0], 16) & ~sign_bit
    if facts.nan == "ieee":
        quiet = top | ((1 << facts.frac_bits) >> 1 if facts.frac_bits else 0)
        nan: tuple[int, ...] = (quiet, quiet | sign_bit) if sign_bit else (quiet,)
        taken = frozenset(range(top, 1 << width)) if width <= 16 else frozenset()
        largest = top - 1 if not taken else _largest((1 << width) - 1, tuple(taken - {inf} if inf is None else taken))
    else:
        nan = _listed(facts.nan)
        largest = _largest((1 << width) - 1, (*nan, inf) if inf is not None else nan)
    return Codes(facts.bits, width, sign_bit, largest, nan, inf, facts.neg_zero == "yes", facts.subnormals == "yes")


def _listed(nan: str | tuple[str, ...]) -> tuple[int, ...]:
    return () if isinstance(nan, str) else tuple(int(code, 16) for code in nan)


def _largest(code: int, taken: tuple[int, ...]) -> int:
    while code in taken:
        code -= 1
    return code


NanCodes = tuple[int, int, frozenset[int]]
_nan: Cache[str, NanCodes] = Cache("emu.spec.derive._nan", 256)


def nan_codes(fmt: Format) -> NanCodes:
    """Return (mask, top, listed): a code is NaN where `code & mask > top`, or where it is listed."""
    found = _nan.get(fmt.facts_digest)
    if found is not None:
        return found
    facts, derived = fmt.facts, codes(fmt)
    if isinstance(facts, FloatFacts) and facts.nan == "ieee":
        top = ((1 << facts.exp_bits) - 1) << facts.frac_bits
        return _nan.keep(fmt.facts_digest, (~derived.sign_bit, top - (derived.inf is None), frozenset()))
    return _nan.keep(fmt.facts_digest, (0, 0, frozenset(derived.nan)))


def is_nan_code(code: int, fmt: Format) -> bool:
    """Tell whether a code is NaN."""
    mask, top, listed = nan_codes(fmt)
    return code & mask > top or code in listed


def is_finite_code(code: int, fmt: Format) -> bool:
    """Tell whether a code is one of the format's and neither NaN nor Inf."""
    derived = codes(fmt)
    return not code >> derived.bits and not is_nan_code(code, fmt) and code & ~derived.sign_bit != derived.inf


_NARROW = 16  # bits of a format whose codes may be listed
_finite: Cache[str, tuple[int, ...]] = Cache("emu.spec.derive._finite", 256)
_finite_set: Cache[str, frozenset[int]] = Cache("emu.spec.derive._finite_set", 256)


def finite_codes(fmt: Format) -> tuple[int, ...]:
    """Return the finite codes of a format that is narrow enough to list them, in ascending order."""
    found = _finite.get(fmt.facts_digest)
    if found is None:
        found = _finite.keep(fmt.facts_digest, tuple(code for code in range(1 << codes(fmt).bits) if is_finite_code(code, fmt)))
    return found


def all_finite(given: Sequence[int], fmt: Format) -> bool:
    """Tell whether all codes are finite ones of the format, unused high bits clear."""
    if codes(fmt).bits > _NARROW:
        return all(is_finite_code(code, fmt) for code in given)
    known = _finite_set.get(fmt.facts_digest)
    return (known if known is not None else _finite_set.keep(fmt.facts_digest, frozenset(finite_codes(fmt)))).issuperset(given)


def unused_high_bits(fmt: Format) -> int:
    """Return how many bits above the code its stored byte has; a set one is refused."""
    return fmt.facts.unused_high_bits if isinstance(fmt.facts, FloatFacts) else 0


def is_twos_complement(fmt: Format) -> bool:
    """Tell whether negative codes are two's complement."""
    return isinstance(fmt.facts, IntegerFacts) and fmt.facts.signed == "twos_complement"


def needs_code_order(rounding: Rounding) -> bool:
    """Tell whether a rounding asks for odd or even codes, or for a spacing, which a codebook does not have; even ones at a tie it has."""
    facts = rounding.facts
    rules = [rule for rule in (facts.magnitude, facts.positive, facts.negative) if rule is not None]
    ordered = ("to_odd_code", "to_even_code")
    odd = any(rule.less_than_half in ordered or rule.half == "to_odd_code" or rule.more_than_half in ordered for rule in rules)
    return odd or facts.add == "te_fma"


def check_codebook_rounding(fmt: Format, rounding: Rounding) -> None:
    """Refuse a rounding by code order to a codebook. Raises: SpecError."""
    if isinstance(fmt.facts, CodebookFacts) and needs_code_order(rounding):
        raise SpecError(f"rounding {rounding.id} needs a format with a regular grid, {fmt.id} is a codebook: say another round")


def parse_exact(text: str) -> Fraction:
    """Return the rational of `p`, `p/q`, `2^k`, `-2^k`. Raises: SpecError for the other forms (-0, nan, inf)."""
    if "^" in text:
        base, power = text.split("^")
        return Fraction(2) ** int(power) * (-1 if base.startswith("-") else 1)
    if text in ("nan", "+inf", "-inf", "-0"):
        raise SpecError(f"{text} is not a rational number")
    return Fraction(text)


def encode_constant(text: str, fmt: Format) -> int:
    """Return the code of a constant written in a program.

    text: an exact number that lies on the grid of fmt, or hex bits.   fmt: a float format.
    Raises: SpecError when the number is not on the grid, or the bits are too many.
    """
    facts, derived = fmt.facts, codes(fmt)
    if text.startswith("0x"):
        code = int(text, 16)
        if code >> derived.bits:
            raise SpecError(f"constant {text} has more than {derived.bits} bits")
        return code
    if text == "-0":
        return derived.sign_bit
    if not isinstance(facts, FloatFacts):
        raise SpecError(f"constants need a float format, not {fmt.id}")
    value = parse_exact(text)
    sign, value = (derived.sign_bit, -value) if value < 0 else (0, value)
    if not value:
        return sign
    exp = max(value.numerator.bit_length() - value.denominator.bit_length(), 1 - facts.bias)
    if Fraction(2) ** exp > value and exp > 1 - facts.bias:
        exp -= 1
    significand = value / Fraction(2) ** (exp - facts.frac_bits)
    if significand.denominator != 1:
        raise SpecError(f"constant {text} is not a {fmt.id} number: write its bit pattern")
    hidden = 1 << facts.frac_bits
    code = int(significand) if significand < hidden else ((exp + facts.bias) << facts.frac_bits) + int(significand) - hidden
    if code > derived.max_code:
        raise SpecError(f"constant {text} is beyond the largest {fmt.id} number")
    return sign | code


@dataclass(frozen=True)
class EntryCodes:
    """A policy's entry for one destination with every outcome as a code, OPEN or REFUSE; pairs are (positive, negative)."""

    overflow: str
    nan: tuple[int, int]
    overflow_nan: tuple[int, int] | None = None
    inf: tuple[int, int] | None = None
    zero: tuple[int, int] | None = None
    negative: int | None = None
    negative_rounded: bool = False  # negative holds for Inf and for what is negative after rounding

    @property
    def outcomes(self) -> list[object]:
        """The outcomes that the bits depend on, as digests of contracts hold them."""
        more = ["rounded"] if self.negative_rounded else []
        return [self.overflow, self.nan, self.overflow_nan, self.inf, self.zero, self.negative, *more]


def policy_entry(policy: Policy, fmt: Format) -> EntryCodes:
    """Return what a policy does on the way to a format.

    Raises: SpecError when the policy has no entry for it, or an outcome the format cannot code.
    """
    key = (policy.facts_digest, fmt.facts_digest, fmt.id)
    found = _entries.get(key)
    return found if found is not None else _entries.keep(key, _policy_entry(policy, fmt))


_entries: Cache[tuple[str, str, str], EntryCodes] = Cache("emu.spec.derive._entries", 4096, names=True)


def _policy_entry(policy: Policy, fmt: Format) -> EntryCodes:
    default = "with_nan" if codes(fmt).nan else "without_nan"
    entry = policy.facts.get(fmt.id) or _entry_by_facts(policy, fmt) or policy.facts.get(default)
    if entry is None:
        known = ", ".join(sorted(policy.facts))
        raise SpecError(f"policy {policy.id} says nothing of {fmt.id}: it covers {known}")
    return entry_codes(entry, fmt)


def _entry_by_facts(policy: Policy, fmt: Format) -> Entry | None:
    """Return the entry of a destination that has the facts of fmt under another name, or of members of a series that fmt is one of."""
    return next((policy.facts[key] for key in policy.facts if key not in PATTERNS and fmt.facts in _facts_named(key)), None)


def _facts_named(key: str) -> list[object]:
    """Return the facts of the formats that the key of an entry names. Raises: SpecError (of no series)."""
    from emu.spec.registry import get

    if not key.startswith(OF_SERIES):
        return [get("format", key).facts]
    found = _named.get(key)
    return found if found is not None else _named.keep(key, [member.facts for member in members_named(key)])


def members_named(key: str) -> Iterator[Format]:
    """Yield the formats that a key `series_ID_WORDS` names: the members of a series with these words. Raises: SpecError (there is none)."""
    from emu.spec.registry import get, names
    from emu.spec.series import choices_named, member_id

    made = [series for series in (get("series", name) for name in names("series")) if series.facts.of == "format"]
    found = [member_id(series, choice) for series in made for choice in choices_named(series, key.removeprefix(OF_SERIES))]
    if not found:
        raise SpecError(f"{key} names no members of a series of formats: write {OF_SERIES}, its id and its words, joined by _")
    yield from (get("format", name) for name in found)


_named: Cache[str, list[object]] = Cache("emu.spec.derive._named", 64, names=True)


def entry_codes(entry: Entry, fmt: Format) -> EntryCodes:
    """Turn the words of an entry into codes of fmt. Raises: SpecError for Inf or NaN where the format has none."""
    check_overflow(entry.overflow, fmt)

    def pair(outcome: BySign | None) -> tuple[int, int] | None:
        return None if outcome is None else (_outcome(outcome.positive, fmt), _outcome(outcome.negative, fmt))

    nan = pair(entry.nan)
    assert nan is not None
    negative = None if entry.negative is None else _outcome(entry.negative, fmt)
    rounded = entry.negative_of is not None
    return EntryCodes(entry.overflow, nan, pair(entry.overflow_nan), pair(entry.inf), pair(entry.zero), negative, rounded)


def stops_at(rounding: Rounding, sign: int, code: int) -> bool:
    """Tell whether a finite value beyond the end of a range stays there. sign: 1 for negative.   code: the magnitude code of the end."""
    word = rounding.facts.beyond_max.negative if sign else rounding.facts.beyond_max.positive
    return word == "max" or (word == "odd_code" and code % 2 == 1)


def asks_beyond(overflow: str) -> bool:
    """Tell whether a word for overflow asks the rounding where a finite value beyond the end of a range goes."""
    return overflow.startswith("ieee")


def within_range(rounding: Rounding) -> str:
    """Return a digest of what a rounding says of values that are not beyond the end of a range."""
    return digest_json(rounding.facts.model_dump(mode="json", exclude={"beyond_max"}))


def check_overflow(overflow: str, fmt: Format) -> None:
    """Refuse an overflow word that the format has no code for. Raises: SpecError."""
    derived = codes(fmt)
    if overflow in ("inf", "ieee_inf") and derived.inf is None:
        raise SpecError(f"{fmt.id} has no Inf: overflow {overflow} is impossible")
    if overflow in ("nan", "ieee_nan") and not derived.nan:
        raise SpecError(f"{fmt.id} has no NaN: overflow {overflow} is impossible")
    if overflow != "saturate" and isinstance(fmt.facts, CodebookFacts):
        raise SpecError(f"{fmt.id} is a codebook: only overflow saturate has a meaning")


def _outcome(word: str, fmt: Format) -> int:
    derived = codes(fmt)
    if word.startswith("0x"):
        code = int(word, 16)
        if code >> (derived.bits + unused_high_bits(fmt)):
            raise SpecError(f"outcome {word} has more bits than {fmt.id}")
        return code
    if word in ("open", "refuse"):
        return OPEN if word == "open" else REFUSE
    if isinstance(fmt.facts, CodebookFacts):
        return _codebook_outcome(word, fmt)
    negative = word.startswith("negative_")
    base = word.removeprefix("negative_")
    table: dict[str, int | None] = {
        "max": derived.max_code,
        "min": derived.negative_max,
        "nan": derived.nan[0] if derived.nan else None,
        "inf": derived.inf,
        "zero": 0 if derived.has_zero else None,
        "smallest": 0,
    }
    code_or_none = table[base]
    if is_twos_complement(fmt) and base == "min":
        code_or_none = derived.max_code + 1
    if code_or_none is None:
        raise SpecError(f"{fmt.id} has no code for {word}")
    return code_or_none | (derived.sign_bit if negative and (base != "zero" or derived.neg_zero) else 0)


def _codebook_outcome(word: str, fmt: Format) -> int:
    """Return the first code of a codebook whose value a word names, wherever in the list it stands. Raises: SpecError (no such value)."""
    assert isinstance(fmt.facts, CodebookFacts)
    order = _codebook_order(fmt.facts)
    sizes = [size for size, _ in order]
    wanted = {
        "max": (max(sizes), False),
        "min": (min(sizes), True),
        "zero": (Fraction(0), False),
        "negative_zero": (Fraction(0), True),
        "smallest": (min(sizes, key=abs), False),
    }.get(word)
    if wanted is None or wanted[0] not in sizes:
        raise SpecError(f"{fmt.id} has no code for {word}")
    return order.index(wanted) if wanted in order else sizes.index(wanted[0])


def _codebook_order(facts: CodebookFacts) -> list[tuple[Fraction, bool]]:
    """Return (number, sign) of each code of a codebook; the numbers stand in the order of the values, 0 for zero."""
    if facts.values is not None:
        return [(Fraction(0) if text == "-0" else parse_exact(text), text.startswith("-")) for text in facts.values]
    from emu.spec.registry import get

    source: Format = get("format", str(facts.values_format))
    sign_bit = codes(source).sign_bit
    found = codebook_codes(facts, source)
    return [(Fraction(-(code & ~sign_bit) if code & sign_bit else code), bool(code & sign_bit)) for code in found]


def codebook_codes(facts: CodebookFacts, source: Format) -> list[int]:
    """Return the values of a codebook that is written as bit patterns, as codes of their format. source: that format."""
    assert facts.values_bits is not None
    digits, text = -(-codes(source).bits // 4), facts.values_bits.replace(" ", "")
    return [int(text[start : start + digits], 16) for start in range(0, len(text), digits)]


def arithmetic_entry(fmt: Format) -> EntryCodes:
    """Return the entry that arithmetic steps round with: IEEE overflow, canonical positive NaN. Raises: SpecError without Inf or NaN."""
    check_overflow("ieee_inf", fmt)
    if isinstance(fmt.facts, FloatFacts) and fmt.facts.lists_inf:
        raise SpecError(f"{fmt.id} lists its infinities: arithmetic needs a format with those of IEEE 754, convert to {fmt.id} afterwards")
    if not codes(fmt).nan:
        raise SpecError(f"{fmt.id} has no NaN: arithmetic needs one")
    nan = codes(fmt).nan[0]
    return EntryCodes("ieee_inf", (nan, nan))
