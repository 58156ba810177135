"""emu operate, emu query: operations of the P3109 draft on values or codes, and what a format answers about itself."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from emu.cli.convert import hex_code, parse_value
from emu.cli.settings import common_options, print_json, print_table, say, settings_of
from emu.contracts.examples import decimal_text
from emu.engines.exact.decode import decode_code
from emu.engines.numpy.convert import code_dtype
from emu.ops.operations import operate
from emu.ops.queries import CODES, query
from emu.spec import Format, get
from emu.spec.operations import OPERATIONS


@click.command("operate", context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="OPERATION")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--formats", required=True, help="Format of the operands: one for all, or one for each, comma-separated.")
@click.option("--to", default=None, help="Format of a number that comes out (default: that of the operands).")
@click.option("--rounding", default="rne", show_default=True, help="Rounding mode; one that draws nothing.")
@click.option("--policy", default="p3109_sat_none", show_default=True, help="Special-value policy; for fp32, fp16, bf16: ieee.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref or auto.")
@common_options
def operate_command(name: str, values: tuple[str, ...], formats: str, to: str | None, **how: str) -> None:
    """Operate on VALUES as IEEE P3109's draft defines it: add, fma, recip, minimum, compare_less, is_zero, next_greater_than, ...

    A VALUE is a number (1.3, -7/4, 2^-9, inf, nan), rounded to its format first (nearest even), or a code (0x3F).
    The exact result is rounded, saturated and encoded once; comparisons and classes say yes or no. docs/p3109.md names all OPERATIONS.
    """
    known = OPERATIONS.get(name)
    given: list[Format] = [get("format", item.strip()) for item in formats.split(",")]
    if len(given) == 1:
        given *= len(values)
    if known is None or len(values) != known.operands or len(given) != len(values):
        operate(name, *values, formats=given)  # says what is wrong
    codes = [parse_value(text, fmt) for text, fmt in zip(values, given, strict=True)]
    arrays = [np.array(code, code_dtype(fmt)) for code, fmt in zip(codes, given, strict=True)]
    found = operate(name, *arrays, formats=given, to=to, **how).item()
    operands = [_datum(code, fmt) for code, fmt in zip(codes, given, strict=True)]
    result = found if OPERATIONS[name].gives == "truth" else _datum(found, get("format", to) if to else given[0])
    if settings_of().json:
        print_json({"operation": name, "operands": operands, "result": result})
        return
    rows = [(f"operand {number}", *datum.values()) for number, datum in enumerate(operands, 1)]
    print_table([*rows, ("result", *(result.values() if isinstance(result, dict) else ("", "", _word(result))))],
                (name, "format", "code", "value"), right=("value",))  # fmt: skip


@click.command("query")
@click.argument("name", metavar="QUERY")
@click.argument("fmt", metavar="FORMAT")
@common_options
def query_command(name: str, fmt: str) -> None:
    """Answer a QUERY of a float FORMAT, as IEEE P3109's draft defines it: precision_of, exponent_bias_of, domain_of, max_finite_of, ...

    A width or a bias is an integer, a property a word, a number of the format a code with its value. docs/p3109.md names all QUERIES.
    """
    asked: Format = get("format", fmt)
    found = query(name, asked)
    answer = _datum(int(found), asked) if name in CODES else found
    if settings_of().json:
        print_json({"query": name, "format": asked.id, "answer": answer})
        return
    say(f"{answer['code']} = {answer['value']}" if isinstance(answer, dict) else answer)


def _datum(code: int, fmt: Format) -> dict[str, Any]:
    return {"format": fmt.id, "code": hex_code(code, fmt), "value": decimal_text(decode_code(code, fmt))}


def _word(truth: bool) -> str:
    return "true" if truth else "false"
