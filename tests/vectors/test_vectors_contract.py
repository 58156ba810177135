"""Contract strings: one parser and formatter, aliases in and ids out, errors in one line; contracts with equal rows share a suite."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from emu.base.errors import OpenError, SpecError
from emu.spec.contract import contracts, parse, plan_of, vector_instructions
from emu.vectors.suites.plan import families, named


def test_every_contract_reads_back() -> None:
    known = list(contracts())
    assert len(known) == len(set(known)) > 500
    assert all(parse(str(contract)) == contract for contract in known)
    assert {contract.op for contract in known} == {
        "decode",
        "convert",
        "quantize",
        "dequantize",
        "transform",
        "dot",
        "accumulate",
        "layout",
    }


def test_aliases_become_ids() -> None:
    assert str(parse("decode/float4_e2m1fn")) == "decode/e2m1"
    assert str(parse("transform/te_rht")) == "transform/rht16_te"
    assert str(parse("operate/add/e4m3fnxe4m3/float16/rne/ieee")).startswith("operate/add/e4m3/fp16/")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("convrt/e2m1/rne/nvidia", "did you mean convert"),
        ("convert/e2m1/rne", "convert/<format>/<rounding>/<policy>"),
        ("convert/e2m1/rne/nvidea", "nvidia"),
        ("decode/e2m2", "did you mean"),
        ("dequantize/nvfp4_te_ref/exactly", "profile"),
        ("convert/nf4/odd/ocp_saturate", "codebook"),
        ("", "unknown"),
        ("dot", "<datapath>"),
        ("dot/nv_lik", "did you mean nv_like"),
        ("dot/nv_like/e1m2xe1m2/16", "name the scale format, one of ue4m3"),
        ("dot/nv_like/e1m2xe1m2/ue4m3/ue4m3/16", "'ue4m3' chooses again"),
        ("dot/nv_like/e1m2xe1m2/ue4m3/17", "block size 17: it takes 16, 32"),
        ("accumulate/hopper_fp8/e4m3xe2m1", "does not take e4m3 x e2m1"),
        ("operate/plus/e4m3", "operation 'plus' is unknown: one of convert"),
        ("operate/add/binary8p3se", "write operate/<operation>/<format, or one for each operand"),
        ("operate/is_nan/binary8p3se/fp32/rne/ieee", "write operate/<operation>/<format, or one for each operand"),
        ("operate/fma/binary8p3sexfp32/fp32/rne/ieee", "fma has 3 operands and 2 formats"),
        ("operate/add/binary8p3se/fp32/sr_add8/ieee", "takes no rounding that draws: sr_add8 does"),
        ("operate/add/binary8p3se/fp32/rne/p3109_sat_none", "says nothing of fp32"),
        ("operate/add/e8m0/fp32/rne/ieee", "takes float formats: e8m0 is none"),
        ("operate/next_less_than/e2m1", "e2m1 has no NaN"),
    ],
)
def test_a_bad_contract_is_one_clear_line(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as error:
        parse(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "contract", "spec"),
    [
        ("dot/blackwell_mxf4nvf4_b16_ue4m3/e2m1xe2m1/ue4m3", "dot/blackwell_mxf4nvf4_b16_ue4m3", ("e2m1", "ue4m3", "fp32")),
        ("dot/blackwell_mxf8f6f4/e4m3fnxe5m2", "dot/blackwell_mxf8f6f4/e4m3xe5m2", ("e4m3", "e5m2", "e8m0", "fp32")),
        ("accumulate/nv_like/16/ue4m3/int4symxfp4", "accumulate/nv_like/e0m3xe2m1/ue4m3/16", ("e0m3", "e2m1", "ue4m3", "fp32")),
        ("dot/hopper_fp16_f16", "dot/hopper_fp16_f16", ("fp16",)),
    ],
)
def test_what_a_datapath_leaves_free_is_part_of_its_contract(text: str, contract: str, spec: tuple[str, ...]) -> None:
    found = parse(text)
    assert str(found) == contract
    assert found.spec == (f"datapath/{contract.split('/')[1]}", *(f"format/{name}" for name in spec))
    assert plan_of(found).name == contract.partition("/")[2]


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("name", "why"),
    [("cdna4", "no published model"), ("sm_103", "96 products"), ("sm_107", "128 products"), ("blackwell_e0m3", "is open until")],
)
def test_an_unknown_datapath_is_refused_with_the_reason(name: str, why: str) -> None:
    for op in ("dot", "accumulate"):
        with pytest.raises(OpenError, match=why):
            parse(f"{op}/{name}")
    assert not any(contract.parts[0] == name for contract in contracts() if contract.op == "dot")


def test_a_contract_of_a_datapath_sees_what_it_chose_alone() -> None:
    """Two choices of one datapath differ; datapaths with the same facts under one choice share their rows."""
    digests = [parse(f"dot/hopper_fp8/{pair}").spec_sha256 for pair in ("e4m3xe4m3", "e4m3xe5m2", "e5m2xe4m3")]
    assert len(set(digests)) == 3
    assert parse("dot/hopper_fp8/e4m3xe4m3").spec_sha256 != parse("accumulate/hopper_fp8/e4m3xe4m3").spec_sha256
    assert families()[parse("dot/blackwell_mxf4_b32_ue8m0")] == ("dot/blackwell_mxf4nvf4_b32_ue8m0",)


def test_the_digest_sees_facts_and_nothing_else() -> None:
    one, other = parse("convert/e2m1/rne/nvidia"), parse("convert/e2m1/rz/nvidia")
    assert one.spec_sha256 != other.spec_sha256 and len(one.spec_sha256) == 64
    assert parse("dequantize/nvfp4_te_ref/te").spec_sha256 != parse("quantize/nvfp4_te_ref").spec_sha256


def test_equal_rows_are_shared_and_no_contract_is_lost() -> None:
    shared = families()
    found = [str(contract) for contract in shared] + [alias for aliases in shared.values() for alias in aliases]
    assert sorted(found) == sorted(str(contract) for contract in (*contracts(), *vector_instructions(), *named()))
    assert "dequantize/nvfp4_te_cuda/te" in shared[parse("dequantize/nvfp4_te_ref/te")]


FORMAT = """kind: "format"
id: "e2m1b2"
title: "E2M1 with bias 2"
status: "proposed"
facts: {class: "float", signed: "yes", exp_bits: 2, frac_bits: 1, bias: 2, subnormals: "yes", inf: "none", nan: "none", neg_zero: "yes"}
expect: []
open: []
sources: []
"""


@pytest.mark.exhaustive
def test_a_format_of_the_user_gets_vectors_without_code(tmp_path: Path) -> None:
    spec = tmp_path / "spec" / "format"
    spec.mkdir(parents=True)
    (spec / "e2m1b2.yaml").write_text(FORMAT, encoding="utf-8")
    script = f"""
import json, emu.spec
from pathlib import Path
from emu.vectors import build, verify
emu.spec.load_spec({str(tmp_path / "spec")!r})
out = Path({str(tmp_path / "out")!r})
build(out, ["all"], ["decode/e2m1b2"])
build(out, ["smoke"], ["convert/e2m1b2/rne/nvidia"])
print(json.dumps(verify(out).data()))
"""
    run = subprocess.run([sys.executable, "-P", "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
    report = json.loads(run.stdout)
    assert report["exit_code"] == 0 and report["suites"] == 4 and report["by_engine"]["exact"] == report["rows"] > 50
