"""Padding is judged where a layout states it, else the first line says that it is not; codes behind a wrong scale are not counted."""

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError
from emu.engines.numpy.layout import places
from emu.spec import get, load_spec
from emu.testing import check

REF = "quantize/nvfp4_te_ref"
OPTIONS = {"suites": ("shapes",), "raises": False}
LAYOUT = """
kind: "layout"
id: "tiles_{word}"
title: "tiles of 128 rows and 4 scales"
status: "proposed"
facts:
  holds: "scales"
  code_bits: 8
  padding: "{word}"
  digits:
    - {{axis: "idx", count: 4}}
    - {{axis: "row", step: 32, count: 4}}
    - {{axis: "row", count: 32}}
    - {{axis: "idx", step: 4}}
    - {{axis: "row", step: 128}}
expect:
  - {{rows: 128, codes: 4, row: 1, idx: 0, place: 16}}
open: []
sources: []
"""


def swizzled(fill):
    def kernel(x, tensor_amax):
        q = emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax)
        where = places(*q.scales.shape, get("layout", "sf128x4"))
        memory = np.full(-(-q.scales.shape[0] // 128) * -(-q.scales.shape[1] // 4) * 512, fill, np.uint8)
        memory[where] = q.scales
        return {"codes": q.codes, "scale": memory}

    return kernel


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_padding_of_which_nothing_is_stated_is_named_in_the_first_line(seconds):
    report = check(swizzled(0xA5), REF, scale_layout="128x4", seconds=seconds, **OPTIONS)
    assert report.verdict == "pass" and "padding not judged" in report.text().splitlines()[0] and "behind the rows" in report.text()
    plain = check(lambda x, tensor_amax: emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax), REF, **OPTIONS)
    assert plain.verdict == "pass" and "not judged" not in plain.text()


@pytest.mark.parametrize(("word", "fill", "verdict"), [("zero", 0, "pass"), ("zero", 0xA5, "padding"), ("any", 0xA5, "pass")])
def test_padding_that_a_layout_states_is_judged(tmp_path, word, fill, verdict):
    (tmp_path / "layout").mkdir()
    (tmp_path / "layout" / f"tiles_{word}.yaml").write_text(LAYOUT.format(word=word))
    load_spec(tmp_path)
    report = check(swizzled(fill), REF, scale_layout=f"tiles_{word}", **OPTIONS)
    assert report.verdict == verdict and "not judged" not in report.text() and report.exit_code == (verdict != "pass")
    assert verdict == "pass" or "holds 0xa5" in report.message


def test_a_layout_that_holds_no_scales_is_refused():
    for name in ("nothing", "low_nibble_first", "deep_gemm_ue8m0"):
        with pytest.raises(OperandError, match=f"scale_layout '{name}' is unknown"):
            check(swizzled(0), REF, scale_layout=name, **OPTIONS)


def test_the_last_half_byte_of_odd_rows_is_named():
    def kernel(codes):
        found = emu.convert(codes, "e2m1")
        whole = np.append(found, np.full(len(found) % 2, 9, np.uint8))
        return whole[0::2] | whole[1::2] << 4

    report = check(kernel, "convert/e2m1/rne/nvidia", gives="packed", raises=False)
    assert report.verdict == "pass" and "padding not judged" in report.text().splitlines()[0] and "half byte" in report.text()


def test_codes_behind_a_wrong_scale_are_not_counted():
    def kernel(change):
        def called(x, tensor_amax):
            q = emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax)
            return {"codes": q.codes, "scale": change(q.scales)}

        return check(called, REF, **OPTIONS)

    def first(scales):
        scales = scales.copy()
        scales[0, 0] ^= 1
        return scales

    right, wrong = kernel(lambda scales: scales), kernel(first)
    assert right.hidden == 0 and wrong.hidden > 0 and wrong.compared + wrong.hidden == right.compared
    assert f"not judged: {wrong.hidden} codes whose scale differs" in wrong.text()
    assert wrong.hidden <= 16 * wrong.differing
