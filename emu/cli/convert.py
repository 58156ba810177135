"""emu convert: values or raw codes to codes of a format."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import click
import numpy as np

from emu.base.errors import OperandError, SpecError
from emu.cli.settings import OutputPath, common_options, note, print_json, print_table, settings_of
from emu.contracts.examples import decimal_text
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.engines.numpy.convert import code_dtype
from emu.files import open_tensors, tensor_writer
from emu.ops.functions import convert
from emu.spec import Format, Rounding, derive, get
from emu.spec.models.format import FloatFacts

_HEX = re.compile(r"0[xX][0-9a-fA-F]+\Z")
_POWER = re.compile(r"(-?)2\^(-?[0-9]{1,5})\Z")
_INFINITE = {"inf": 0, "+inf": 0, "infinity": 0, "-inf": 1, "-infinity": 1}


@click.command("convert", context_settings={"ignore_unknown_options": True})
@click.argument("to", metavar="FORMAT")
@click.argument("values", metavar="VALUE...|FILE.npy", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--rounding", default="rne", show_default=True, help="Rounding mode.")
@click.option("--policy", default="nvidia", show_default=True, help="Special-value policy.")
@click.option("--source", default=None, help="Source format (default fp32); for a .npy file of unsigned integers: the format of its codes.")
@click.option("--random", default=None, help="Random integers for a rounding that draws: decimal or hex, comma-separated.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto.")
@click.option("--out", type=OutputPath(dir_okay=False), help="For a .npy file: where the codes go (.npy).")
@click.option("--force", is_flag=True, help="Replace --out if it exists.")
@common_options
def command(to: str, values: tuple[str, ...], source: str | None, random: str | None, out: str | None, force: bool, **names: str) -> None:
    """Convert values to codes of FORMAT.

    A VALUE is a number (1.3, -7/4, 2^-9, inf, nan), rounded to the source format first (nearest even), or a raw source code (0x3FA66666).
    One .npy file instead of values: all its elements, codes written to --out.
    """
    drawn = None if random is None else np.array([_integer(item) for item in random.split(",")], np.uint64)
    options: dict[str, Any] = {"random": drawn, **names}
    if len(values) == 1 and values[0].endswith(".npy"):
        if out is None:
            raise click.UsageError("a .npy file needs --out FILE.npy for its codes")
        _convert_file(to, values[0], source, out, force, options)
        return
    if out is not None:
        raise click.UsageError("--out goes with a .npy file, not with values")
    fmt, given = get("format", to), get("format", source or "fp32")
    codes = np.array([parse_value(text, given) for text in values], code_dtype(given))
    found = convert(codes, fmt, source=given, **options)
    _print(codes.tolist(), found.tolist(), given, fmt)


def _convert_file(to: str, path: str, source: str | None, out: str, force: bool, options: dict[str, Any]) -> None:
    with open_tensors(path) as file:
        found = convert(file.read(""), to, source=source, **options)
    with tensor_writer(out, force) as writer:
        writer.put("", found)
    if settings_of().json:
        print_json({"out": out, "format": get("format", to).id, "shape": list(found.shape)})
    note(f"{out}: {found.size} codes of {get('format', to).id}")


def _integer(text: str) -> int:
    try:
        found = int(text.strip(), 0)
    except ValueError:
        raise OperandError(f"random {text.strip()!r} is no integer") from None
    if not 0 <= found < 1 << 64:
        raise OperandError(f"random {text.strip()} must have at most 64 bits")
    return found


def parse_value(text: str, source: Format) -> int:
    """Return the source code of one word of the command line.

    text: a number (rounded once to the source format, nearest even; beyond its largest number: its own overflow) or a raw code in hex.
    Raises: OperandError (no number, too many bits, a value the source format has no code for).
    """
    known = derive.codes(source)
    if _HEX.match(text):
        if int(text, 16) >> (known.bits + derive.unused_high_bits(source)):
            raise OperandError(f"{text} has more than {known.bits} bits: it is no {source.id} code")
        return int(text, 16)
    value = _value(text)
    nearest: Rounding = get("rounding", "rne")
    if value.sign and value.kind != "nan" and not value.is_zero and isinstance(source.facts, FloatFacts) and not known.sign_bit:
        raise OperandError(f"{source.id} has no negative numbers: name another format")
    if value.kind == "nan":
        return _nan_code(value.sign, source)
    try:
        entry = derive.arithmetic_entry(source)
    except SpecError:
        if value.kind == "inf" and known.inf is None:
            raise OperandError(f"{source.id} has no Inf: name another format") from None
        entry = derive.EntryCodes("saturate" if known.inf is None else "ieee_inf", (0, 0))
    return convert_value(value, source, nearest, entry)


def _nan_code(sign: int, source: Format) -> int:
    """Return the first NaN of a sign; where all have one sign, the canonical one. Raises: OperandError (there is none)."""
    known = derive.codes(source)
    if not known.nan:
        raise OperandError(f"{source.id} has no NaN: name another format")
    return next((code for code in known.nan if bool(code & known.sign_bit) == bool(sign)), known.nan[0])


def _value(text: str) -> Value:
    word = text.lower()
    if word in ("nan", "+nan", "-nan"):
        return Value("nan", int(word[0] == "-"))
    if word in _INFINITE:
        return Value("inf", _INFINITE[word])
    power = _POWER.match(word)
    try:
        number = Fraction(2) ** int(power[2]) * (-1 if power[1] else 1) if power else _fraction(word)
    except (ValueError, ZeroDivisionError):
        raise OperandError(f"{text!r} is no number: write 1.3, -7/4, 2^-9, inf, nan or a code like 0x3F") from None
    return Value("finite", int(word.startswith("-")), abs(number))


def _fraction(word: str) -> Fraction:
    exponent = word.partition("e")[2]
    if len(word) > 2000 or len(exponent.strip("+-0")) > 4:
        raise ValueError(word)
    return Fraction(word)


def _print(codes: list[int], found: list[int], source: Format, fmt: Format) -> None:
    rows = []
    for code, result in zip(codes, found, strict=True):
        rows.append(
            {
                "source": hex_code(code, source),
                "value": decimal_text(decode_code(code, source)),
                "code": hex_code(result, fmt),
                "decoded": decimal_text(decode_code(result, fmt)),
            }
        )
    if settings_of().json:
        print_json(rows)
        return
    print_table((list(row.values()) for row in rows), (source.id, "value", fmt.id, "decoded"), right=("value", "decoded"))


def hex_code(code: int, fmt: Format) -> str:
    """Return a code as text, with the digits that its format has."""
    return f"0x{code:0{-(-derive.codes(fmt).bits // 4)}X}"
