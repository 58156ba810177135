"""What the functions for SystemVerilog are asked about a user's objects: a descriptor, and one line for each question with its answer.

Answers are golden rows of shipped objects under another name, and what the reference model says of objects out of a seed. A line is the
kind, names, then numbers in hexadecimal digits, operands first: tests/engines/c_ref/dpi_library_bench.sv says which.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from support.descriptor_samples import drawn_format, drawn_layout, drawn_policy, drawn_rounding
from support.level_samples import drawn_datapath, drawn_row, flagged

from emu.base.errors import EmuError, OpenError, OperandError
from emu.engines.c_ref.descriptors import format_descriptor, rounding_descriptor
from emu.engines.c_ref.levels import can_levels
from emu.engines.exact import levels as in_exact
from emu.engines.exact.convert import convert_code
from emu.engines.exact.decode import decode_code
from emu.engines.exact.layout import place, size
from emu.spec import derive
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Format, Layout, Rounding, SpecObject
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get
from emu.vectors.files.suite import load

ROOT = Path(__file__).resolve().parents[2]
RECIPES = {"nvfp4_te_ref": "fp32", "ufp4_sr": "bf16"}
DRAWN = 24


def mine(kind: str, name: str, as_name: str, **facts: Any) -> Any:
    """A shipped object under a name, and with facts, that no file has."""
    model = get(kind, name)
    return model.model_copy(update={"id": as_name, "facts": model.facts.model_copy(update=facts)})


MY_FORMAT: Format = mine("format", "e3m2", "mine", bias=5, inf="ieee", nan="ieee")
MY_LAYOUT: Layout = drawn_layout(5).model_copy(update={"id": "my_layout"})


@cache
def drawn_paths() -> tuple[LevelsPlan, ...]:
    """Datapaths of levels out of a seed, some with flags, without a choice of operands, that C takes."""
    found: list[LevelsPlan] = []
    for seed in range(60):
        model = drawn_datapath(seed)
        plans = list(level_plans_of((flagged(model, Random(seed)) if seed % 2 else None) or model))
        if len(plans) == 1 and can_levels(plans[0]):
            found += plans
    return tuple(found)


def of_user() -> list[SpecObject]:
    """All that the descriptor of the test says."""
    things: list[SpecObject] = [MY_FORMAT, MY_LAYOUT, get("policy", "nvidia")]
    things += [mine("recipe", name, f"my_{name}") for name in RECIPES] + [mine("recipe", "nvfp4_te_ref", "my_recipe")]
    things += [mine("transform", "rht16_te", "my_rotation"), mine("datapath", "hopper_fp8", "my_fused")]
    things += [mine("datapath", "bf16_register_random", "my_random"), mine("datapath", "rvbna4_flags", "my_flags")]
    things += [item for seed in range(DRAWN) for item in (drawn_format(seed), drawn_rounding(seed))]
    things += [drawn_policy(seed, drawn_format(seed)) for seed in range(DRAWN)]
    return things + [plan.datapath for plan in drawn_paths()]


def golden(stem: str) -> Iterator[dict[str, int]]:
    """The rows of a suite, column by column; a mask that it does not have is all ones."""
    folder = ROOT / "vectors" / stem.partition("__")[0]
    names = [column["name"] for column in load(folder, stem).record["columns"]]
    for line in (folder / f"{stem}.tv").read_text(encoding="ascii").splitlines()[:-1]:
        yield {name: int(text, 16) for name, text in zip(names, line.split(), strict=True)}


def line(kind: str, names: list[str], *numbers: int) -> str:
    return " ".join([kind, *names, *(f"{number:x}" for number in numbers)])


def can_convert(rounding: Rounding, fmt: Format) -> bool:
    """Whether C has the rounding for the format."""
    try:
        rounding_descriptor(rounding, fmt, format_descriptor(fmt))
    except EmuError:
        return False
    return True


def conversions() -> Iterator[str]:
    rng = Random(1)
    for seed in range(DRAWN):
        source, fmt, rounding = MY_FORMAT if seed % 3 else drawn_format(seed), drawn_format(seed), drawn_rounding(seed)
        policy = drawn_policy(seed, fmt)
        if not can_convert(rounding, fmt):
            continue
        for _ in range(12):
            code = rng.getrandbits(derive.codes(source).bits)
            word = rng.getrandbits(rounding.random_bits) if rounding.random_bits else None
            try:
                want, is_open = convert_code(code, source, fmt, rounding, policy, word), 0
            except OpenError:
                want, is_open = 0, 1
            except OperandError as error:
                if "refuses" not in str(error):
                    continue
                want, is_open = 0, 2
            except EmuError:
                continue
            yield line("convert", [source.id, fmt.id, rounding.id, policy.id], code, word or 0, want, is_open)


def decodings() -> Iterator[str]:
    for code in range(64):
        value = decode_code(code, MY_FORMAT)
        number = {"nan": math.nan, "inf": math.inf}.get(value.kind, 0.0) if value.kind != "finite" else float(value.magnitude)
        bits = int.from_bytes(struct.pack(">d", math.copysign(number, -1 if value.sign and value.kind != "nan" else 1)), "big")
        fields = code & 31
        its_class = {"nan": 4, "inf": 3}.get(value.kind, 0 if not fields else 1 if fields < 4 else 2)
        yield line("decode", ["mine", "fp64"], code, its_class, bits)


def tiles() -> Iterator[str]:
    for name, source in RECIPES.items():
        (block,) = {"nvfp4_te_ref": ["nvfp4"], "ufp4_sr": ["ufp4"]}[name]
        for suite in ("directed", "smoke"):
            stem = f"quantize__{source}_to_{block}__{name}__{suite}"
            if not (ROOT / "vectors" / "quantize" / f"{stem}.tv").is_file():
                continue
            for row in golden(stem):
                tensor = "ts" in row
                levels = (row["scale"] << 32 | row["ts"]) if tensor else row["scale"]
                mask = (row["m_scale"] << 32 | 0xFFFFFFFF) if tensor else row["m_scale"] * (row["k_scale"] == 0)
                is_open = row["m_codes"] == 0
                yield line("quantize", [f"my_{name}", source], row["x"], row["n_valid"], row.get("ts", 0), row.get("r", 0), row["codes"],
                           row["m_codes"], levels, 0 if is_open else mask, is_open)  # fmt: skip
    for row in golden("dequantize__nvfp4_to_fp32__nvfp4_te_ref_te__smoke"):
        if not row["k_y"]:
            yield line("dequantize", ["my_recipe", "te", "fp32"], row["codes"], row["scale"] << 32 | row["ts"], row["y"], row["m_y"])
    for row in golden("transform__bf16_to_bf16__rht16_te__smoke"):
        if not row["k_y"]:
            yield line("transform", ["my_rotation", "bf16"], row["x"], row["sgn"], row["y"], row["m_y"])


def places() -> Iterator[str]:
    rng = Random(2)
    for _ in range(40):
        rows, codes = rng.randint(1, 70), rng.randint(1, 70)
        row, index = rng.randrange(rows), rng.randrange(codes)
        answers = place(row, index, rows, codes, MY_LAYOUT), size(rows, codes, MY_LAYOUT)
        yield line("layout", ["my_layout"], row, index, rows, codes, *answers)


def golden_dots() -> Iterator[str]:
    register = "bf16xbf16_to_bf16__bf16_register_random"
    for stem, products, draws in ((f"dot__{register}__smoke", 0, 4), (f"dot__{register}__bits", 4, 4),
                                  (f"accumulate__{register}__smoke", 16, 16)):  # fmt: skip
        for row in golden(stem):
            operands = row["a"], 0, row["b"], 0, row["c"], row["r"]
            yield line("dot", ["my_random"], products, *operands, row["d"], row["m_d"], 0, row["m_d"] == 0, draws, 8)
    for row in golden("dot__bf16xbf16_to_fp32__rvbna4_flags__directed"):
        yield line("dot", ["my_flags"], 0, row["a"], 0, row["b"], 0, row["c"], 0, row["d"], row["m_d"], row["fl"], row["m_d"] == 0, 0, 0)
    for row in golden("dot__e4m3xe4m3_to_fp32__hopper_fp8__smoke"):
        mask = 0 if row.get("k_d") else row["m_d"]
        yield line("dot", ["my_fused/e4m3xe4m3"], 0, row["a"], 0, row["b"], 0, row["c"], 0, row["d"], mask, 0, row["m_d"] == 0, 0, 0)


def packed(codes: list[int], bits: int) -> int:
    return sum(code << bits * lane for lane, code in enumerate(codes))


def width(fmt: Format | None) -> int:
    return 0 if fmt is None else derive.codes(fmt).bits + derive.unused_high_bits(fmt)


def drawn_dots() -> Iterator[str]:
    rng = Random(3)
    for plan in drawn_paths():
        facts = plan.datapath.facts
        assert isinstance(facts, DatapathLevels)
        for _ in range(6):
            row = drawn_row(plan, rng)
            if row is None or max(len(row.a), len(row.random)) > 256:
                continue
            try:
                made = in_exact.dot(row.a, row.b, row.scale_a, row.scale_b, row.c, row.random, plan)
                want, flags, is_open = made.code, made.flags, 0
            except OpenError:
                want, flags, is_open = 0, 0, 1
            except OperandError:
                want, flags, is_open = 0, 0, 2
            report = () if facts.flags is None else facts.flags.report
            raised = sum((1 if flag == "NV" else 2) for bit, flag in enumerate(report) if flags >> bit & 1)
            bits = max((draw.rounding.random_bits for draw in plan.draws(len(row.a))), default=0)
            yield line("dot", [plan.datapath.id], len(row.a), packed(row.a, width(plan.a)), packed(row.scale_a, width(plan.scale)),
                       packed(row.b, width(plan.b)), packed(row.scale_b, width(plan.scale)), row.c or 0, packed(row.random, bits),
                       want, (1 << 64) - 1, raised, is_open, len(row.random), bits)  # fmt: skip


KINDS = {
    "convert": conversions,
    "decode": decodings,
    "tiles": tiles,
    "layout": places,
    "golden dots": golden_dots,
    "drawn dots": drawn_dots,
}


ASKS = {"convert": 1, "decode": 2, "quantize": 1, "dequantize": 1, "transform": 1, "layout": 3, "dot": 2}
ANSWER = {"convert": -2, "decode": -1, "quantize": 7, "dequantize": 6, "transform": 5, "layout": -2, "dot": 9}  # a number to get wrong


def can_be_wrong(text: str) -> bool:
    """Whether the bit that is turned is compared: no open result, and its mask has it."""
    words = text.split()
    mask = {"quantize": 8, "dequantize": 7, "transform": 6, "dot": 10}.get(words[0])
    return (mask is None or bool(int(words[mask], 16) & 1)) and not (words[0] == "convert" and words[-1] != "0")


def turned(lines: list[str], name: str) -> list[str]:
    """The lines with one bit of one answer of a kind turned."""
    number = next(at for at, text in enumerate(lines) if text.split()[0] == name and can_be_wrong(text))
    words = lines[number].split()
    words[ANSWER[name]] = f"{int(words[ANSWER[name]], 16) ^ 1:x}"
    return [*lines[:number], " ".join(words), *lines[number + 1 :]]
