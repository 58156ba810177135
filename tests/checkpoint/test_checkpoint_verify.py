"""verify_checkpoint: files of libraries and of convert_checkpoint are fine; one wrong byte anywhere is found; nothing unseen is fine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu import quantize
from emu.base.errors import FileError
from emu.checkpoint import compare, identify, identify_files
from emu.checkpoint.candidates import candidates
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.verify import Verified, verify_checkpoint
from emu.cli.main import run

At = Callable[[str], Path]
Q = "model.layers.0.self_attn.q_proj"
SOUND = ("compressed_tensors_mxfp4", "compressed_tensors_nvfp4", "gpt_oss_mxfp4", "modelopt_nvfp4", "torchao_mxfp4_floor",
         "torchao_mxfp4_rceil", "torchao_nvfp4", "torchao_nvfp4_swizzled", "torchao_nvfp4_1level", "gguf_mxfp4", "gguf_nvfp4")  # fmt: skip


@pytest.fixture
def changed(recorded: At, parts: Any, write: Any, tmp_path: Path) -> Callable[..., Path]:
    """A function: recorded file, tensor, byte, value, further tensors -> a folder with that byte changed."""

    def make(name: str, tensor: str | None, place: int = 0, byte: int = 0, more: Any = None) -> Path:
        path = recorded(name) / "model.safetensors"
        found = parts(path) | (more or {})
        if tensor is not None:
            found[tensor][2][place] = byte
        raw = path.read_bytes()
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
        folder = tmp_path / f"changed{len(list(tmp_path.iterdir()))}"
        write(folder / "model.safetensors", found, header.get("__metadata__"))
        return folder

    return make


@pytest.fixture
def before(original: At, parts: Any, write: Any, tmp_path: Path) -> Callable[..., Path]:
    """A function: further tensors -> a file with the bfloat16 weights before quantization, and these."""

    def make(more: Any = None) -> Path:
        weights = {name: part for name, part in parts(original("bfloat16")).items() if name.endswith("_proj.weight")}
        return write(tmp_path / f"before{len(list(tmp_path.iterdir()))}.safetensors", weights | (more or {}))

    return make


def said(found: Verified) -> list[tuple[str, str]]:
    return [(item.tensor, item.what) for item in found.faults]


@pytest.mark.parametrize("name", SOUND)
def test_files_of_libraries_are_fine(recorded: At, name: str) -> None:
    found = verify_checkpoint(recorded(name))
    assert (found.faults, found.exit_code, found.weights, found.compared) == ([], 0, 2, None) and found.verdict.startswith("fine: ")


def test_against_the_weights_it_was_made_from(recorded: At, changed: Any, before: Any) -> None:
    found = verify_checkpoint(recorded("torchao_nvfp4"), before())
    assert (found.exit_code, found.compared) == (0, 2)
    wrong = verify_checkpoint(changed("torchao_nvfp4", f"{Q}._weight_qdata", 70, 0x55), before())
    assert wrong.exit_code == 1 and said(wrong) == [(f"{Q}.weight", "no recipe gives all its bytes from the original")]


@pytest.mark.parametrize(("name", "to"), [("torchao_mxfp4_rceil", "mlx_mxfp4"), ("torchao_nvfp4_1level", "compressed_tensors_nvfp4")])
def test_against_the_files_it_was_converted_from(recorded: At, changed: Any, tmp_path: Path, name: str, to: str) -> None:
    convert_checkpoint(recorded(name), to, tmp_path / "new")
    assert (found := verify_checkpoint(tmp_path / "new", recorded(name))).exit_code == 0 and found.compared == 2
    assert verify_checkpoint(recorded(name), tmp_path / "new").exit_code == 0
    wrong = verify_checkpoint(tmp_path / "new", changed(name, f"{Q}._weight_qdata", 64 * 5 + 3, 0x13))
    assert said(wrong)[0][0] == f"{Q}.weight" and "codes and 0 scales are not those of the original" in said(wrong)[0][1]
    assert wrong.faults[0].places == ("row 5",) and wrong.exit_code == 1 and len(wrong.faults) == 1


def test_a_factor_a_scale_and_a_copy_that_differ(recorded: At, changed: Any, write: Any, parts: Any, tmp_path: Path) -> None:
    source = recorded("modelopt_nvfp4")
    factor = changed("modelopt_nvfp4", f"{Q}.weight_scale_2", 0, parts(source / "model.safetensors")[f"{Q}.weight_scale_2"][2][0] ^ 1)
    assert "its tensor factor is" in said(verify_checkpoint(factor, source))[-1][1]
    scale = changed("modelopt_nvfp4", f"{Q}.weight_scale", 9, parts(source / "model.safetensors")[f"{Q}.weight_scale"][2][9] ^ 1)
    assert (f"{Q}.weight", "0 codes and 1 scales are not those of the original") in said(verify_checkpoint(scale, source))
    norm = {"norm.weight": ("F32", (2,), np.array([1, 2], "<f4"))}
    one, two = changed("modelopt_nvfp4", None, more=norm), changed("modelopt_nvfp4", None)
    assert ("norm.weight", "is in the original and not here") in said(verify_checkpoint(two, one))
    other = changed("modelopt_nvfp4", None, more={"norm.weight": ("F32", (2,), np.array([1, 3], "<f4"))})
    assert said(verify_checkpoint(other, one)) == [("norm.weight", "its bytes are not those of the original")]
    short = changed("modelopt_nvfp4", None, more={"norm.weight": ("F32", (1,), np.array([1], "<f4"))})
    assert said(verify_checkpoint(short, one)) == [("norm.weight", "F32 [1], in the original F32 [2]")]
    assert verify_checkpoint(one, two).exit_code == 0  # a tensor more takes nothing away
    kinds = verify_checkpoint(source, recorded("compressed_tensors_mxfp4"))
    assert kinds.exit_code == 1 and "in blocks of nvfp4_multiplier, in the original [8, 128] in blocks of mxfp4" in said(kinds)[0][1]


def test_nan_bytes_and_padding(recorded: At, changed: Any) -> None:
    nan = verify_checkpoint(changed("torchao_nvfp4", f"{Q}._weight_scale", 9, 0x7F))
    assert said(nan) == [(f"{Q}.weight", "a NaN scale")] and nan.exit_code == 1
    # 8 rows of 8 scales in tiles of 128 x 4: byte 16 * 8 is in the padding, of row 8
    padding = verify_checkpoint(changed("torchao_nvfp4_swizzled", f"{Q}._weight_scale", 16 * 8, 1))
    assert said(padding) == [(f"{Q}.weight", "1 bytes of the padding of its scales are not zero")]
    for word, kind, bits in (("F32", "<u4", 0x7F800001), ("F16", "<u2", 0xFC01), ("BF16", "<u2", 0x7F81)):
        for value, faults in ((bits, [("norm.weight", "NaN (1)")]), (bits - 1, [])):  # one below: infinite
            array = np.array([0, 1, value], kind)
            found = verify_checkpoint(changed("modelopt_nvfp4", None, more={"norm.weight": (word, (3,), array)}))
            assert said(found) == faults and (not faults or found.faults[0].places == ("element 2",))


def test_nothing_to_compare_is_never_fine(recorded: At, original: At, write: Any, tmp_path: Path) -> None:
    assert verify_checkpoint(original("float32")).exit_code == 3
    other = write(tmp_path / "other.safetensors", {"a.weight": ("F32", (4, 32), np.ones((4, 32), "<f4"))})
    found = verify_checkpoint(recorded("modelopt_nvfp4"), other)
    assert (found.exit_code, found.compared, found.faults) == (3, 0, []) and found.verdict.startswith("nothing compared: ")


SHAPE = (4, 64)
WEIGHTS = np.arange(-128, 128, dtype="<f4").reshape(SHAPE) / 64
ALONE = {"b.weight": ("F8_E4M3", SHAPE, np.full(SHAPE, 0x38, np.uint8)), "b.weight_scale": ("F32", (4, 1), np.ones((4, 1), "<f4"))}


@pytest.mark.parametrize(("beside", "alone", "code", "says"), [
    (SHAPE, False, 3, "not all compared: "),
    (None, False, 1, "b.weight: the original has no tensor b.weight"),
    ((3, 3), False, 1, "b.weight: b.weight has shape [3, 3] in the original, [4, 64] here"),
    (SHAPE, True, 3, "not all compared: "),
    (None, True, 3, "nothing compared: "),
    ((3, 3), True, 3, "b.weight has shape [3, 3] in the original, [4, 64] here"),
])  # fmt: skip
def test_blocks_that_no_recipe_makes_are_not_compared(
    write: Any, tmp_path: Path, monkeypatch: Any, beside: tuple[int, ...] | None, alone: bool, code: int, says: str
) -> None:
    """FP8 under a scale for each row, as if no recipe made it, beside MXFP8 that the original gives, and alone."""
    for module in (compare, identify):
        monkeypatch.setattr(module, "candidates", lambda store: [] if "fp8" in store.id and "mxfp8" not in store.id else candidates(store))
    made = quantize(WEIGHTS, "mxfp8_e4m3_vllm")
    block = {"a.weight": ("F8_E4M3", SHAPE, made.codes), "a.weight_scale": ("U8", (4, 2), made.scales)}
    source = write(tmp_path / "new.safetensors", ALONE | ({} if alone else block))
    before = {"a.weight": ("F32", SHAPE, WEIGHTS)} | ({} if beside is None else {"b.weight": ("F32", beside, np.zeros(beside, "<f4"))})
    found = verify_checkpoint(source, write(tmp_path / "old.safetensors", before))
    assert (found.exit_code, found.compared, found.uncompared) == (code, int(not alone), int(beside == SHAPE)) and says in found.verdict
    report = identify_files(source, tmp_path / "old.safetensors")
    assert report.exit_code == (3 if beside == SHAPE else 1) and "no weight is damaged or departs" not in report.text()
    assert [item.name for item in report.uncompared] == ["b.weight"] * (beside == SHAPE)
    assert ("not compared with the original, no recipe makes their blocks: b.weight" in report.text()) == (beside == SHAPE)


def test_the_command(recorded: At, changed: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify-checkpoint", str(recorded("modelopt_nvfp4"))]) == 0
    assert capsys.readouterr().out.startswith("fine: ")
    bad = str(changed("torchao_nvfp4", f"{Q}._weight_scale", 9, 0x7F))
    assert run(["verify-checkpoint", bad]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == f"wrong: {bad}: 2 weights, 0 other tensors: 1 faults, first {Q}.weight: a NaN scale"
    assert run(["verify-checkpoint", bad, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["faults"][0]["tensor"] == f"{Q}.weight"
    assert run(["verify-checkpoint", str(tmp_path / "none")]) == 2
    error = capsys.readouterr()
    assert error.out == "" and error.err.count("\n") == 1


def test_plain_tensors_beside_a_quantized_original_are_nothing_compared(changed: Any, write: Any, tmp_path: Path) -> None:
    norm = {"norm.weight": ("F32", (2,), np.array([1, 2], "<f4"))}
    plain = write(tmp_path / "plain.safetensors", norm)
    found = verify_checkpoint(plain, changed("modelopt_nvfp4", None, more=norm))
    assert (found.exit_code, found.weights) == (3, 0) and found.verdict.startswith("nothing compared: ")


@pytest.mark.parametrize(
    ("tensor", "place", "bit"),
    [(f"{Q}.weight_scale_2", 3, 0x80), (f"{Q}.weight_scale_2", 0, 1), (f"{Q}.weight_scale", 9, 0x80)],
    ids=["negative factor", "last bit of the factor", "negative scale"],
)
def test_no_recipe_of_other_blocks_excuses_a_factor_or_the_sign_of_a_scale(
    recorded: At, changed: Any, before: Any, parts: Any, tensor: str, place: int, bit: int
) -> None:
    held = parts(recorded("modelopt_nvfp4") / "model.safetensors")[tensor][2][place]
    assert verify_checkpoint(recorded("modelopt_nvfp4"), before()).exit_code == 0
    found = verify_checkpoint(changed("modelopt_nvfp4", tensor, place, held ^ bit), before())
    assert found.exit_code == 1 and {item.tensor for item in found.faults} == {f"{Q}.weight"}


@pytest.mark.parametrize(
    ("gate", "up", "exit_code"),
    [((1, 0x7E), (2.5, 0x7E), 0), ((2.5, 0x73), (2.5, 0x7E), 0), ((1, 0x7E), (1, 0x7E), 1)],
    ids=["a factor each", "the larger for both", "the smaller for both: up is read as 1"],
)
def test_the_factor_of_a_smaller_weight_beside_it_is_not_shared(write: Any, tmp_path: Path, gate: Any, up: Any, exit_code: int) -> None:
    def half(name: str, value: float, top: float, scale: int) -> tuple[dict[str, Any], dict[str, Any]]:
        held: dict[str, Any] = {f"m.{name}.weight": ("U8", (1, 8), np.full(8, 0x77, "u1"))}
        held[f"m.{name}.weight_scale"] = ("F8_E4M3", (1, 1), np.array([scale], "u1"))
        held[f"m.{name}.weight_scale_2"] = ("F32", (), np.float32(top) / np.float32(2688))
        return held, {f"m.{name}.weight": ("F32", (1, 16), np.full(16, value, "<f4"))}

    halves = [half("gate_proj", 1, *gate), half("up_proj", 2.5, *up)]
    new, old = (write(tmp_path / f"{name}.safetensors", halves[0][k] | halves[1][k]) for k, name in enumerate(("new", "old")))
    found = verify_checkpoint(new, old)
    assert (found.exit_code, {item.tensor for item in found.faults}) == (exit_code, {"m.up_proj.weight"} if exit_code else set())


def test_tensors_beside_an_original_that_is_not_quantized(recorded: At, changed: Any, before: Any) -> None:
    numbers, bits = np.array([1, 2.001], "<f4"), np.array([0x3F80, 0x4000], "<u2")  # 2.001 is 2 in bfloat16
    other = [("norm.weight", "its numbers are not those of the original")]
    held = before({"norm.weight": ("F32", (2,), numbers)})
    for more, what in (
        (("F32", (2,), numbers), []),
        (("BF16", (2,), bits), []),
        (("BF16", (2,), bits + np.array([0, 1], "<u2")), other),
        (("F32", (2,), np.array([1, 2], "<f4")), other),
        (("F32", (1, 2), numbers), [("norm.weight", "F32 [1, 2], in the original F32 [2]")]),
    ):
        assert said(verify_checkpoint(changed("modelopt_nvfp4", None, more={"norm.weight": more}), held)) == what
    assert said(verify_checkpoint(recorded("modelopt_nvfp4"), held)) == [("norm.weight", "is in the original and not here")]


MODELOPT = ("modelopt_nvfp4", "hf_quant_config.json", "quantization")
GROUPED = ("compressed_tensors_nvfp4", "config.json", "quantization_config")


def grouped(*sizes: Any) -> dict[str, Any]:
    """What compressed-tensors says of groups of modules."""
    return {"config_groups": {f"group_{number}": {"weights": {"group_size": size}} for number, size in enumerate(sizes)}}


@pytest.mark.parametrize(("where", "said", "wrong"), [
    (MODELOPT, {"group_size": 16}, None), (MODELOPT, {"group_size": None}, None), (MODELOPT, {}, None),
    (MODELOPT, {"group_size": 32}, "quantization.group_size = 32"), (MODELOPT, {"group_size": "x"}, "quantization.group_size = x"),
    (MODELOPT, {"group_size": [16]}, "quantization.group_size = [16]"), (MODELOPT, {"group_size": 0}, "quantization.group_size = 0"),
    (GROUPED, grouped(16), None), (GROUPED, grouped(32, 16), None), (GROUPED, grouped(None, None), None),
    (GROUPED, grouped(32), "quantization_config.config_groups.*.weights.group_size = 32"),
    (GROUPED, grouped(None, 128), "quantization_config.config_groups.*.weights.group_size = 128"),
])  # fmt: skip
def test_a_file_that_says_another_number_of_elements_under_a_scale(
    recorded: At, tmp_path: Path, where: tuple[str, str, str], said: dict[str, Any], wrong: str | None
) -> None:
    """The bytes are those of blocks of 16: what stands beside them says what a reader will take them for."""
    name, file, key = where
    source = tmp_path / "in"
    shutil.copytree(recorded(name), source)
    path = source / file
    data = json.loads(path.read_text())
    data[key] = {word: value for word, value in data[key].items() if word != "group_size"} | said
    path.write_text(json.dumps(data))
    found = verify_checkpoint(source)
    assert found.exit_code == (0 if wrong is None else 1)
    assert {item.what for item in found.faults} == (set() if wrong is None else {f"{file}: {wrong}: 16 was expected"})


def test_scales_whose_codes_are_of_another_type_or_missing_are_named(recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    """One weight of several: without its codes it was one more tensor, and the others were fine."""
    for name, codes, scale in (("modelopt_nvfp4", f"{Q}.weight", f"{Q}.weight_scale"),
                               ("compressed_tensors_mxfp4", f"{Q}.weight_packed", f"{Q}.weight_scale")):  # fmt: skip
        shutil.copytree(recorded(name), tmp_path / name)
        path = tmp_path / name / "model.safetensors"
        held = parts(path)
        for word, why in (("I8", f"{codes} as U8, which is I8"), (None, f"{codes}, which is missing")):
            found = dict(held)
            tensor = found.pop(codes)
            write(path, found if word is None else found | {codes: (word, *tensor[1:])})
            for use in (verify_checkpoint, identify_files, lambda source, to=name: convert_checkpoint(source, to, tmp_path / "new")):
                with pytest.raises(FileError, match=rf"{scale} is of no store: .*\({name} needs {why}\)"):
                    use(path.parent)
        write(path, held | {"norm.weight_scale": ("F32", (1,), np.array([1], "<f4"))})
        assert verify_checkpoint(path.parent).exit_code == 0
