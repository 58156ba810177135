"""The command emu_ref on dot products: rows that it fills equal the reference model in the result, every stage and every mask."""

from __future__ import annotations

import subprocess
from itertools import groupby
from pathlib import Path
from random import Random

import pytest

from emu.base.errors import OpenError
from emu.engines.c_ref import datapath as native
from emu.engines.c_ref._c import ffi, lib
from emu.engines.exact.datapath import dot
from emu.engines.exact.datapath_stages import Stage, stage_codes, stage_columns
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve
from emu.spec.models import Format
from emu.spec.registry import get, names
from emu.strategies import edge_codes, is_finite_code

MOST_COLUMNS = 8  # more terms than this are lanes of one column
Column = tuple[str, int, list[str]]  # name, bits of a lane, the stages in its lanes


@pytest.fixture
def emu_ref(built: Path) -> Path:
    """The command."""
    return built / "emu_ref"


def call(command: Path, *words: str, text: str = "") -> tuple[int, str, str]:
    done = subprocess.run([str(command), *words], input=text.encode(), capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def known() -> list[str]:
    """Return the datapaths that can be computed."""
    found = []
    for name in names("datapath"):
        try:
            known_facts(get("datapath", name))
        except OpenError:
            continue
        found.append(name)
    return found


def plans_of(name: str) -> list[DatapathPlan]:
    """Return every choice of operands."""
    facts = get("datapath", name).facts
    blocks, scales = facts.scale.blocks or (None,), facts.scale.formats or (None,)
    return [resolve(name, a, b, scale, block) for a, b in pairs(facts) for scale in scales for block in blocks]


def stored_bits(fmt: Format) -> int:
    return derive.codes(fmt).bits + derive.unused_high_bits(fmt)


def hex_of(codes: list[int], bits: int) -> str:
    """Return lanes as one column, lane 0 in the low bits."""
    return f"{sum(code << (bits * lane) for lane, code in enumerate(codes)):0{-(-bits * len(codes) // 4)}x}"


def columns_of(plan: DatapathPlan) -> list[Column]:
    """Return the stage columns of one instruction; runs of many terms are one column."""
    runs = groupby(stage_columns(plan, plan.facts.k // plan.step), key=lambda stage: (stage.name.rstrip("0123456789"), stage.bits))
    out: list[Column] = []
    for (head, bits), run in runs:
        stages: list[Stage] = list(run)
        if len(stages) > MOST_COLUMNS:
            out.append((head, bits, [stage.name for stage in stages]))
        else:
            out += [(stage.name, bits, [stage.name]) for stage in stages]
    return out


def draw(random: Random, plan: DatapathPlan) -> tuple[list[int], list[int], list[int], list[int], int]:
    """Return the operands of one instruction: edges or anything, at times all finite, scales close together or not."""

    def codes(fmt: Format | None, count: int) -> list[int]:
        if fmt is None:
            return []
        finite, style, middle = random.random() < 0.8, random.random(), random.getrandbits(derive.codes(fmt).bits)
        found = []
        for _ in range(count):
            code = random.choice(edge_codes(fmt)) if style < 0.3 else random.getrandbits(derive.codes(fmt).bits)
            code = (middle + random.randrange(5)) & ((1 << derive.codes(fmt).bits) - 1) if style > 0.7 else code
            found.append(0 if finite and not is_finite_code(code, fmt) else code)
        return found

    k = plan.facts.k
    blocks = k // plan.block if plan.block else 0
    a, b = codes(plan.a, k), codes(plan.b, k)
    scale_a, scale_b = codes(plan.scale, blocks), codes(plan.scale, blocks)
    if plan.scale is not None and derive.unused_high_bits(plan.scale) and random.random() < 0.1:
        scale_a[0] |= 1 << derive.codes(plan.scale).bits
    return a, b, scale_a, scale_b, codes(plan.c, 1)[0]


def inputs_of(plan: DatapathPlan, a: list[int], b: list[int], scale_a: list[int], scale_b: list[int], c: int) -> str:
    """Return the input columns."""
    fields = [hex_of(a, stored_bits(plan.a)), hex_of(b, stored_bits(plan.b)), hex_of([c], stored_bits(plan.c))]
    if plan.scale is not None:
        fields.insert(1, hex_of(scale_a, stored_bits(plan.scale)))
        fields.insert(3, hex_of(scale_b, stored_bits(plan.scale)))
    return " ".join(fields)


def wanted(plan: DatapathPlan, a: list[int], b: list[int], scale_a: list[int], scale_b: list[int], c: int) -> str:
    """Return the columns that follow the inputs, by the reference model."""
    columns, found, code = columns_of(plan), {}, None
    is_open = plan.scale is not None and any(scale >> derive.codes(plan.scale).bits for scale in (*scale_a, *scale_b))
    if not is_open:
        result = dot(a, b, scale_a, scale_b, c, plan)
        code = result.code
        for number, step in enumerate(result.steps):
            found |= {} if step.special is not None else stage_codes(step, number, plan)
    bits = stored_bits(plan.d)
    values = [hex_of([code or 0], bits)] + [hex_of([found.get(name, 0) for name in lanes], width) for _, width, lanes in columns]
    masks = [hex_of([0 if code is None else (1 << bits) - 1], bits)]
    masks += [hex_of([(1 << width) - 1 if name in found else 0 for name in lanes], width) for _, width, lanes in columns]
    kinds = []
    if plan.facts.special.nan == "any":
        kinds = [str(int(code is not None and derive.is_nan_code(code, plan.d)))]
    return " ".join([*values, *masks, *kinds])


@pytest.mark.cases(15)
@pytest.mark.parametrize("name", known())
def test_filled_rows_are_the_reference_model(emu_ref: Path, name: str) -> None:
    random = Random(name)
    plans = plans_of(name)
    for plan in random.sample(plans, min(6, len(plans))):
        cases = [draw(random, plan) for _ in range(8)]
        text = "".join(inputs_of(plan, *case) + "\n" for case in cases)
        code, out, err = call(emu_ref, "fill", f"dot/{plan.name}", text=text)
        assert (code, err) == (0, ""), plan.name
        lines = [f"a {inputs_of(plan, *case)} {wanted(plan, *case)}" for case in cases]
        assert out.splitlines()[:-1] == lines, plan.name
        code, checked, err = call(emu_ref, "check", f"dot/{plan.name}", text=out)
        assert (code, err) in ((0, ""), (3, "")), plan.name
        assert checked.startswith("RESULT PASS reason=none ")


def test_a_chain_hands_its_state_on(emu_ref: Path) -> None:
    """The two rows of the conventions for golden vectors, on whole instructions: a register goes from row to row, d comes at the end."""
    plan, random = resolve("int64", "e1m2", "e1m2", "ue4m3", 16), Random(3)
    a, b = ([random.getrandbits(4) for _ in range(192)] for _ in range(2))
    scale_a, scale_b = ([random.randrange(0x28, 0x48) for _ in range(12)] for _ in range(2))
    c, acc, lines, results = 0x40490FDB, 0, [], []
    for number in range(3):
        k, blocks = slice(64 * number, 64 * number + 64), slice(4 * number, 4 * number + 4)
        lines.append(f"{int(number == 0)} {int(number == 2)} {inputs_of(plan, a[k], b[k], scale_a[blocks], scale_b[blocks], c)} {acc:016x}")
        acc = (acc + (dot(a[k], b[k], scale_a[blocks], scale_b[blocks], c, plan).accumulator or 0)) % (1 << 64)
        d = dot(a, b, scale_a, scale_b, c, plan).code if number == 2 else 0
        results.append(f"{d:08x} {acc:016x} {'ffffffff' if number == 2 else '00000000'} {'f' * 16}")
    code, out, err = call(emu_ref, "fill", f"accumulate/{plan.name}", text="\n".join(lines) + "\n")
    assert (code, err) == (0, "")
    assert out.splitlines()[:-1] == [f"a {line} {result}" for line, result in zip(lines, results, strict=True)]
    edge = lines[0].rsplit(" ", 1)[0]
    code, out, _ = call(emu_ref, "fill", f"accumulate/{plan.name}", text=f"{edge} 7fffffffffffffff\n{edge} 8000000000000000\n")
    masks = [line.split()[-2:] for line in out.splitlines()[:-1]]
    assert sorted(masks) == [["00000000", "0" * 16], ["00000000", "f" * 16]]  # one of the two overflows, whatever the sign of the sum is
    nan = lines[2].replace(" 40490fdb ", " 7fc00000 ")
    code, out, _ = call(emu_ref, "fill", f"accumulate/{plan.name}", text=f"{nan}\n")
    assert out.splitlines()[0].split()[-4:] == ["7fffffff", "0" * 16, "ffffffff", "0" * 16]


@pytest.mark.parametrize("name", known())
def test_stage_widths_are_those_of_the_spec(name: str) -> None:
    for plan in plans_of(name):
        found = ffi.new("emu_widths *")
        assert lib.emu_derive_widths(native.datapath_descriptor(plan).pointer, found) == lib.EMU_OK
        bits = {stage.name: stage.bits for stage in stage_columns(plan)}
        if plan.facts.scale.apply != "promote":
            assert found.sum_bits == bits["u0_s"] == bits["u0_xa0"], plan.name
        if plan.late_c is not None:
            assert found.part_bits == bits["u0_p0"], plan.name


def test_stems_name_datapaths_with_their_operands(emu_ref: Path) -> None:
    stems = {
        "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke": "dot/blackwell_mxf4nvf4_b16_ue4m3",
        "dot__e1m2xint4_ue5m3_to_fp32__nv_like_b32__directed": "dot/nv_like/e1m2xint4/ue5m3/32",
        "dot__e4m3xe5m2_to_fp32__hopper_fp8__smoke": "dot/hopper_fp8/e4m3xe5m2",
        "dot__e1m2xe1m2_fp32_to_fp32__promote_b64__smoke": "dot/promote/e1m2xe1m2/64",
        "dot__e2m1xe2m1_ue4m3_to_fp32__int64_b16__smoke": "dot/int64/e2m1xe2m1/16",
        "accumulate__fp16xfp16_to_fp16__hopper_fp16_f16__smoke": "accumulate/hopper_fp16_f16",
    }
    for stem, contract in stems.items():
        code, out, err = call(emu_ref, "gen", stem, "--random", "3", "--key", "5")
        assert (code, err) == (0, ""), stem
        assert call(emu_ref, "gen", contract, "--random", "3", "--key", "5") == (0, out, "")
        assert call(emu_ref, "check", stem, text=out)[0] == 0


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("dot/nothing", "nothing: no such datapath with these operands: see emu_ref list"),
        ("dot/nv_like", "nv_like: no such datapath with these operands"),
        ("dot/nv_like/e1m2xe1m2/ue4m3/16/8", "no such contract"),
        ("dot/nv_like/e1m2xe1m2/ue4m3/16/8/9", "not a contract"),
        ("dot__e2m1_to_fp32__nv_like_b16__smoke", "nv_like_b16: no such datapath with these operands"),
        ("dot__e2m1xe2m1_e8m0_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke", "no such datapath with these operands"),
        ("dot__e2m1xe2m1_to_fp32__nothing__smoke", "nothing: no such datapath with these operands"),
    ],
)
def test_what_names_no_datapath_is_refused(emu_ref: Path, what: str, words: str) -> None:
    code, out, err = call(emu_ref, "fill", what)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("contract", ["dot/blackwell_mxf4nvf4_b16_ue4m3", "dot/ideal/e1m2xe1m2/e8m0/16", "dot/cdna3_fp8/e4m3fnuzxe4m3fnuz"])
@pytest.mark.parametrize("words", [("--directed",), ("--random", "40", "--key", "9")])
def test_made_rows_are_checked_and_reach_specials(emu_ref: Path, contract: str, words: tuple[str, ...]) -> None:
    code, out, err = call(emu_ref, "gen", contract, *words)
    assert (code, err) == (0, "")
    rows = out.splitlines()[:-1]
    assert len(rows) >= 40
    assert len(set(rows)) > len(rows) * 9 // 10
    assert call(emu_ref, "check", contract, text=out)[0] == 0
    column = 6 if "cdna3" not in contract else 4
    results = {int(row.split()[column], 16) for row in rows}
    assert len(results) > 20
    if words == ("--directed",):
        assert {0x7F800000, 0xFF800000, 0} <= results


def test_every_contract_is_listed(emu_ref: Path) -> None:
    code, out, err = call(emu_ref, "list")
    assert (code, err) == (0, "")
    listed = {line.removeprefix("datapath ") for line in out.splitlines() if line.startswith("datapath ") and " = " not in line}
    assert listed == {plan.name for name in known() for plan in plans_of(name)}
