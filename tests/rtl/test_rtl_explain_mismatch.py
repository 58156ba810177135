"""emu explain mismatch: logs of faulty designs, written in plain integers here, are explained by the fault that was put in."""

import json
import re

import pytest

from emu.base.errors import FileError
from emu.cli.main import run
from emu.contracts.dot.rows import answer as by_exact
from emu.contracts.dot.variants import hypotheses
from emu.contracts.rows import make_row, mismatches, unpack, value_of
from emu.rtl.mismatch.deviations import explains, holds
from emu.rtl.mismatch.explain import explain_mismatch, lines_of
from emu.rtl.mismatch.golden_rows import Case
from emu.rtl.mismatch.lines import parse_log
from emu.vectors.suites.plan import find

CONVERT = "convert__fp32_to_e2m1__nvidia_rne__directed"
DOT = "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke"
QUANTIZE = "quantize__bf16_to_nvfp4__nvfp4_te_ref__smoke"
SHA = "0" * 64


class Suite:
    """The golden rows of a suite, every column by name."""

    def __init__(self, stem):
        plan = find(stem)
        self.stem, self.layout, operation = stem, plan.operation.layout, plan.operation
        self.rows = [make_row(self.layout, case, operation.exact(case.values)) for case in plan.cases(0, plan.size)]

    def named(self, row):
        return {column.name: value_of(self.layout, row, column.name) for column in self.layout.columns}

    def log(self, answer, rows=True, stages=False):
        """What a bench prints of a design. answer: row of names -> changed result columns."""
        lines, listed = [], []
        results = [column for column in self.layout.results if stages or column.role == "out"]
        for tc, row in enumerate(self.rows, 1):
            want = self.named(row)
            if not any(want[f"m_{column.name}"] for column in results):
                continue
            got = {column.name: want[column.name] for column in results} | answer(tc, want)
            given = ",".join(f"{want[column.name]:0{column.digits}x}" for column in self.layout.inputs)
            shown = ",".join(f"{got[column.name]:0{column.digits}x}" for column in results)
            listed.append(f"ROW suite={self.stem} tc={tc} in={given} got={shown}")
            answers = tuple(unpack(got[column.name], column) for column in results)
            wrong = mismatches(self.layout, row, answers)
            if wrong:
                column = self.layout.columns[self.layout.index(wrong[0])]
                values = (want[column.name], got[column.name], want[f"m_{column.name}"])
                want_got = " ".join(f"{key}={value:0{column.digits}x}" for key, value in zip(("want", "got", "mask"), values, strict=True))
                lines.append(f"MISMATCH suite={self.stem} tc={tc} out={column.name} in={given} {want_got}")
        assert lines, "this fault changes no row"
        return [*lines[:3], *(listed if rows else [])]


@pytest.fixture(scope="module")
def suites():
    return {stem: Suite(stem) for stem in (CONVERT, DOT, QUANTIZE)}


def first(found, text):
    """The best hypothesis holds everywhere and is the one that is meant."""
    best = found["hypotheses"][0]
    assert text in best["text"], [item["text"] for item in found["hypotheses"]]
    assert best["mismatches"] == best["mismatchesTried"] > 0 and best["agreeing"] == best["agreeingTried"] and best["thisRow"]
    assert found["first_wrong"]["stage"] == best["stage"] and found["together"] == []
    return best


def grid(x):
    """fp32 bits -> code below, and the discarded part in units of 2^-40 of the way to the next code; e2m1 by hand."""
    exp, significand = (x >> 23) & 255, (x & 0x7FFFFF) | 0x800000
    value = significand << 40 >> 23 << max(exp - 127, -127) if exp >= 127 else significand << 17 >> min(127 - exp, 63)
    edges = [0, 1 << 39, 1 << 40, 3 << 39, 1 << 41, 3 << 40, 1 << 42, 3 << 41, 1 << 43]
    code = max(place for place, edge in enumerate(edges[:8]) if edge <= value)
    return code, (value - edges[code]) * (1 << 40) // (edges[code + 1] - edges[code])


def rounded(up):
    """A converter that rounds by up(code, lost, sign); specials, tiny and huge sources stay right."""

    def answer(_, want):
        x, sign = want["x"], want["x"] >> 31
        if not 100 < (x >> 23 & 255) < 130:
            return {}
        code, lost = grid(x)
        return {"y": sign << 3 | min(7, code + (up(code, lost, sign) if lost else 0))}

    return answer


def slow(*values):
    """Parameters of a run that is left to the exhaustive tests."""
    return pytest.param(*values, marks=pytest.mark.exhaustive)


HALF, MINUS_0 = 1 << 39, 1 << 31


@pytest.mark.cases(1, 2)
@pytest.mark.parametrize(
    ("up", "text", "stage"),
    [
        slow(lambda *_: 0, "convert/e2m1/rz/nvidia", "round"),
        slow(lambda code, lost, sign: lost >= HALF, "convert/e2m1/rna/nvidia", "round"),
        slow(lambda code, lost, sign: lost > HALF, "ties go toward zero", "round"),
        slow(lambda code, lost, sign: lost > HALF or (lost == HALF and not code & 1), "ties go to the odd code", "round"),
        (lambda code, lost, sign: lost > HALF or (lost == HALF and not sign), "ties go up", "round"),
        slow(lambda code, lost, _: lost >= HALF and bool(code & 1 or lost >= HALF * 3 // 2), "only 2 bits below the last kept", "round"),
    ],
)
def test_another_rounding(up, text, stage, suites):
    found = explain_mismatch(parse_log(suites[CONVERT].log(rounded(up))))
    assert first(found, text)["stage"] == stage
    assert found["agree"] + found["differ"] == len(suites[CONVERT].rows)


@pytest.mark.exhaustive
def test_the_right_rounding_by_hand_is_right(suites):
    with pytest.raises(AssertionError, match="changes no row"):
        suites[CONVERT].log(rounded(lambda code, lost, sign: lost > HALF or (lost == HALF and code & 1)))


def is_nan(x):
    return (x & 0x7FFFFFFF) > 0x7F800000


@pytest.mark.cases(0, 4)
@pytest.mark.parametrize(
    ("answer", "text", "stage"),
    [
        (lambda tc, want: {"y": 7 | want["x"] >> 31 << 3} if is_nan(want["x"]) else {}, "convert/e2m1/rne/amd", "specials or overflow"),
        slow(lambda tc, want: {"y": want["y"] & 7 and want["y"]}, "zero has no sign", "encode"),
        (lambda tc, want: {"y": 0} if want["x"] == 1 << 31 else {}, "-0 becomes +0", "encode"),
        (lambda tc, want: {"y": 0} if want["y"] == 8 and want["x"] != MINUS_0 else {}, "rounds to zero loses its sign", "encode"),
        slow(lambda tc, want: {"y": want["y"] & 8} if want["y"] & 7 == 1 else {}, "subnormal results are flushed to zero", "encode"),
        slow(lambda tc, want: {"y": want["y"] ^ 8}, "y: the sign is inverted", "encode"),
        slow(lambda tc, want: {"y": want["y"] & 0xB}, "y: bit 2 is always 0", "output"),
        slow(lambda tc, want: {"y": int(f"{want['y']:04b}"[::-1], 2)}, "y: bits in reverse order", "packing"),
        slow(lambda tc, want: {"y": 6 | want["y"] & 8} if want["y"] & 7 == 7 else {}, "the largest code is never given", "overflow"),
    ],
)
def test_specials_signs_and_bits(answer, text, stage, suites):
    found = explain_mismatch(parse_log(suites[CONVERT].log(answer)))
    assert first(found, text)["stage"] == stage


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize("off", [-1, -2, 1, 8])
def test_outputs_of_a_neighbour(off, suites):
    suite = suites[CONVERT]
    end = len(suite.rows)
    log = suite.log(lambda tc, want: {"y": suite.named(suite.rows[tc + off - 1])["y"]} if 1 <= tc + off <= end else {})
    best = explain_mismatch(parse_log(log))["hypotheses"][0]
    assert f"those of {abs(off)} row" in best["text"] and ("before" in best["text"]) == (off < 0)
    assert best["mismatches"] >= best["mismatchesTried"] - 8


@pytest.mark.exhaustive
def test_two_faults_are_told_apart(suites):
    """Truncation, and -0 becomes +0: no single deviation explains both; the two together explain every row."""

    def answer(tc, want):
        return {"y": 0} if want["x"] == 1 << 31 else rounded(lambda *_: 0)(tc, want)

    found = explain_mismatch(parse_log(suites[CONVERT].log(answer)))
    texts = [item["text"] for item in found["together"]]
    assert len(texts) == 2 and "rz/nvidia" in texts[0] and "-0 becomes +0" in texts[1]
    assert sum(item["explains"] for item in found["together"]) == found["hypotheses"][0]["mismatchesTried"]
    text = "\n".join(lines_of(found))
    assert "no single one explains all rows; together:" in text and "rows remain" not in text


@pytest.mark.exhaustive
def test_a_fault_that_no_deviation_is(suites):
    """A scrambled code: nothing holds on all rows, and the text says so."""
    found = explain_mismatch(parse_log(suites[CONVERT].log(lambda tc, want: {"y": (want["y"] * 7 + want["x"] % 13 + tc) & 15})))
    assert not any(item["mismatches"] == item["mismatchesTried"] for item in found["hypotheses"])
    text = "\n".join(lines_of(found))
    assert "no single one explains all rows" in text or "no single deviation" in text


@pytest.mark.exhaustive
def test_one_line_lists_what_it_is_consistent_with(suites):
    (line, *_) = suites[CONVERT].log(rounded(lambda *_: 0), rows=False)
    found = explain_mismatch(parse_log([f"# 12345 ns: {line}"]))
    assert found["differ"] == 1 and found["agree"] == 0 and len(found["hypotheses"]) > 1
    text = "\n".join(lines_of(found))
    assert "few rows tell little" in text and "1/1 differing" in text and "consistent with" in text
    assert not found["first_wrong"]["settled"] and "not settled" in text
    assert "more than half" in text and "want 1 (0.5), got 0 (0)" in text


@pytest.mark.exhaustive
def test_a_dot_product_with_stages_names_the_first_wrong_column(suites):
    suite = suites[DOT]

    def answer(tc, want):
        wrong = {name: want[name] ^ 1 for name in ("u0_tm2", "u0_xa2", "u0_s", "d", "u0_rs")}
        return wrong if want["m_u0_tm2"] and tc % 2 else {}

    found = explain_mismatch(parse_log(suite.log(answer, stages=True)))
    assert found["first_wrong"]["stage"] == "u0_tm2" and "stage columns" in found["first_wrong"]["by"]
    names = [column.name for column in suite.layout.results if column.role == "stage"]
    assert {"u0_sg0", "u0_tm2", "u0_rs"} <= set(names)


def test_what_leaves_a_right_output_alone_explains_no_wrong_stage(suites):
    """The output is right, a stage is wrong: a prediction of the output alone agrees with the row and explains nothing of it."""
    suite = suites[DOT]
    row = next(row for row in suite.rows if suite.named(row)["m_u0_tm2"])
    want = suite.named(row)
    case = Case(1, row, {"d": want["d"], "u0_tm2": want["u0_tm2"] ^ 1}, {})
    assert case.wrong(suite.layout) == ["u0_tm2"]
    assert holds(suite.layout, case, {"d": want["d"]}) and not explains(suite.layout, case, {"d": want["d"]})
    assert explains(suite.layout, case, {"d": want["d"], "u0_tm2": want["u0_tm2"] ^ 1})
    assert not holds(suite.layout, case, {"d": want["d"] ^ 1})


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"a": lambda codes: [codes[i ^ 1] for i in range(64)], "b": lambda codes: [codes[i ^ 1] for i in range(64)]}, "nothing"),
        ({"a": lambda codes: [0 if i == 5 else code for i, code in enumerate(codes)]}, "the product of element 5 is lost"),
        ({"sa": lambda codes: codes[::-1]}, "scales of a in reverse order of blocks"),
        slow({"c": lambda codes: [0]}, "C is not added"),
    ],
)
def test_a_dot_product_without_stages(changed, text, suites):
    """The exact engine on changed operands: swapping neighbours of both operands inside a block changes nothing, the others are found."""
    suite = suites[DOT]
    operation = find(DOT).operation

    def answer(_, want):
        values = []
        for column in suite.layout.inputs:
            codes = list(unpack(want[column.name], column))
            codes = changed[column.name](codes) if column.name in changed else codes
            values.append(sum(code << (column.lane_bits * place) for place, code in enumerate(codes)))
        (code,), *_ = operation.exact(tuple(values))
        return {"d": code} if code >= 0 else {}

    if text == "nothing":
        with pytest.raises(AssertionError, match="changes no row"):
            suite.log(answer)
        return
    found = explain_mismatch(parse_log(suite.log(answer)))
    assert text in next(item["text"] for item in found["hypotheses"] if item["mismatches"] == item["mismatchesTried"])
    assert "aligned" in "\n".join(lines_of(found)) or "special" in "\n".join(lines_of(found))


@pytest.mark.exhaustive
def test_another_datapath_is_named(suites):
    operation, suite = find(DOT).operation, suites[DOT]
    changed = next(item for item in hypotheses([operation.plan], 1) if item.changes == (("round.mode", "rne"),))

    def answer(_, want):
        taken = operation.taken(tuple(want[column.name] for column in suite.layout.inputs))
        code = None if operation.has_open_bit(taken) else by_exact(taken, changed.plan)
        return {} if code is None else {"d": code}

    found = explain_mismatch(parse_log(suite.log(answer)))
    assert "result rne" in found["hypotheses"][0]["text"] and found["first_wrong"]["stage"] == "rs (last rounding)"


@pytest.mark.cases(0)
@pytest.mark.parametrize(
    ("moved", "text"),
    [
        (lambda place: 15 - place, "codes: lanes in reverse order"),
        slow(lambda place: place ^ 1, "codes: neighbouring lanes swapped (nibble order)"),
    ],
)
def test_packing_of_a_quantizer(moved, text, suites):
    def answer(_, want):
        return {"codes": sum((want["codes"] >> 4 * moved(place) & 15) << 4 * place for place in range(16))}

    found = explain_mismatch(parse_log(suites[QUANTIZE].log(answer)))
    best = found["hypotheses"][0]
    assert text in (best["text"], *best["also"]) and best["stage"] == "packing" and best["mismatches"] == best["mismatchesTried"]
    assert "quantize" in found["trace"] and any(step["op"] == "cast" for step in found["trace"]["quantize"])


OTHERS = (
    "decode__e1m2_to_fp32__exact__all", "dequantize__ufp4_to_fp32__ufp4_exact__smoke", "transform__fp32_to_fp32__rht16_exact__smoke",
    "accumulate__e4m3xe4m3_to_fp32__ada_fp8__smoke", "layout__nvfp4_to_low_nibble_first__low_nibble_first__smoke",
    "insn__fp32x32_to_e2m3x32__v_cvt_scalef32_2xpk16_fp6_f32__smoke", "quantize__fp32_to_ufp4__e1m2_fp32scale__smoke",
)  # fmt: skip


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize("stem", OTHERS)
def test_every_operation_is_explained(stem):
    """The lowest bit of the last output is inverted; narrow outputs are tried bit by bit, wide ones lane by lane."""
    suite = Suite(stem)
    column = [column for column in suite.layout.results if column.role == "out"][-1]
    log = suite.log(lambda _, want: {column.name: want[column.name] ^ 1} if want[f"m_{column.name}"] & 1 else {})
    found = explain_mismatch(parse_log(log))
    text = "\n".join(lines_of(found))
    said = (found["hypotheses"][0]["text"], *found["hypotheses"][0]["also"])
    if column.bits <= 64:
        assert any(each.endswith("bit 0 is inverted") for each in said)
    else:
        assert f"{column.name}, lane 0: bit 0 is inverted" in said
    assert f"{column.name:<9} want " in text


def test_a_line_without_a_suite_is_told_its_form(capsys):
    assert run(["explain", "mismatch", "MISMATCH tc=28 got=0"]) == 2
    assert "MISMATCH tc=28 got=0: a line is MISMATCH suite=STEM tc=ROW out=COLUMN in=HEX want=HEX" in capsys.readouterr().err


def test_bad_lines_are_refused(suites):
    (line, *_) = suites[CONVERT].log(rounded(lambda *_: 0), rows=False)
    tc = re.search(r"tc=(\d+)", line)[1]
    for bad, text in (
        (line[:-9], "cut, or of another form"),
        (line.replace("want=1", "want=2"), "want=2, the golden row has y=1"),
        (re.sub("in=........", "in=40000000", line), "another file was run"),
        (line.replace(f"tc={tc} ", "tc=99999 "), "has no row 99999"),
        (line.replace("nvidia_rne", "nvidia_xyz"), "the loaded spec plans no suite of this name"),
        (line.replace(" got=0", " got=1"), "every row of the log agrees"),
        ("nothing here", "holds no MISMATCH line"),
    ):
        with pytest.raises(FileError, match=re.escape(text)):
            explain_mismatch(parse_log([bad]))


@pytest.mark.exhaustive
def test_the_command_prints_json_text_and_a_wave(suites, tmp_path, capsys):
    log = tmp_path / "sim.log"
    log.write_text("\n".join(["noise", *suites[CONVERT].log(rounded(lambda *_: 0))]))
    wave = tmp_path / "x.vcd"
    assert run(["explain", "mismatch", str(log), "--vcd", str(wave), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["first_wrong"]["stage"] == "round" and data["trace"]["convert"]["round"]["mode"] == "rne"
    text = wave.read_text()
    assert all(f" {name} " in text for name in ("x", "below", "lost", "up", "y", "got_y"))
    assert run(["explain", "mismatch", str(log), "--tc", str(data["tc"] + 10000)]) == 2
    assert "the log has no row" in capsys.readouterr().err
    (line, *_) = log.read_text().splitlines()[1:2]
    assert run(["explain", "mismatch", line]) == 0
    assert "consistent with" in capsys.readouterr().out
    assert run(["explain", "mismatch", str(tmp_path / "none.log")]) == 2
    assert "give a MISMATCH line in quotes" in capsys.readouterr().err
    dots = tmp_path / "dot.log"
    dots.write_text("\n".join(suites[DOT].log(lambda _, want: {"d": want["d"] ^ 1})))
    assert run(["explain", "mismatch", str(dots), "--vcd", str(tmp_path / "d.vcd")]) == 0
    assert " u0_xa2 " in (tmp_path / "d.vcd").read_text()


TRACED = {
    "decode": ("decode__e2m1_to_fp32__exact__all", ["fp32", "class", "exponent"]),
    "dequantize": ("dequantize__ufp4_to_fp32__ufp4_exact__smoke", ["code", "y", "lane 0"]),
    "transform": ("transform__bf16_to_fp32__rht16_butterfly__smoke", ["b0", "b3", "signs"]),
    "accumulate": ("accumulate__e1m2xe1m2_fp32_to_fp32__promote_b16__smoke", ["of a chain", "datapath", "after the row"]),
    "layout": ("layout__nvfp4_to_sf128x4__sf128x4__smoke", ["digit 0", "off"]),
    "insn": ("insn__fp32x2_to_e2m1x2__cvt_rn_satfinite_e2m1x2_f32__smoke", ["source", "rounded", "d "]),
    "operate": ("operate__binary8p3se_to_binary8p3se__add_p3109_sat_none_rne__smoke", ["decode", "exact", "project"]),
}


@pytest.mark.parametrize("op", [op if op != "transform" else pytest.param(op, marks=pytest.mark.exhaustive) for op in TRACED])
def test_an_operation_without_hypotheses_of_its_own_is_traced(op):
    """A design with the lowest bit of its first output inverted: the row is traced stage by stage, and the bit is named."""
    stem, words = TRACED[op]
    suite = Suite(stem)
    out = next(column.name for column in suite.layout.results if column.role == "out")
    found = explain_mismatch(parse_log(suite.log(lambda _, want: {out: want[out] ^ 1})))
    assert list(found["trace"]) == [op] and found["trace"][op]
    text = "\n".join(lines_of(found))
    assert all(word in text for word in words), text
    said = [text for item in found["hypotheses"] for text in (item["text"], *item["also"])]
    assert any("bit 0 is inverted" in text for text in said)
    assert json.loads(json.dumps(found))
