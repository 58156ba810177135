"""What one file can get wrong below the YAML rules: keys, words, forms. Exact line and message, on both parsers."""

from collections.abc import Callable
from typing import Any

import pytest

from emu.spec import KINDS

Load = Callable[..., str]

STATUS = "standard, vendor, source-code, paper, reported, measured, proposed, inferred, unknown"
RANGE = "every number of the format lies from 2^-1074 to below 2^1024, as those of binary64 do"
KEYS = "class, signed, exp_bits, frac_bits, bias, subnormals, inf, nan, neg_zero, unused_high_bits"
FORMAT = [
    (2, 'id: "t5"', "id 't5' must equal the file name 't4'"),
    (2, 'id: "T4"', 'id: "T4" must be an id of a-z, 0-9 and _'),
    (2, "id: 4", "id: 4 must be a string in double quotes"),
    (1, 'kind: "formats"', "kind 'formats' is unknown: did you mean format?"),
    (1, 'kind: "zzz"', f"kind 'zzz' is unknown: one of {', '.join(KINDS)}"),
    (1, "kind: 1", f"kind 1 is unknown: one of {', '.join(KINDS)}"),
    (
        1,
        'kind: "rounding"',
        "facts.class: key class is unknown here: the keys here are random, sees_sign, magnitude, positive, negative, add, beyond_max",
    ),
    (3, 'titel: "t"', "titel: key titel is unknown here: did you mean title?"),
    (4, 'status: "draft"', f'status: "draft" is not one of {STATUS}'),
    (4, 'status: "mesured"', f'status: "mesured" is not one of {STATUS}: did you mean measured?'),
    (4, 'aliases: "fp"', 'aliases: "fp" must be a list: [a, b]'),
    (6, '  class: "flot"', 'facts: class "flot" is not one of float, integer, exponent, codebook: did you mean float?'),
    (7, '  signed: "twos_complement"', 'facts.signed: "twos_complement" is not one of yes, no'),
    (7, "  signed: 1", "facts.signed: 1 is not one of yes, no"),
    (8, '  exp_bits: "2"', 'facts.exp_bits: "2" must be a bare decimal integer'),
    (8, "  exp_bits: 12", "facts.exp_bits: 12 must be less than or equal to 11"),
    (8, "  exp_bits: 0", "facts.exp_bits: 0 must be greater than or equal to 1"),
    (8, "  expbits: 2", "facts.expbits: key expbits is unknown here: did you mean exp_bits?"),
    (10, "  class_: 1", 'facts: class "1" is not one of float, integer, exponent, codebook'),
    (10, "  bits: 4", "facts.bits: key bits is unknown here: did you mean bias?"),
    (
        10,
        "  colour: 4",
        f"facts.colour: key colour is unknown here: the keys here are {KEYS}",
    ),
    (13, '  nan: "nan"', 'facts.nan: "nan" is not one of none, ieee'),
    (13, '  nan: ["7"]', 'facts.nan.0: "7" must be one bit pattern in upper-case hex, such as "0x7F"'),
    (13, '  nan: ["0x7", "0xf"]', 'facts.nan.1: "0xf" must be one bit pattern in upper-case hex, such as "0x7F"'),
    (13, '  nan: ["0x7", "0x1F"]', "facts.nan.1: 0x1F has more than 4 bits"),
    (13, "  nan: {}", "facts.nan: a collection is not one of none, ieee"),
    (16, '  - {code: "0x1", valeu: "1/2"}', "expect.0.valeu: key valeu is unknown here: did you mean value?"),
    (
        16,
        '  - {code: "0x1", value: "0.5"}',
        'expect.0.value: "0.5" must be an exact number: "p", "p/q", "2^k", "-0", "nan", "+inf" or "-inf"',
    ),
    (16, '  - {code: "0x1"}', "expect.0: key value is missing: the value it means"),
    (16, '  - "0x1"', 'expect.0: "0x1" must be keys and values: {key: value}'),
    (17, 'sources: [{ref: "emu"}]', "sources.0: key where is missing: section, table, file or function"),
    (17, 'sources: [{ref: "emuu", where: "x"}]', "source 'emuu' is not in sources.yaml: did you mean emu?"),
    (
        17,
        'sources: [{ref: "zzz", where: "x"}]',
        "source 'zzz' is not in sources.yaml: add a sources.yaml with it to the folder, or write sources: []",
    ),
    (17, 'open: [{what: "x"}]', "open.0: key until is missing: what would settle it"),
]
MISSING = [(3, 1, "key title is missing: one line for a reader"), (17, 1, "key sources is missing: where the facts were read")]
MISSING += [(10, 5, f"key bias is missing: exp = exp_field - bias; {RANGE}")]
MISSING += [(6, 5, "key class is missing: it says which other keys there are")]


ELSEWHERE = {"facts.class": 6, "facts": 5}  # the fault lies in another line than the one that was changed


def shown(line: int, message: str) -> str:
    return f"t4.yaml:{line}: {message}"


@pytest.mark.parametrize(("line", "new", "message"), FORMAT, ids=[case[1].strip() for case in FORMAT])
def test_format_line(line: int, new: str, message: str, refused: Load, texts: dict[str, str], parser: Any) -> None:
    lines = texts["format"].splitlines()
    lines[line - 1] = new
    assert refused(t4="\n".join(lines) + "\n") == shown(ELSEWHERE.get(message.partition(":")[0], line), message)


@pytest.mark.parametrize(("line", "shown_at", "message"), MISSING, ids=[case[2] for case in MISSING])
def test_format_without_a_key(line: int, shown_at: int, message: str, refused: Load, texts: dict[str, str], parser: Any) -> None:
    lines = texts["format"].splitlines()
    del lines[line - 1]
    place = "top level" if shown_at == 1 else "facts"
    assert refused(t4="\n".join(lines) + "\n") == shown(shown_at, f"{place}: {message}")
