"""Files: inputs out, answers computed elsewhere, results judged; a damaged digest, a missing tensor, a foreign header."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import emu
from emu.base.errors import FileError
from emu.check.run import check
from emu.check.targets.files import emit, results_target

CONTRACT = "quantize/nvfp4_te_ref"
FEW = {"suites": ("directed",)}


def elsewhere(path, out, recipe="nvfp4_te_ref", drop=None, change=None, more=None):
    """What a user runs on the accelerator: answers to every question, the header copied."""
    answers = {}
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
        for name in [name for name in file.keys() if name.endswith(".x")]:  # noqa: SIM118
            number = name.partition(".")[0]
            amax = file.get_tensor(f"{number}.tensor_amax") if f"{number}.tensor_amax" in file.keys() else None  # noqa: SIM118
            found = emu.quantize(file.get_tensor(name), recipe, tensor_amax=amax)
            answers |= {f"{number}.packed": found.pack(), f"{number}.scale": np.ascontiguousarray(found.scales)}
    if drop is not None:
        answers = {name: array for name, array in answers.items() if not name.startswith(drop) and not name.endswith(drop)}
    if change is not None:
        metadata = change(metadata)
    save_file(answers | (more or {}), out, metadata)
    return out


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The inputs of the directed suite."""
    path = tmp_path_factory.mktemp("files") / "inputs.safetensors"
    emit(path, CONTRACT, **FEW)
    return path


def test_emit_run_results_pass(inputs, tmp_path):
    report = check(results_target(elsewhere(inputs, tmp_path / "out.safetensors"), contract=CONTRACT), CONTRACT, **FEW)
    assert report.verdict == "pass" and report.compared > 1000


def test_results_without_scales_are_no_pass(inputs, tmp_path):
    found = check(results_target(elsewhere(inputs, tmp_path / "out.safetensors", drop=("scale",))), CONTRACT, **FEW)
    assert found.verdict == "too_little" and "alone: tensor, scale" in found.message


def test_wrong_results_differ_with_an_example_that_was_not_shrunk(inputs, tmp_path):
    def other(path, out):
        answers = {}
        with safe_open(path, framework="np") as file:
            metadata = file.metadata()
            for name in [name for name in file.keys() if name.endswith(".x")]:  # noqa: SIM118
                number = name.partition(".")[0]
                found = emu.quantize(file.get_tensor(name), "nvfp4_te_ref", tensor_amax=file.get_tensor(f"{number}.tensor_amax"))
                answers |= {
                    f"{number}.codes": found.codes,
                    f"{number}.scale": np.where(found.scales == 0x38, 0x39, found.scales).astype("u1"),
                }
        save_file(answers, out, metadata)
        return out

    report = check(results_target(other(inputs, tmp_path / "out.safetensors")), CONTRACT, **FEW)
    assert report.verdict == "differs" and {failure.stage for failure in report.failures} == {"scale"}
    example = report.failures[0].example
    assert example.want.startswith("0x38") and example.got.startswith("0x39") and example.steps and example.note


def test_the_header_says_what_is_asked(inputs):
    with safe_open(inputs, framework="np") as file:
        about = json.loads(file.metadata()["emu_check"])
        assert file.get_tensor("0000.x").dtype == np.float32 and file.get_tensor("0000.tensor_amax").shape == ()
        assert sum(rows for _, rows in about["rows"][0]["why"]) == file.get_tensor("0000.x").shape[0]
    assert about["contract"] == CONTRACT and len(about["digest"]) == 64 and about["questions"] == len(about["rows"])


def test_bf16_inputs_are_bf16(tmp_path):
    path = tmp_path / "inputs.safetensors"
    emit(path, "convert/e2m1/rne/nvidia", source="bf16", **FEW)
    with safe_open(path, framework="np") as file:
        assert file.get_tensor("0000.codes").dtype.name == "bfloat16"


def digest_changed(metadata):
    about = json.loads(metadata["emu_check"])
    return {"emu_check": json.dumps(about | {"digest": "0" * 64})}


def key_lost(metadata):
    about = json.loads(metadata["emu_check"])
    del about["suites"]
    return {"emu_check": json.dumps(about)}


@pytest.mark.parametrize(("change", "words"), [
    (digest_changed, "its digest is not that of the inputs"),
    (key_lost, "its emu_check lacks suites"),
    (lambda _: None, "its header has no emu_check: copy the metadata"),
    (lambda _: {"emu_check": "not json"}, "is no JSON object"),
])  # fmt: skip
def test_a_damaged_header_is_refused(inputs, tmp_path, change, words):
    with pytest.raises(FileError, match=words):
        results_target(elsewhere(inputs, tmp_path / "out.safetensors", change=change))


def test_a_missing_tensor_is_named(inputs, tmp_path):
    target = results_target(elsewhere(inputs, tmp_path / "out.safetensors", drop="0003."))
    with pytest.raises(FileError, match=r"no tensor 0003\."):
        check(target, CONTRACT, **FEW)


def test_an_answer_to_no_question_is_refused(inputs, tmp_path):
    count = json.loads(next(iter(safe_open(inputs, framework="np").metadata().values())))["questions"]
    path = elsewhere(inputs, tmp_path / "out.safetensors", more={f"{count:04d}.packed": np.zeros(8, np.uint8)})
    with pytest.raises(FileError, match=rf"{count:04d}\.packed answers no question of the inputs, which have {count}: leave it out"):
        results_target(path, contract=CONTRACT)


def test_another_contract_and_another_file_are_refused(inputs, tmp_path):
    out = elsewhere(inputs, tmp_path / "out.safetensors")
    with pytest.raises(FileError, match="answers quantize/nvfp4_te_ref, not quantize/ufp4"):
        results_target(out, contract="quantize/ufp4")
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    with pytest.raises(FileError, match="cannot be read"):
        results_target(tmp_path / "bad.safetensors")
    with pytest.raises(FileError, match="exists"):
        emit(inputs, CONTRACT, **FEW)
