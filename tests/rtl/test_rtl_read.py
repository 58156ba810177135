"""The reader of golden rows for benches in Python: equal to the suites, alone in a folder, and strict about every defect of a file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from emu_rows import FLOATS, Score, Suite, is_nan, judge_column, read_suite, rows
from support.golden import recounted

from emu.base.errors import FileError
from emu.contracts.columns import layout_from
from emu.spec import derive
from emu.spec.registry import get
from emu.vectors.files.lint import parse_mem

STEM = "convert__bf16_to_e2m1__nvidia_rne__directed"
DECODE = "decode__e4m3_to_fp32__exact__all"
DOT = "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__smoke"


def place(checkout: Path, stem: str, ending: str = ".mem") -> Path:
    return checkout / "vectors" / stem.partition("__")[0] / (stem + ending)


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A suite in a folder of its own; its .mem file."""
    for path in (checkout / "vectors/convert").glob(f"{STEM}.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / f"{STEM}.mem"


@pytest.mark.parametrize("stem", [STEM, DECODE, DOT])
@pytest.mark.parametrize("ending", [".mem", ".tv"])
def test_rows_are_those_of_the_suite(checkout: Path, stem: str, ending: str) -> None:
    record = json.loads(place(checkout, stem, ".json").read_text())
    layout = layout_from(record["columns"])
    found = list(rows(place(checkout, stem, ending), stages=True))
    assert len(found) == record["numberOfTests"] > 0
    for number, (row, known) in enumerate(zip(found, parse_mem(place(checkout, stem).read_bytes(), stem, layout, 1), strict=True), 1):
        values = {column.name: value for column, value in zip(layout.columns, known.values, strict=True)}
        assert (row.tc, row.flags) == (number, known.flags if ending == ".mem" or "tests" in record["groups"][0] else ())
        assert row.inputs == {column.name: values[column.name] for column in layout.inputs}
        assert row.expected == {column.name: values[column.name] for column in layout.results}
        assert row.masks == {column.name: values["m_" + column.name] for column in layout.results}
        assert row.kinds == {column.name: values["k_" + column.name] for column in layout.results if column.any_nan}
    assert all("u0_s" not in row.expected for row in rows(place(checkout, stem, ending)))


def test_without_the_json_the_desc_says_enough(copy: Path) -> None:
    whole = read_suite(copy)
    copy.with_suffix(".json").unlink()
    assert read_suite(copy).rows == whole.rows
    assert read_suite(copy.with_suffix(".tv")).rows == tuple(row._replace(flags=()) for row in whole.rows)
    copy.with_suffix(".desc").unlink()
    with pytest.raises(FileError, match=r"no .*\.json beside it and no"):
        read_suite(copy)


DEFECTS = {
    "trailer gone": (lambda text: text[: text.index("\ne_") + 1], "no trailer"),
    "last line feed gone": (lambda text: text[:-1], "end in LF"),
    "carriage returns": (lambda text: text.replace("\n", "\r\n"), "end in LF"),
    "byte order mark": (lambda text: "\ufeff" + text, "not ASCII"),
    "a row gone": (lambda text: text.split("\n", 1)[1], r"no trailer `e` that counts \d+ rows"),
    "trailer of a shorter file": (lambda text: recounted(text.split("\n", 1)[1], -1), r"\d+ rows, the suite has \d+"),
    "only a trailer": (lambda text: "e_0000_0_0\n", ": 0 rows"),
    "nothing": (lambda text: "", "end in LF"),
    "unknown digit": (lambda text: text.replace("a_ffbf_7_f", "a_ffbf_x_f"), ":358: not a word"),
    "upper case": (lambda text: text.replace("a_ffbf", "a_FFBF"), ":358: not a word"),
    "digit too many": (lambda text: text.replace("a_ffbf", "a_0ffbf"), ":358: not a word"),
    "digit too few": (lambda text: text.replace("a_ffbf", "a_fbf"), ":358: not a word"),
    "other guard": (lambda text: text.replace("a_ffbf", "e_ffbf"), ":358: "),
    "blank line": (lambda text: text.replace("a_ffbf", "\na_ffbf"), ":358: not a word"),
    "other comment": (lambda text: text.replace(" // tc=358", " # tc=358"), ":358: not a word"),
    "no comment": (lambda text: text.replace(" // tc=358 nan_signalling negative", ""), ":358: ` // tc=`"),
    "other id": (lambda text: text.replace("tc=358 ", "tc=359 "), ":358: a row starts"),
    "edited result": (lambda text: text.replace("a_ffbf_7_f", "a_ffbf_6_f"), "digest"),
    "edited mask": (lambda text: text.replace("a_ffbf_7_f", "a_ffbf_7_0"), "digest"),
    "wrong count": (lambda text: recounted(text, 1), "no trailer"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_every_defect_is_refused(copy: Path, name: str) -> None:
    change, match = DEFECTS[name]
    text = copy.read_text(encoding="ascii")
    assert change(text) != text
    copy.write_bytes(change(text).encode())
    with pytest.raises(FileError, match=match):
        next(rows(copy))


def test_records_that_belong_to_other_rows_are_refused(copy: Path) -> None:
    with pytest.raises(FileError, match="name a "):
        read_suite(copy.with_suffix(".json"))
    with pytest.raises(FileError, match=r"No such file|no .* beside"):
        read_suite(copy.with_name("none.mem"))
    record = json.loads(copy.with_suffix(".json").read_text())
    copy.with_suffix(".json").write_text(json.dumps(record | {"shards": []}))
    with pytest.raises(FileError, match="not the record of"):
        read_suite(copy)
    copy.with_suffix(".json").write_text("{")
    with pytest.raises(FileError, match="not the record of"):
        read_suite(copy)
    copy.with_suffix(".json").unlink()
    desc = copy.with_suffix(".desc")
    desc.write_text(desc.read_text().replace("bf16_to", "fp16_to"))
    with pytest.raises(FileError, match="not the record of"):
        read_suite(copy)


def test_a_shard_takes_its_ids_count_and_digest_from_the_record(copy: Path) -> None:
    shard = copy.with_name(f"{STEM}.s0001of0002.mem")
    copy.rename(shard)
    with pytest.raises(FileError, match="not the record of"):
        read_suite(shard)
    record = json.loads(copy.with_suffix(".json").read_text())
    record["shards"][0] |= {"file": shard.name, "tcFirst": 65537}
    copy.with_suffix(".json").write_text(json.dumps(record))
    with pytest.raises(FileError, match="tc=65537"):
        read_suite(shard)
    lines = shard.read_text().splitlines()
    moved = [line.replace(f"tc={number}", f"tc={65536 + number}", 1) for number, line in enumerate(lines, 1)]
    shard.write_text("\n".join(moved) + "\n")
    assert [row.tc for row in rows(shard)][:2] == [65537, 65538]


def bits_of(suite: Suite, name: str, value: int) -> str:
    (width,) = [column.bits for column in suite.columns if column.name == name]
    return f"{value:0{width}b}"


def answers(suite: Suite) -> list[dict[str, str]]:
    return [{name: bits_of(suite, name, value) for name, value in row.expected.items()} for row in suite.rows]


def test_the_score_passes_right_answers_alone(checkout: Path) -> None:
    suite = read_suite(place(checkout, STEM))
    right, total = answers(suite), len(suite.rows)
    score = Score(suite)
    assert [score.add(row, got) for row, got in zip(suite.rows, right, strict=True)] == [None] * total
    tail = f"suite={STEM} rows_sha256={suite.rows_sha256}"
    assert (score.passed, score.result()) == (True, f"RESULT PASS reason=none {tail} compared={total} mismatch=0 x=0 masked=0")
    assert score.result("timeout").startswith("RESULT FAIL reason=timeout ")
    score.add(suite.rows[0], right[0])
    assert (score.passed, score.result()) == (False, f"RESULT FAIL reason=count {tail} compared={total + 1} mismatch=0 x=0 masked=0")
    assert not Score(suite).passed and Score(suite).result().startswith("RESULT FAIL reason=count ")
    wrong = Score(suite)
    lines = [wrong.add(row, {"y": f"{row.expected['y'] ^ 1:04b}"}) for row in suite.rows]
    assert lines[0] == f"MISMATCH suite={STEM} tc=1 out=y in=0000 want=0 got=1 mask=f"
    assert all(lines[:3]) and not any(lines[3:])
    assert (wrong.passed, wrong.result()) == (False, f"RESULT FAIL reason=mismatch {tail} compared={total} mismatch={total} x=0 masked=0")
    unknown = Score(suite)
    lines = [unknown.add(row, {"y": "xxxx"}) for row in suite.rows]
    assert lines[0] == f"MISMATCH suite={STEM} tc=1 out=y in=0000 want=0 got=x mask=f" and sum(line is not None for line in lines) == 3
    assert (unknown.passed, unknown.result()) == (False, f"RESULT FAIL reason=x {tail} compared={total} mismatch=0 x={total} masked=0")


def test_the_self_test_finds_its_one_flipped_bit(checkout: Path) -> None:
    right = answers(read_suite(place(checkout, STEM)))
    flipped = read_suite(place(checkout, STEM, ".neg.mem"))
    assert flipped.negative
    score = Score(flipped)
    for row, got in zip(flipped.rows, right, strict=False):
        score.add(row, got)
    assert not score.passed and (score.compared, score.mismatch, score.x) == (len(flipped.rows), 1, 0)


def test_masks_unknown_bits_and_free_nans(checkout: Path) -> None:
    suite = read_suite(place(checkout, DECODE))
    column = next(column for column in suite.columns if column.name == "fp32")
    nan, one = suite.rows[0x7F], suite.rows[0x38]
    assert (nan.kinds["fp32"], one.expected["fp32"]) == (1, 0x3F800000)
    cases = {0x7FC00000: "equal", 0xFF800001: "equal", 0x7F800000: "mismatch", 0x3F800000: "mismatch"}
    assert {code: judge_column(nan, column, f"{code:032b}") for code in cases} == cases
    assert judge_column(nan, column, f"{0x7FC00000:032b}"[:31] + "x") == "x"
    assert judge_column(one, column, f"{0x3F800001:032b}") == "mismatch"
    half = one._replace(masks={"fp32": 0xFFFFFFFE})
    assert [judge_column(half, column, f"{0x3F800000:032b}"[:31] + bit) for bit in "01xz"] == ["equal"] * 4
    assert [judge_column(half, column, "u" + f"{0x3F800000:032b}"[1:])] == ["x"]
    with pytest.raises(FileError, match="31 bits, the column has 32"):
        judge_column(one, column, "0" * 31)
    lanes = column._replace(bits=64)
    row = one._replace(expected={"fp32": 5}, masks={"fp32": (1 << 64) - 1}, kinds={"fp32": 0x10})
    assert judge_column(row, lanes, f"{0x7F800001 << 32 | 5:064b}") == "equal"
    assert judge_column(row, lanes, f"{0x7F800001 << 32 | 4:064b}") == "mismatch"
    assert judge_column(row, lanes, f"{5:064b}") == "mismatch"
    assert judge_column(row._replace(masks={"fp32": 0xFFFFFFFF}), lanes, f"{5:064b}") == "equal"
    open_row = row._replace(masks={"fp32": 0})
    score = Score(suite._replace(rows=(open_row,)))
    assert score.add(open_row, {}) is None
    assert (score.masked, score.passed) == (1, False)
    assert score.result().startswith("RESULT BADFILE reason=count ")


def test_nan_rules_are_those_of_the_spec() -> None:
    for name in FLOATS:
        fmt = get("format", name)
        assert FLOATS[name] == (derive.codes(fmt).bits, fmt.facts.exp_bits)
        one_exp = ((1 << FLOATS[name][1]) - 1) << (FLOATS[name][0] - 1 - FLOATS[name][1])
        for code in (0, 1, one_exp - 1, one_exp, one_exp + 1, (1 << FLOATS[name][0]) - 1):
            assert is_nan(code, name) == derive.is_nan_code(code, fmt), (name, code)


def test_a_copy_stands_alone(checkout: Path, tmp_path: Path) -> None:
    shutil.copy(checkout / "vectors/bench/cocotb/emu_rows.py", tmp_path)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import emu_rows\n"
    code += "print(len(list(emu_rows.rows(sys.argv[2]))), 'emu' in sys.modules)\n"
    code += "try: next(emu_rows.rows('none.tv'))\nexcept emu_rows.FileError as error: print(error)"
    words = [sys.executable, "-I", "-S", "-c", code, str(tmp_path), str(place(checkout, STEM, ".tv"))]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (
        0,
        f"{len(list(rows(place(checkout, STEM))))} False\nnone.tv: no none.json beside it and no none.desc\n",
    ), done.stderr
