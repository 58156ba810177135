"""finite: no NaN and no Inf in any operand of any suite, everything else is still asked, and the report says how many were left out."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import emu
from emu.check.inputs.finite import LeftOut, finite_only, is_wild
from emu.check.run import check as run_check
from emu.check.targets.files import emit, questions, results_target
from emu.cli.main import run
from emu.contracts import form_of
from emu.contracts.form import Question, expect
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get, names
from emu.testing import check

CONVERT, NVFP4 = "convert/e2m1/rne/nvidia", "quantize/nvfp4_te_ref"
QUICK = (
    CONVERT, "convert/e2m1/sr_ptx_split8/nvidia", "decode/e4m3", "decode/e2m1", "quantize/mxfp4_torchao_floor", NVFP4, "quantize/ufp4_sr",
    "dequantize/nvfp4_te_ref/te", "dequantize/mxfp4_te_pow2/exact", "transform/rht16_te", "dot/blackwell_mxf4nvf4_b16_ue4m3",
)  # fmt: skip


def about(contract, suites, finite, multiple=(1, 1)):
    return {
        "contract": contract, "source": None, "result": None, "suites": suites, "count": None, "key": 1, "takes_amax": True,
        "multiple": multiple, "finite": finite,
    }  # fmt: skip


def numbers_only(form, question):
    """Whether no operand holds NaN or Inf, by decoding each code once."""
    for name, bits in question.operands.items():
        fmt = form.operands[name]
        if fmt is not None:
            mask = (1 << derive.codes(fmt).bits) - 1
            few = np.unique(bits) if bits.size < 4096 else np.unique(np.concatenate([np.unique(bits)[-4096:], np.unique(bits)[:64]]))
            if any(decode_code(int(code) & mask, fmt).kind != "finite" for code in few):
                return False
    return True


@pytest.mark.cases(5)
@pytest.mark.parametrize("contract", QUICK)
def test_no_operand_holds_nan_or_inf(contract):
    form = form_of(contract)
    asked = [question for _, question in questions(about(contract, ["directed"], True))]
    assert asked and all(numbers_only(form, question) for question in asked)
    for question in asked:
        height = question.operands[form.main].shape[0]
        assert len(question.why) in (0, height, 1)
        expect(form, question.operands, "auto")  # shapes fit each other


@pytest.mark.cases(1)
@pytest.mark.parametrize("contract", [CONVERT, NVFP4, "transform/rht16_te"])
def test_exhaustive_and_strata_keep_every_number(contract):
    form, source = form_of(contract), get("format", "fp32")
    for suite in ("exhaustive", "stratified"):
        whole, some = (
            {int(code) for _, question in questions(about(contract, [suite], finite)) for code in np.unique(question.operands[form.main])}
            for finite in (False, True)
        )
        wild = {code for code in whole if is_wild(np.array(code, np.uint32), source)}
        assert some == whole - wild and (suite == "stratified" or len(wild) > 250)


@pytest.mark.parametrize("name", [name for name in names("format") if derive.codes(get("format", name)).bits <= 16])
def test_what_is_no_number_is_found(name):
    fmt = get("format", name)
    codes = np.arange(1 << derive.codes(fmt).bits, dtype=np.uint16)
    if derive.codes(fmt).bits == 16:
        codes = codes[::41]
    assert is_wild(codes, fmt).tolist() == [decode_code(code, fmt).kind != "finite" for code in codes.tolist()]


def test_tiles_are_left_out_whole_and_multiples_are_kept():
    form = form_of("quantize/nvfp4_te_2d_ref")
    x = np.full((64, 16), 0x3F800000, np.uint32)
    x[17, 3], x[40, 0] = 0x7F800000, 0xFFC00001
    left_out = LeftOut()
    given = [
        Question({"x": x, "tensor_amax": np.array(0x3F800000, "u4")}, ("stratified",)),
        Question({"x": x * 0, "tensor_amax": np.array(0x7F800000, "u4")}),
    ]
    (found,) = finite_only(form, "directed", iter(given), (48, 1), left_out)
    assert found.operands["x"].shape == (48, 16) and (found.operands["x"][:32] == 0x3F800000).all() and not found.operands["x"][32:].any()
    assert left_out.counts == {"directed": 32 + 64} and "directed 96" in left_out.note()


def floor_of_numbers(x):
    found = emu.quantize(x, "mxfp4_torchao_floor")
    return found.codes * np.uint8(np.isfinite(x).all()), found.scales


@pytest.mark.parametrize(("fn", "contract"), [
    (lambda x: np.where(np.isfinite(x), emu.convert(x, "e2m1"), 9).astype(np.uint8), CONVERT),
    (floor_of_numbers, "quantize/mxfp4_torchao_floor"),
])  # fmt: skip
def test_a_kernel_for_numbers_passes_and_the_report_says_so(fn, contract):
    suites = {"suites": ("directed", "exhaustive")}
    assert check(fn, contract, raises=False, **suites).verdict in ("differs", "raises")  # nobody says what NaN becomes: emu raises
    report = check(fn, contract, finite=True, **suites)
    assert report.verdict == "pass" and set(report.suites) >= set(suites["suites"])
    (note,) = [note for note in report.notes if note.startswith("finite: ")]
    counts = [int(text.partition(" ")[2]) for text in note.rpartition(": ")[2].split(", ")]
    assert len(counts) == 2 and all(counts) and note in report.text() and note in json.loads(report.json())["notes"]


def test_without_finite_the_report_says_nothing_of_it():
    report = check(lambda x: emu.convert(x, "e2m1"), CONVERT, suites=("directed",))
    assert not report.notes and report.compared == 1420


def test_files_hold_no_nan_and_results_are_judged_likewise(tmp_path):
    inputs, out = tmp_path / "in.safetensors", tmp_path / "out.safetensors"
    emit(inputs, CONVERT, suites=("directed",), finite=True)
    with safe_open(inputs, framework="np") as file:
        x, metadata = file.get_tensor("0000.codes"), file.metadata()
    assert np.isfinite(x).all() and x.size == 1366
    save_file({"0000.codes": emu.convert(x, "e2m1")}, out, metadata)
    assert run(["check", "--results", str(out), "--against", CONVERT]) == 0
    assert run_check(results_target(out), CONVERT, suites=("directed",), finite=True).compared == 1366


@pytest.mark.exhaustive
def test_the_command_has_the_option(tmp_path, capsys):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import emu, numpy as np\ndef f(x):\n    return np.where(np.isfinite(x), emu.convert(x, 'e2m1'), 9).astype(np.uint8)\n"
    )
    words = ["check", f"{kernel}:f", "--against", CONVERT, "--suite", "directed"]
    assert [run([*words, *more]) for more in ([], ["--finite"])] == [1, 0]
    assert "finite: inputs with NaN or Inf were left out" in capsys.readouterr().out


def test_counts_of_suites_are_kept_apart():
    left_out = LeftOut()
    for suite, count in (("directed", 1), ("exhaustive", 2), ("directed", 3)):
        left_out.add(suite, count)
    assert left_out.counts == {"directed": 4, "exhaustive": 2} and all(one in left_out.note() for one in ("directed 4", "exhaustive 2"))
