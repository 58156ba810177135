"""The command emu_ref: every golden vector passes its check, every damage is seen, and what it fills and makes equals the exact engine."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from support.golden import levels_stems

from emu.base.inputs import read_json
from emu.base.philox import words
from emu.contracts import contract_of
from emu.contracts.contract import Contract
from emu.contracts.dequantize.contract import DequantizeContract
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.rows import Input, make_row
from emu.contracts.transform.contract import TransformContract
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.spec.contract import parse, recipes_of_blocks
from emu.spec.operations import OPERATIONS
from emu.spec.registry import get, names
from emu.vectors.files.writers import row_lines, trailer
from emu.vectors.suites.plan import find

MAKE = shutil.which("make")
ROOT = Path(__file__).resolve().parents[3]
NOT_OF_C = ("insn",)  # emu_ref has the operations that instructions are made of
FROZEN = sorted(path.name.removesuffix(".tv") for path in (ROOT / "vectors").glob("*/*.tv"))
LEVELS = levels_stems(ROOT / "vectors", FROZEN)  # C has their functions, the command has not their tables
SERIES = [stem for stem in FROZEN if re.search("_binary[3-8]p", stem)]  # the same of formats of a series
STEMS = [stem for stem in FROZEN if not stem.startswith(NOT_OF_C) and stem not in (*LEVELS, *SERIES)]
SMALL = "convert__bf16_to_e1m2__nvidia_rne__smoke"


@pytest.fixture
def emu_ref(built: Path) -> Path:
    """The command."""
    assert {"libemu_ref.a", "libemu_ref.so", "emu_ref"} <= {path.name for path in built.iterdir()}
    return built / "emu_ref"


def call(command: Path, *words: str, text: str = "") -> tuple[int, str, str]:
    done = subprocess.run([str(command), *words], input=text.encode(), capture_output=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def result(out: str) -> dict[str, str]:
    """The one RESULT line, as fields; it is the last line."""
    lines = out.splitlines()
    assert sum(line.startswith("RESULT ") for line in lines) == 1
    form = r"RESULT (PASS|FAIL|BADFILE) reason=\w+ suite=\S+ rows_sha256=[0-9a-f]{64} compared=\d+ mismatch=\d+ x=\d+ masked=\d+"
    assert re.fullmatch(form, lines[-1])
    return {"verdict": lines[-1].split()[1]} | dict(field.split("=") for field in lines[-1].split()[2:])


def path_of(stem: str, ending: str) -> Path:
    return ROOT / "vectors" / stem.partition("__")[0] / f"{stem}{ending}"


def tv(stem: str) -> str:
    return path_of(stem, ".tv").read_text(encoding="ascii")


def passes(command: Path, stem: str, *words: str) -> None:
    desc = path_of(stem, ".desc")
    code, out, err = call(command, "check", "--desc", str(desc), *words, text=tv(stem))
    found, said = result(out), dict(line.split(" ", 1) for line in desc.read_text().splitlines()[:3])
    assert (code, err, found["verdict"], found["reason"]) == (0, "", "PASS", "none")
    assert (found["suite"], found["rows_sha256"]) == (said["stem"], said["rows_sha256"])
    assert int(found["compared"]) + int(found["masked"]) == int(said["rows"])
    assert found["mismatch"] == found["x"] == "0"


@pytest.mark.parametrize("stem", STEMS)
def test_every_golden_vector_passes(emu_ref: Path, stem: str) -> None:
    passes(emu_ref, stem)


@pytest.mark.cases(30)
@pytest.mark.parametrize("stem", SERIES)
def test_vectors_of_a_series_pass_with_a_descriptor(emu_ref: Path, tmp_path: Path, stem: str) -> None:
    """The command has no format of a series; of a file it takes the operation with each of its operands. A wrong result is seen."""
    descriptor = tmp_path / "facts.txt"
    descriptor.write_text(descriptor_text(list(find(stem).operation.name.objects)), encoding="ascii")
    passes(emu_ref, stem, "--descriptor", str(descriptor))
    lines = tv(stem).splitlines(keepends=True)
    columns = read_json(path_of(stem, ".json"))["columns"]
    at = [column["role"] for column in columns].index("out")
    row = lines[0].split()
    row[at] = format(int(row[at], 16) ^ ((1 << columns[at]["bits"]) - 1), f"0{len(row[at])}x")
    code, out, _ = call(emu_ref, "check", stem, "--descriptor", str(descriptor), text="".join([" ".join(row) + "\n", *lines[1:]]))
    assert code == 1 and result(out)["mismatch"] == "1" and "tc=1 out=y" in out


OPERATE_LINES = [
    ("operate/add/e4m3", "add: gives a number: name its format, rounding and policy"),
    ("operate/is_nan/e4m3/fp32/rne/ieee", "is_nan: gives no number to project: leave format, rounding and policy out"),
    ("operate/plus/e4m3", "plus: no such operation on numbers"),
    ("operate/add/e4m9/fp32/rne/ieee", "e4m9: no such format: see emu_ref list"),
    ("operate/fma/e4m3xe4m3/fp32/rne/ieee", "e4m3xe4m3: not a format, nor one for each operand: <a>x<b>"),
    ("operate/add/e4m3xe4m9/fp32/rne/ieee", "e4m9: no such format: see emu_ref list"),
    ("operate/add/e4m3/fp32/rne/nvidea", "nvidea: no such policy for this format: see emu_ref list"),
    ("operate/add/e4m3/fp32/rq/ieee", "rq: no such rounding: see emu_ref list"),
    ("operate/add/e4m3/fp33/rne/ieee", "fp33: no such format: see emu_ref list"),
    ("operate__e4m3_to_fp32__add_ieee_rq__all", "add_ieee_rq: no such operation with policy and rounding: see emu_ref list"),
]


@pytest.mark.parametrize(("what", "line"), OPERATE_LINES)
def test_an_operation_that_it_cannot_do_is_one_line(emu_ref: Path, what: str, line: str) -> None:
    assert call(emu_ref, "fill", what) == (2, "", f"emu_ref: {line}\n")


def test_operations_on_shipped_formats_are_filled_without_a_file(emu_ref: Path) -> None:
    """Every operation by its name, in the order of the library's numbers: what fill writes is what the contract says."""
    for name, known in OPERATIONS.items():
        parts = ["e4m3xe5m2" if known.operands == 2 else "e4m3", *(("fp16", "rz", "ieee") if known.gives == "number" else ())]
        contract = parse("/".join(("operate", name, *parts)))
        op = contract_of(contract)
        rows = [(at * 37 + 5 & 0x7D, 0x4A - at, 0x39, 0xB8 + at)[: known.operands] for at in range(6)]
        text = "".join(" ".join(f"{code:02x}" for code in row) + "\n" for row in rows)
        code, out, err = call(emu_ref, "fill", str(contract), text=text)
        made = [make_row(op.layout, Input("", (), row), op.exact(row)) for row in rows]
        assert (code, err) == (0, "") and out.splitlines() == [*row_lines(op.layout, made), trailer(op.layout, len(rows))], name


def test_every_golden_vector_is_asked() -> None:
    assert len(STEMS) > 100
    found = {stem.partition("__")[0] for stem in STEMS}
    assert found == {"decode", "convert", "quantize", "dequantize", "transform", "dot", "accumulate", "layout"}
    assert {stem.partition("__")[0] for stem in SERIES} == {"convert", "operate"}


def test_what_the_command_does_not_know_is_refused(emu_ref: Path) -> None:
    others = [stem for stem in FROZEN if stem.startswith(NOT_OF_C)]
    assert {stem.partition("__")[0] for stem in others} == set(NOT_OF_C)
    for stem in (others[0], others[-1]):
        code, out, err = call(emu_ref, "check", "--desc", str(path_of(stem, ".desc")), text=tv(stem))
        assert (code, out) == (2, "") and "no such suite" in err
    assert len(LEVELS) > 15
    for stem in LEVELS:
        code, out, err = call(emu_ref, "check", "--desc", str(path_of(stem, ".desc")), text=tv(stem))
        assert (code, out) == (2, "") and "no such datapath" in err


def test_a_row_with_an_erratum_is_masked_where_a_digest_vouches_for_the_rows(emu_ref: Path) -> None:
    stem = "quantize__bf16_to_mxfp4__mxfp4_aiter_triton__smoke"
    code, out, _ = call(emu_ref, "check", "--desc", str(path_of(stem, ".desc")), text=tv(stem))
    assert (code, result(out)["masked"], result(out)["mismatch"]) == (0, "1", "0")
    code, out, _ = call(emu_ref, "check", stem, text=tv(stem))  # nobody says that these are the published rows
    assert (code, result(out)["masked"], result(out)["mismatch"]) == (1, "0", "1")


@pytest.mark.parametrize("column", ["y", "m_y"])
def test_a_flipped_bit_is_seen(emu_ref: Path, column: str) -> None:
    lines = tv(SMALL).splitlines()
    place = [item.name for item in find(SMALL).operation.layout.columns].index(column) + 1
    for number in (0, 7, len(lines) - 2):
        fields = lines[number].split()
        fields[place] = f"{int(fields[place], 16) ^ 1:x}"
        text = "\n".join([*lines[:number], " ".join(fields), *lines[number + 1 :]]) + "\n"
        code, out, _ = call(emu_ref, "check", SMALL, text=text)
        assert (code, result(out)["verdict"], result(out)["mismatch"]) == (1, "FAIL", "1")
        (line,) = [line for line in out.splitlines() if line.startswith("MISMATCH ")]
        assert line.startswith(f"MISMATCH suite={SMALL} tc={number + 1} out={column} in={fields[1]} want=")


def test_at_most_three_mismatches_are_listed(emu_ref: Path) -> None:
    lines = tv(SMALL).splitlines()
    wrong = [" ".join([*line.split()[:2], f"{int(line.split()[2], 16) ^ 8:x}", line.split()[3]]) for line in lines[:-1]]
    code, out, _ = call(emu_ref, "check", SMALL, text="\n".join([*wrong, lines[-1]]) + "\n")
    assert (code, result(out)["mismatch"], out.count("MISMATCH ")) == (1, str(len(wrong)), 3)


def damaged() -> dict[str, tuple[str, str]]:
    """What can go wrong with a file, and the reason that the command gives."""
    text = tv(SMALL)
    lines = text.splitlines(keepends=True)
    first = lines[0]
    return {
        "trailer missing": ("".join(lines[:-1]), "count"),
        "last line end missing": (text[:-1], "count"),
        "cut in a line": (text[: len(text) // 2 + 3], "count"),
        "row missing": ("".join(lines[1:]), "count"),
        "row twice": (first + text, "count"),
        "text after the trailer": (text + "\n", "count"),
        "empty": ("", "count"),
        "x digit": (text.replace(first, first[:3] + "x" + first[4:], 1), "x"),
        "z digit in a result": (text.replace(first, first[:7] + "z" + first[8:], 1), "x"),
        "upper case": (text.replace("ff", "FF"), "guard"),
        "digit missing": (text.replace(first, first[:2] + first[3:], 1), "guard"),
        "digit too many": (text.replace(first, first[:-1] + "0\n", 1), "guard"),
        "no guard": (text.replace(first, "b" + first[1:], 1), "guard"),
        "two spaces": (text.replace(first, first.replace(" ", "  ", 1), 1), "guard"),
        "comment": ("// a comment\n" + text, "guard"),
        "blank line": ("\n" + text, "guard"),
        "carriage return": (text.replace("\n", "\r\n"), "count"),
        "trailer count": (text.replace(lines[-1], lines[-1][:-2] + "1\n"), "count"),
        "long line": ("a" * 70000 + "\n" + text, "count"),
    }


@pytest.mark.parametrize("what", sorted(damaged()))
def test_a_damaged_file_is_refused(emu_ref: Path, what: str) -> None:
    text, reason = damaged()[what]
    code, out, err = call(emu_ref, "check", SMALL, text=text)
    assert (code, result(out)["verdict"], result(out)["reason"]) == (2, "BADFILE", reason)
    assert result(out)["x"] == ("1" if reason == "x" else "0")
    assert re.fullmatch(r"emu_ref: line \d+: .+\n", err)


def test_rows_of_another_file_are_refused(emu_ref: Path, tmp_path: Path) -> None:
    lines = tv(SMALL).splitlines(keepends=True)
    desc = path_of(SMALL, ".desc")
    layout = find(SMALL).operation.layout
    fewer = "".join(lines[:5]) + trailer(layout, 5) + "\n"
    assert call(emu_ref, "check", SMALL, text=fewer)[0] == 0
    code, out, _ = call(emu_ref, "check", "--desc", str(desc), text=fewer)
    assert (code, result(out)["reason"]) == (2, "count")
    swapped = "".join([lines[1], lines[0], *lines[2:]])
    code, out, _ = call(emu_ref, "check", "--desc", str(desc), text=swapped)
    assert (code, result(out)["reason"]) == (2, "count")
    other = tmp_path / "a.desc"
    other.write_text(desc.read_text().replace("col y out 4", "col y out 3"))
    assert call(emu_ref, "check", "--desc", str(other), text=tv(SMALL))[0] == 2
    assert call(emu_ref, "check", "--desc", str(tmp_path / "none.desc"), text=tv(SMALL))[0] == 2
    other.write_text(desc.read_text())
    assert call(emu_ref, "check", "--desc", str(other), text=tv(SMALL))[0] == 0
    code, _, err = call(emu_ref, "check", SMALL.replace("nvidia_rne", "nvidia_rz"), "--desc", str(other), text=tv(SMALL))
    assert code == 2 and err.endswith("of another suite than the one that is named\n")
    stem, rows, digest, *_ = desc.read_text().splitlines(keepends=True)
    text = desc.read_text()
    for wrong in (text + digest, text + rows, text + stem, text + "\u00e9\n", text.replace(rows, ""), text.rstrip("\n"),
                  text.replace(rows, rows.replace("\n", "\r\n"))):  # fmt: skip
        other.write_text(wrong, newline="")
        code, _, err = call(emu_ref, "check", "--desc", str(other), text=tv(SMALL))
        assert code == 2 and "damaged: each line in ASCII" in err


def test_nothing_compared_is_not_a_pass(emu_ref: Path) -> None:
    code, out, _ = call(emu_ref, "check", SMALL, text="e 0000 0 0\n")
    assert (code, result(out)["compared"]) == (3, "0")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["chek", SMALL],
        ["check"],
        ["check", "convert/e2m1/rne"],
        ["check", "convert/e2m1/rne/nobody"],
        ["check", "convert/e2m1/rn/nvidia", "--source", "fp31"],
        ["check", "convert/nf4/odd/nvidia"],
        ["check", "decode/e9m9"],
        ["check", "quantize/nobody"],
        ["check", "quantize/nvfp4_te_ref", "--source", "x"],
        ["check", "quantize__bf16_to_mxfp4__nvfp4_te_ref__smoke"],
        ["check", "dequantize/nvfp4_te_ref/nobody"],
        ["check", "transform/nobody"],
        ["gen", "quantize/nvfp4_te_ref", "--all"],
        ["check", "a__b_to_c__d__e"],
        ["check", "plain"],
        ["check", SMALL, "extra"],
        ["check", SMALL, "--fast"],
        ["check", SMALL, "--desc"],
        ["gen", SMALL, "--random", "-1"],
        ["gen", SMALL, "--random", "5", "--all"],
        ["gen", "decode/e2m1", "--source", "bf16"],
        ["gen", "decode/e2m1", "--result", "bf16"],
        ["gen", "convert/e2m1/rne/nvidia", "--result", "bf16"],
        ["gen", "quantize/nvfp4_te_ref", "--result", "bf16"],
        ["gen", "dot/blackwell_mxf4nvf4_b16_ue4m3", "--random", "1", "--source", "bf16"],
        ["gen", "decode__e2m1_to_fp32__exact__all", "--source", "fp32"],
        ["gen", "convert__bf16_to_e2m1__nvidia_rne__smoke", "--source", "bf16"],
        ["gen", SMALL, "--key", "3"],
        ["gen", SMALL, "--desc", "x.desc"],
        ["fill", SMALL, "--all"],
        ["fill", SMALL, "--desc", "x.desc"],
        ["check", SMALL, "--directed"],
        ["check", SMALL, "--random", "5"],
        ["gen", SMALL, "--random", "18446744073709551616"],
        ["gen", "convert/e2m1/rne/nvidia", "--all"],
        ["check", "convert/" + "e" * 300 + "/rne/nvidia"],
    ],
)
def test_misuse_is_one_line(emu_ref: Path, words: list[str]) -> None:
    code, out, err = call(emu_ref, *words)
    assert code == 2
    assert err.startswith("emu_ref ") if not words else re.fullmatch(r"emu_ref: .+\n", err)
    assert "RESULT PASS" not in out


MISNAMED = [
    ("decode__e2m1_to_fp32__exact__all", "_to_bf16__", "bf16: not the format that comes out here"),
    ("transform__bf16_to_bf16__rht16_te__smoke", "_to_fp32__", "fp32: not the format that comes out here"),
    ("dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke", "_to_e2m2__", "e2m2: not the format that comes out here"),
    ("accumulate__e1m2xe1m2_ue4m3_to_fp32__int64_b16__smoke", "_to_fp16__", "fp16: not the format that comes out here"),
    ("layout__nvfp4_to_row_major__row_major__smoke", "_to_sf8x4__", "sf8x4: not the layout of this suite"),
    ("quantize__bf16_to_nvfp4__nvfp4_te_ref__smoke", "_to_mxfp4__", "mxfp4: not the block format of this recipe"),
]


@pytest.mark.parametrize(("stem", "other", "line"), MISNAMED)
def test_a_stem_that_names_another_result_is_refused(emu_ref: Path, stem: str, other: str, line: str) -> None:
    """The rows are right, and would pass under their own name: only what the stem says comes out is another thing."""
    old = "_to_" + stem.partition("_to_")[2].partition("__")[0] + "__"
    assert call(emu_ref, "check", stem, text=tv(stem))[0] == 0
    assert call(emu_ref, "check", stem.replace(old, other), text=tv(stem)) == (2, "", f"emu_ref: {line}\n")


def test_a_comparison_gives_truth_and_decode_is_exact(emu_ref: Path) -> None:
    code, out, err = call(emu_ref, "fill", "operate__e2m1xe2m1_to_truth__compare_less__all", text="1 2\n")
    assert (code, out.splitlines()[0], err) == (0, "a 0 1 2 1 1", "")
    said = call(emu_ref, "fill", "operate__e2m1xe2m1_to_bf16__compare_less__all", text="1 2\n")
    assert said == (2, "", "emu_ref: bf16: not what comes out: truth does\n")
    code, _, err = call(emu_ref, "gen", "decode__e2m1_to_fp32__rne__all", "--all")
    assert code == 2 and "no such suite" in err


def reference_model_lines(lines: list[str], op: Contract) -> list[str]:
    """The rows that the reference model makes of the inputs of some lines."""
    rows = []
    columns = [column.name for column in op.layout.columns]
    inputs = [columns.index(column.name) + 1 for column in op.layout.inputs]
    for line in lines:
        values = tuple(int(line.split()[place], 16) for place in inputs)
        rows.append(make_row(op.layout, Input("all", (), values), op.exact(values)))
    return row_lines(op.layout, rows)


SUITES = [
    SMALL,
    "convert__fp32_to_e2m1__nvidia_sr_add8__directed",
    "convert__fp32_to_ue5m3__nvidia_rne__smoke",
    "decode__ue4m3_to_fp32__exact__all",
    "dequantize__if4_to_fp32__if4_mae_f46__smoke",
    "dequantize__nvfp4_to_fp32__nvfp4_te_ref_te__smoke",
    "quantize__bf16_to_hif4__hif4__smoke",
    "quantize__bf16_to_mxfp4__mxfp4_te_pow2__smoke",
    "quantize__bf16_to_ufp4__ufp4_sr__smoke",
    "quantize__fp16_to_nvfp4_tile16__nvfp4_te_2d_ref__smoke",
    "quantize__fp32_to_nvfp4__nvfp4_te_ref__directed",
    "transform__bf16_to_bf16__rht16_ufp4__smoke",
    "transform__bf16_to_fp32__rht16_te_fp32__smoke",
]
MOST_ROWS, MOST_TILES = 400, 48  # that the reference model derives of one file


@pytest.mark.cases(2, 12)
@pytest.mark.parametrize("stem", SUITES)
@pytest.mark.parametrize("choice", [["--directed"], ["--random", "300", "--key", "7"]], ids=["directed", "random"])
def test_gen_equals_the_reference_model(emu_ref: Path, stem: str, choice: list[str]) -> None:
    code, out, err = call(emu_ref, "gen", stem, *choice)
    assert (code, err) == (0, "")
    assert len(out.splitlines()) > 200 or choice[0] == "--directed"
    *lines, last = out.splitlines()
    assert last == trailer(find(stem).operation.layout, len(lines))
    chosen = lines[:: -(-len(lines) // (MOST_ROWS if stem.startswith(("decode", "convert")) else MOST_TILES))]
    assert chosen == reference_model_lines(chosen, find(stem).operation)
    assert call(emu_ref, "gen", stem, *choice)[1] == out
    code, out, _ = call(emu_ref, "check", stem, text=out)
    assert (code, result(out)["verdict"]) == (0, "PASS")


def block_operations() -> list[Contract]:
    """Every recipe, profile and transform, from or to bf16."""
    recipes = [QuantizeContract.of(parse(f"quantize/{name}"), "bf16") for name in recipes_of_blocks()]
    profiles = [
        DequantizeContract.of(parse(f"dequantize/{name}/{profile}"), "bf16")
        for name in recipes_of_blocks()
        for profile in get("recipe", name).facts.dequantize
    ]
    return [*recipes, *profiles, *(TransformContract.of(parse(f"transform/{name}"), "bf16") for name in names("transform"))]


@pytest.mark.cases(10, 60)
@pytest.mark.parametrize("op", block_operations(), ids=lambda op: str(op.name))
def test_every_tile_contract_equals_the_reference_model(emu_ref: Path, op: Contract) -> None:
    words = [str(op.name), "--result" if op.opens == "result" else "--source", "bf16"]
    drawn = call(emu_ref, "gen", *words, "--random", "3")[1].splitlines()[:-1]
    chosen = call(emu_ref, "gen", *words, "--directed")[1].splitlines()[:-1]
    lines = [*drawn, *chosen[:: -(-len(chosen) // 3)]]
    assert len(lines) >= 5
    assert lines == reference_model_lines(lines, op)


def test_gen_makes_every_code(emu_ref: Path) -> None:
    out = call(emu_ref, "gen", SMALL, "--all")[1]
    assert [line.split()[1] for line in out.splitlines()[:-1]] == [f"{code:04x}" for code in range(1 << 16)]
    frozen = "decode__e4m3_to_fp32__exact__all"
    assert call(emu_ref, "gen", frozen)[1] == tv(frozen)


def test_gen_finds_every_threshold(emu_ref: Path) -> None:
    """Where two neighbouring bf16 codes give different results, directed rows hold both."""
    every = [line.split()[1:3] for line in call(emu_ref, "gen", SMALL, "--all")[1].splitlines()[:-1]]
    there = {line.split()[1] for line in call(emu_ref, "gen", SMALL, "--directed")[1].splitlines()[:-1]}
    edges = {code for (a, x), (b, y) in pairwise(every) if x != y for code in (a, b)}
    assert len(edges) > 25
    assert edges <= there


def test_random_rows_are_philox(emu_ref: Path) -> None:
    out = call(emu_ref, "gen", "convert/e2m1/rne/nvidia", "--random", "3", "--key", "5")[1]
    drawn = words(5, 3 * 4096).tolist()
    codes = [line.split()[1] for line in out.splitlines()[:-1]]
    assert (codes[0], codes[2]) == (f"{drawn[0]:08x}", f"{drawn[8192]:08x}")


@pytest.mark.parametrize("stem", [stem for stem in SUITES if stem in STEMS])
def test_fill_gives_back_the_golden_rows(emu_ref: Path, stem: str) -> None:
    text, layout = tv(stem), find(stem).operation.layout
    columns = [column.name for column in layout.columns]
    inputs = [columns.index(column.name) + 1 for column in layout.inputs]
    given = [" ".join(line.split()[place] for place in inputs) for line in text.splitlines()[:-1]]
    code, out, err = call(emu_ref, "fill", stem, text="\n".join(given) + "\n")
    assert (code, err, out) == (0, "", text)


def test_fill_takes_rows_with_and_without_a_guard(emu_ref: Path) -> None:
    words = ("fill", "convert/e2m1/sr_add8/nvidia", "--source", "int4")
    plain = call(emu_ref, *words, text="a 7f\n3 00\n")
    assert plain == call(emu_ref, *words, text="a a 7f\na 3 00\n")
    assert plain == (0, "a a 7f f f\na 3 00 5 f\ne 0 00 0 2\n", "")


@pytest.mark.parametrize("text", ["", "3f80", "3f8\n", "3f80 \n", "3f80 00\n", "3fg0\n", "3F80\n", "\n"])
def test_fill_refuses_what_is_no_input(emu_ref: Path, text: str) -> None:
    code, out, err = call(emu_ref, "fill", SMALL, text=text)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"emu_ref: .+\n", err)


def test_list_names_what_a_contract_can_name(emu_ref: Path) -> None:
    lines = call(emu_ref, "list")[1].splitlines()
    assert {"format e2m1", "format fp4 = e2m1", "rounding rne", "policy nvidia to e2m1", "recipe nvfp4_te_ref"} <= set(lines)
    for kind in ("format", "rounding", "recipe", "transform"):
        assert {f"{kind} {name}" for name in names(kind)} == {line for line in lines if line.startswith(f"{kind} ") and "=" not in line}
    profiles = {f"profile {name}/{profile}" for name in names("recipe") for profile in get("recipe", name).facts.dequantize}
    assert profiles == {line for line in lines if line.startswith("profile ")}
    assert call(emu_ref, "list", "all")[0] == 2


@pytest.mark.cases(0, 0)  # .ci/c-reference sanitizers does it for the whole reference
def test_the_command_runs_clean_under_the_sanitizers(checkout: Path, tmp_path: Path) -> None:
    if MAKE is None or shutil.which("gcc") is None:
        pytest.skip("no make or no gcc here (Debian: make gcc)")
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    (tmp_path / "probe.c").write_text("int main(void) { return 0; }\n")
    probe = subprocess.run(["gcc", *sanitize, "probe.c", "-o", "probe"], cwd=tmp_path, capture_output=True)
    if probe.returncode or subprocess.run(["./probe"], cwd=tmp_path).returncode:
        pytest.skip("the compiler has no sanitizers here")
    sources = sorted(str(path) for pattern in ("src/*/*.c", "tool/*.c") for path in (checkout / "c_ref").glob(pattern))
    done = subprocess.run(["gcc", "-std=c99", "-O1", *sanitize, *sources, "-o", "emu_ref"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    command = tmp_path / "emu_ref"
    for stem in STEMS:
        assert call(command, "check", "--desc", str(path_of(stem, ".desc")), text=tv(stem))[::2] == (0, ""), stem
    for text, _ in damaged().values():
        assert call(command, "check", SMALL, text=text)[0] == 2
    for stem in SUITES:
        assert call(command, "gen", stem, "--random", "9")[::2] == (0, "")


def test_the_digest_is_sha256(emu_ref: Path) -> None:
    for count in (1, 3, 4, 5, 48):
        lines = tv(SMALL).splitlines(keepends=True)[:count]
        text = "".join(lines) + trailer(find(SMALL).operation.layout, count) + "\n"
        assert result(call(emu_ref, "check", SMALL, text=text)[1])["rows_sha256"] == hashlib.sha256("".join(lines).encode()).hexdigest()
