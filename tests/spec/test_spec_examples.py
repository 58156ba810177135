"""Every hand-checked example (`expect`) of formats, roundings, conversions, blocks and transforms, and that a wrong fact fails them.

The arithmetic is written again here, small enough to check by eye; nothing of emu is imported but the registry.
Worked examples of recipes are run in tests/engines/exact/test_exact_example.py: a second interpreter would not be hand-sized.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from emu.spec.registry import get, names

Value = tuple[str, int, Fraction]  # finite, inf or nan; sign; magnitude
ZERO, HALF = Fraction(0), Fraction(1, 2)


def written(text: str) -> Value:
    """The value of `p`, `p/q`, `2^k`, `-0`, `nan`, `+inf`, `-inf`."""
    sign = int(text.startswith("-"))
    if text.endswith(("nan", "inf")):
        return text[-3:], sign, ZERO
    base, _, power = text.lstrip("-").partition("^")
    return "finite", sign, Fraction(2) ** int(power) if power else Fraction(base)


def width(facts: Any) -> int:
    """Bits of a magnitude code: all but the sign bit."""
    if facts.class_ == "float":
        return int(facts.exp_bits + facts.frac_bits)
    return int(facts.bits) - (facts.class_ == "integer" and facts.signed == "sign_magnitude")


def grid(code: int, facts: Any) -> Fraction:
    """Value of a magnitude code; the rule goes on above the maximum."""
    if facts.class_ == "integer":
        return code * Fraction(2) ** facts.unit_exp
    if facts.class_ == "exponent":
        return Fraction(2) ** (code - facts.bias)
    field, fraction = divmod(code, 1 << facts.frac_bits)
    hidden = 0 if field == 0 and facts.subnormals == "yes" else 1 << facts.frac_bits
    exp = (1 if hidden == 0 else field) - facts.bias
    return (hidden + fraction) * Fraction(2) ** (exp - facts.frac_bits)


def infinity(facts: Any) -> int:
    """Magnitude code of Inf: the listed one, or as in IEEE 754 the first of the top exponent."""
    if not isinstance(facts.inf, str):
        return int(facts.inf[0], 16)
    return int(((1 << facts.exp_bits) - 1) << facts.frac_bits)


def special(magnitude: int, code: int, facts: Any) -> str:
    """finite, inf or nan."""
    if facts.class_ == "float" and not isinstance(facts.inf, str) and magnitude == infinity(facts):
        return "inf"
    if facts.class_ == "float" and isinstance(facts.inf, str) and magnitude >= infinity(facts):
        is_inf = magnitude == infinity(facts)
        if (facts.inf if is_inf else facts.nan) == "ieee":
            return "inf" if is_inf else "nan"
    listed = getattr(facts, "nan", "none")
    return "nan" if not isinstance(listed, str) and code in [int(item, 16) for item in listed] else "finite"


def decode(code: int, fmt: Any) -> Value:
    """The value of a code."""
    facts = fmt.facts
    if facts.class_ == "codebook":
        words = facts.values_bits.split()
        return decode(int(words[code], 16), get("format", facts.values_format))
    if facts.class_ == "integer" and facts.signed == "twos_complement":
        whole = code - (1 << facts.bits) if code >> (facts.bits - 1) else code
        return "finite", int(whole < 0), grid(abs(whole), facts)
    magnitude, sign = code & ((1 << width(facts)) - 1), code >> width(facts)
    kind = special(magnitude, code, facts)
    value = grid(magnitude, facts) if kind == "finite" else ZERO
    if kind == "finite" and not value and getattr(facts, "neg_zero", "yes") == "no":
        sign = 0
    return kind, sign, value


def below(value: Fraction, facts: Any) -> int:
    """The largest magnitude code that is not above a value, found by bisection: codes ascend with their values."""
    if value <= grid(0, facts):
        return 0
    high = 1
    while grid(high, facts) <= value:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if grid(middle, facts) <= value else (low, middle)
    return low


def round_code(value: Fraction, sign: int, facts: Any, rounding: Any, random: int | None) -> int:
    """The magnitude code that a magnitude is rounded to, no maximum."""
    rule, code = rounding.facts, below(value, facts)
    step = grid(code + 1, facts) - grid(code, facts)
    lost = max(value - grid(code, facts), ZERO) / step
    if not lost:
        return code
    if rule.add is not None:
        assert random is not None
        return drawn_code(value, code, step, lost, facts, rule, random)
    part = rule.magnitude or (rule.negative if sign else rule.positive)
    choice = part.less_than_half if lost < HALF else part.half if lost == HALF else part.more_than_half
    return code + {"keep": 0, "next": 1, "to_even_code": code % 2, "to_odd_code": 1 - code % 2}[choice]


def drawn_code(value: Fraction, code: int, step: Fraction, lost: Fraction, facts: Any, rule: Any, random: int) -> int:
    """The magnitude code under a rule that draws."""
    count = 1 << rule.random.per_element
    if rule.add == "te_fma":
        fp32 = get("format", "fp32").facts
        total = round_code(value + step * random / count, 0, fp32, get("rounding", "rne"), None)
        return below(grid(total, fp32), facts)
    up = {"add": int(lost * count) + random >= count, "cmp": random < lost * count, "half": lost * count + random + HALF >= count}
    up["nearest"] = nearest_whole(lost * count) + random >= count
    return code + up[rule.add]


def nearest_whole(value: Fraction) -> int:
    """The nearest whole number, ties to even."""
    whole = int(value)
    return whole + (value - whole > HALF or (value - whole == HALF and whole % 2 == 1))


def stops(rounding: Any, sign: int, end: int) -> bool:
    """Does a number beyond the end of a range stay there. end: its magnitude code."""
    word = rounding.facts.beyond_max.negative if sign else rounding.facts.beyond_max.positive
    return {"max": True, "away": False, "odd_code": end % 2 == 1}[word]


def largest(facts: Any) -> int:
    """The largest finite magnitude code (two's complement: of the positive side)."""
    if facts.class_ == "float" and facts.nan == "ieee":
        return infinity(facts) - 1
    code = (1 << (width(facts) - (facts.signed == "twos_complement"))) - 1
    while special(code, code, facts) != "finite":
        code -= 1
    return code


def outcome(word: str, facts: Any) -> int:
    """The code that a word of a policy means; the words that occur in shipped policies."""
    if word == "nan":
        word = facts.nan[0] if facts.nan != "ieee" else hex(infinity(facts) + (1 << (facts.frac_bits - 1)))
    words = {"max": largest(facts), "zero": 0}
    if "inf" in word:
        return infinity(facts) + (1 << width(facts) if word == "negative_inf" else 0)
    return words[word] if word in words else int(word, 16)


def convert(code: int, source: Any, fmt: Any, rounding: Any, entry: Any, random: int | None) -> int:
    """The code a source code becomes under one entry of a policy."""
    facts = fmt.facts
    kind, sign, value = decode(code, source)
    if kind == "nan":
        return outcome(entry.nan.negative if sign else entry.nan.positive, facts)
    if facts.signed == "no" and sign and value >= 0 and entry.negative is not None and (kind == "inf" or value):
        code = outcome(entry.negative, facts)
        if entry.negative_of is None or kind == "inf":
            return code
        return 0 if stops(rounding, 1, 0) or not round_code(value, 1, facts, rounding, random) else code
    sign = 0 if facts.signed == "no" else sign
    if kind == "inf" and entry.inf is not None:
        return outcome(entry.inf.negative if sign else entry.inf.positive, facts)
    magnitude = -1 if kind == "inf" else round_code(value, sign, facts, rounding, random)
    if magnitude < 0 or magnitude > largest(facts):
        stays = kind == "finite" and stops(rounding, sign, largest(facts))
        if entry.overflow == "saturate" or (entry.overflow in ("ieee_inf", "ieee_nan") and stays):
            magnitude = largest(facts)
        elif entry.overflow in ("inf", "ieee_inf"):
            magnitude = infinity(facts)
        elif entry.overflow == "wrap":
            magnitude &= (1 << width(facts)) - 1
        else:
            return outcome(entry.overflow_nan.negative if sign else entry.overflow_nan.positive, facts)
    keeps = sign and (magnitude or getattr(facts, "neg_zero", "yes") == "yes")
    return magnitude | (1 << width(facts) if keeps else 0)


def format_holds(fmt: Any, row: Any) -> bool:
    kind, sign, value = decode(int(row.code, 16), fmt)
    wanted = written(row.value)
    return kind == wanted[0] == "nan" or (kind, sign, value) == wanted


def rounding_holds(rounding: Any, row: Any) -> bool:
    facts = get("format", row.grid).facts
    kind, sign, value = written(row.value)
    return (kind, sign, grid(round_code(value, sign, facts, rounding, row.random), facts)) == written(row.rounded)


def policy_holds(policy: Any, row: Any) -> bool:
    fmt = get("format", row.to)
    has_nan = getattr(fmt.facts, "nan", "none") != "none"
    series = f"series_p3109_{row.to[-2]}_{row.to[-1]}"  # ids of members end in their words
    entry = policy.facts.get(row.to) or policy.facts.get(series) or policy.facts["with_nan" if has_nan else "without_nan"]
    found = convert(int(row.x, 16), get("format", row.source), fmt, get("rounding", row.rounding), entry, row.random)
    return found == int(row.code, 16)


def block_holds(block: Any, row: Any) -> bool:
    facts, text = block.facts, row.codes.replace(" ", "")
    wide = len(text) // (facts.shape[0] * facts.shape[1]) or len(text) // facts.shape[1]  # of a large tile the first row
    codes = [int(text[i : i + wide], 16) for i in range(0, len(text), wide)]
    held = {level.name: decode(int(row.levels[level.name], 16), get("format", level.format)) for level in facts.levels}
    chosen = facts.element if hasattr(facts.element, "format") else facts.element.choice[int(held[facts.element.flag][2])]
    kind, sign, value = decode(codes[row.lane], get("format", chosen.format))
    value *= Fraction(facts.factor) * Fraction(getattr(chosen, "factor", "1"))
    for level in facts.levels:
        level_kind, level_sign, level_value = held[level.name]
        if level.meaning != "flag":
            kind = "nan" if level_kind == "nan" else kind
            value = value * level_value if level.meaning == "multiply" else value / level_value
            sign ^= level_sign
    wanted = written(row.value)
    return kind == wanted[0] == "nan" or (kind, sign, value) == wanted


def nearest(value: Fraction, name: str) -> Fraction:
    """A number rounded to nearest even in a float format."""
    facts = get("format", name).facts
    magnitude = grid(round_code(abs(value), 0, facts, get("rounding", "rne"), None), facts)
    return -magnitude if value < 0 else magnitude


def rotated(values: list[Fraction], facts: Any) -> list[Fraction]:
    """H * values with the additions in the stated order, before the scale."""
    if facts.sum == "butterfly":
        stride = 1
        while stride < facts.size:
            values = [
                nearest(values[i ^ stride] - values[i] if i & stride else values[i] + values[i ^ stride], facts.sum_format)
                for i in range(facts.size)
            ]
            stride *= 2
        return values
    rows = [[-v if (i & j).bit_count() % 2 else v for j, v in enumerate(values)] for i in range(facts.size)]
    totals = []
    for row in rows:
        total = ZERO
        for item in row:
            total = nearest(total + item, facts.sum_format) if facts.sum == "sequential" else total + item
        totals.append(total)
    return totals


def transform_holds(transform: Any, row: Any) -> bool:
    facts, signs = transform.facts, int(transform.facts.signs, 16)
    values = []
    for i, word in enumerate(row.x.split()):
        _, sign, value = decode(int(word, 16), get("format", row.source))
        values.append(-value if sign ^ (signs >> i & 1) else value)
    scaled = [nearest(total * Fraction(facts.scale), facts.sum_format) for total in rotated(values, facts)]
    wanted = [decode(int(word, 16), get("format", facts.result)) for word in row.y.split()]
    return [nearest(value, facts.result) for value in scaled] == [-value if sign else value for _, sign, value in wanted]


HOLDS: dict[str, Any] = {
    "format": format_holds,
    "rounding": rounding_holds,
    "policy": policy_holds,
    "block": block_holds,
    "transform": transform_holds,
}
EXAMPLES = [(kind, name, i) for kind in HOLDS for name in names(kind) for i in range(len(get(kind, name).expect))]


@pytest.mark.parametrize(("kind", "name", "number"), EXAMPLES, ids=[f"{kind}-{name}-{i}" for kind, name, i in EXAMPLES])
def test_example(kind: str, name: str, number: int) -> None:
    thing = get(kind, name)
    assert HOLDS[kind](thing, thing.expect[number])


def test_everything_has_examples() -> None:
    few = {"format": 2, "rounding": 2, "policy": 3, "block": 1, "transform": 1}
    assert [f"{kind}/{name}" for kind in HOLDS for name in names(kind) if len(get(kind, name).expect) < few[kind]] == []
    assert len(EXAMPLES) >= 350


def changed(model: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a model with one fact replaced."""
    if not path:
        return value
    if isinstance(model, dict):
        return {**model, path[0]: changed(model[path[0]], path[1:], value)}
    return model.model_copy(update={path[0]: changed(getattr(model, path[0]), path[1:], value)})


def dies(thing: Any, path: tuple[Any, ...], value: Any) -> bool:
    """Does some worked example of its own fail when one fact is replaced?"""
    mutant = changed(thing, ("facts", *path), value)
    return not all(HOLDS[thing.kind](mutant, row) for row in thing.expect)


def format_mutants(facts: Any) -> list[tuple[tuple[str, ...], Any]]:
    if facts.class_ == "codebook":
        words = facts.values_bits.split()
        return [(("values_bits",), " ".join([*words[:-2], words[-1], words[-2]]))]
    if facts.class_ == "integer":
        return [(("unit_exp",), facts.unit_exp + 1)]
    mutants: list[tuple[tuple[str, ...], Any]] = [(("bias",), facts.bias + 1), (("bias",), facts.bias - 1)]
    if facts.nan != "none":
        mutants.append((("nan",), "none"))
    if facts.class_ == "float":
        mutants += [(("subnormals",), "no" if facts.subnormals == "yes" else "yes"), (("frac_bits",), facts.frac_bits + 1)]
        mutants += [(("inf",), "none")] * (facts.inf == "ieee") + [(("neg_zero",), "no")] * (facts.neg_zero == "yes")
    return mutants


@pytest.mark.parametrize("name", names("format"))
def test_a_wrong_fact_of_a_format_fails_its_examples(name: str) -> None:
    thing = get("format", name)
    mutants = format_mutants(thing.facts)
    assert mutants and [path for path, value in mutants if not dies(thing, path, value)] == []


def rounding_mutants(facts: Any) -> list[tuple[tuple[str, ...], Any]]:
    if facts.add is not None:
        return [(("add",), other) for other in ("add", "cmp", "half", "te_fma", "nearest") if other != facts.add]
    sides = ["magnitude"] if facts.magnitude else ["positive", "negative"]
    return [
        ((side, part), transposed(getattr(getattr(facts, side), part)))
        for side in sides
        for part in ("less_than_half", "half", "more_than_half")
    ]


def transposed(choice: str) -> str:
    return {"keep": "next", "next": "keep", "to_even_code": "to_odd_code", "to_odd_code": "to_even_code"}[choice]


@pytest.mark.parametrize("name", names("rounding"))
def test_a_wrong_fact_of_a_rounding_fails_its_examples(name: str) -> None:
    thing = get("rounding", name)
    assert [(path, value) for path, value in rounding_mutants(thing.facts) if not dies(thing, path, value)] == []


def test_rne_examples_tell_the_four_rules_at_a_half_apart() -> None:
    for other in ("keep", "next", "to_odd_code"):
        assert dies(get("rounding", "rne"), ("magnitude", "half"), other)


@pytest.mark.parametrize("name", names("policy"))
def test_a_wrong_fact_of_a_policy_fails_its_examples(name: str) -> None:
    """A finite number beyond the maximum and a NaN are among them, but for a NaN without an answer."""
    thing = get("policy", name)
    assert any(dies(thing, (key, "overflow"), "wrap") for key in thing.facts)
    answered = any(entry.nan.positive not in ("open", "refuse") for entry in thing.facts.values())
    assert answered == any(dies(thing, (key, "nan", side), "0x5") for key in thing.facts for side in ("positive", "negative"))


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("block", "nvfp4", ("factor",), "1/2687"),
        ("block", "nvfp4", ("element", "format"), "e1m2"),
        ("block", "mxfp4", ("element", "format"), "e3m0"),
        ("transform", "rht16_te", ("signs",), "0xD7E9"),
        ("transform", "rht16_te", ("sum",), "sequential"),
        ("transform", "rht16_te", ("scale",), "1/2"),
        ("policy", "nvidia", ("e2m1", "nan", "negative"), "0xF"),
        ("policy", "amd", ("e4m3", "overflow"), "saturate"),
        ("policy", "nvidia_nosat", ("ue5m3", "overflow"), "nan"),
        ("policy", "nvidia_nosat", ("e5m2", "overflow"), "saturate"),
        ("policy", "ieee", ("fp16", "overflow"), "inf"),
    ],
)
def test_a_wrong_fact_fails_an_example(kind: str, name: str, path: tuple[str, ...], value: str) -> None:
    assert dies(get(kind, name), path, value)
