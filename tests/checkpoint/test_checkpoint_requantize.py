"""convert_checkpoint with requantize: what the other store's recipe makes of the decoded values, by the reference model; its report."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

import emu
from emu.base.errors import FileError, OperandError, SpecError
from emu.checkpoint import read
from emu.checkpoint import requantize as requantizing
from emu.checkpoint.candidates import candidates
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.decoded import Decoder
from emu.checkpoint.hold import factor_of
from emu.checkpoint.layout import Stated
from emu.checkpoint.read import StoredRows, StoredTensor, open_tensor
from emu.checkpoint.store import matches
from emu.cli.main import run
from emu.engines.exact.block import quantize
from emu.engines.exact.convert import convert_value
from emu.engines.exact.value import Value, finite
from emu.spec import derive, get, names

STATED = ("--packing", "low_nibble_first", "--scale-layout", "row_major")
LOW = Stated("low_nibble_first", "row_major")  # files that do not say whose they are
At = Callable[[str], Path]
GRID = [Fraction(x) / 2 for x in (0, 1, 2, 3, 4, 6, 8, 12)]
FP32 = get("format", "fp32")
WRITABLE = [name for name in names("checkpoint") if get("checkpoint", name).facts.write is not None]
LONG = pytest.mark.exhaustive
PAIRS = [pytest.param("modelopt_nvfp4", "compressed_tensors_nvfp4", None),
         pytest.param("compressed_tensors_nvfp4", "gpt_oss_mxfp4", "mxfp4_torchao_floor"),
         pytest.param("modelopt_nvfp4", "compressed_tensors_mxfp4", None, marks=LONG),
         pytest.param("modelopt_nvfp4", "mlx_nvfp4", None, marks=LONG)]  # fmt: skip


def unit(code: int, columns: int) -> Fraction:
    """The value of a scale, by hand: E4M3 for blocks of 16, E8M0 for blocks of 32."""
    if columns == 32:
        return Fraction(2) ** (code - 127)
    field, fraction = code >> 3, code & 7
    return Fraction(8 + fraction, 8) * Fraction(2) ** (field - 7) if field else Fraction(fraction, 8) * Fraction(2) ** -6


def opened(path: Path) -> dict[str, StoredTensor]:
    """The weights of a folder by the name of their layer."""
    container = open_checkpoint(path)
    tensors = [open_tensor(container, fitting) for fitting in matches(container)]
    return {item.name.removesuffix(".weight"): item for item in tensors if isinstance(item, StoredTensor)}


def decoded(tensor: StoredTensor) -> tuple[list[list[Value]], list[list[Fraction]]]:
    """Values of a weight and what its scales multiply by, from codes and scales by hand-sized code."""
    (rows,) = tensor.chunks()
    columns = tensor.block.facts.shape[1]
    scales = [[unit(int(code), columns) * factor_of(tensor) for code in row] for row in rows.scales]
    values = [
        [Value("finite", code >> 3, GRID[code & 7] * scales[r][c // columns]) for c, code in enumerate(row)]
        for r, row in enumerate(rows.codes.tolist())
    ]
    return values, scales


FLOATS = [0, 1, 2, 3, 0x1FF, 0x200, 0x007FFFFF, 0x00800000, 0x00800001, 0x0BFFFFFF, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x7B124924,
          0x7B124925, 0x7B92491F, 0x7B924924, 0x7B924925, 0x7B924926, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000000, 0x80000001,
          0xBF800000, 0xFF800000]  # fmt: skip
ROUNDED = [0, 1, 0x007FFFFF, 0x3F800001, 0x7B924925, 0x7F7FFFFF, 0x7FC00000, 0xBF800000]
SINGLE = [("deepseek_fp8", ROUNDED), ("compressed_tensors_fp8_row", [1, 0x7F, 0x3F80, 0x7B92, 0x7F7F, 0x7F80, 0x8000]),
          ("compressed_tensors_mxfp8", [0, 1, 7, 127, 246, 247, 254]), ("torchao_mxfp4_rceil", list(range(0, 256, 15))),
          ("gpt_oss_mxfp4", [0, 1, 127, 254])]  # fmt: skip


def both_ways(tensor: StoredTensor, scales: NDArray[Any]) -> tuple[Decoder, Decoder]:
    """Two decoders that met the scales: as they are, and by exact values alone."""
    numbers: dict[Fraction, int] = {}
    found = Decoder(tensor, numbers), Decoder(tensor, numbers)
    found[1].elements = np.zeros(0)
    for decoder in found:
        for part in (scales[:2], scales):
            decoder.scales(StoredRows(0, np.zeros((1, 1), np.uint8), part[None, :], np.zeros((1, len(part)), np.uint8)))
    return found


def check_equal(tensor: StoredTensor, scales: NDArray[Any]) -> None:
    fast, exact = both_ways(tensor, scales)
    for scale in scales.tolist():
        one, two = (slice(side.known[scale] * side.size, (side.known[scale] + 1) * side.size) for side in (fast, exact))
        for name in ("fine", "bits", "exact", "ids", "codes"):
            assert np.array_equal(getattr(fast, name)[one], getattr(exact, name)[two]), (name, hex(scale))
        assert np.array_equal(fast.near[one].view(np.int64), exact.near[two].view(np.int64)), hex(scale)
        assert fast.units[fast.known[scale]] == exact.units[exact.known[scale]], hex(scale)
        assert all(fast.value(one.start + code) == exact.value(two.start + code) for code in range(fast.size)), hex(scale)


@pytest.mark.parametrize(("name", "scales"), SINGLE, ids=[name for name, _ in SINGLE])
def test_values_of_many_scales_at_once_are_the_exact_ones(recorded: At, name: str, scales: list[int]) -> None:
    """Every code under scales at both ends of the range, with ties of binary32, zeros, negative ones and NaN among them."""
    tensor = next(iter(opened(recorded(name)).values()))
    check_equal(tensor, np.array(scales, tensor.take(0, 1).scales.dtype))


@LONG
@pytest.mark.parametrize("name", ["deepseek_fp8", "compressed_tensors_fp8_row", "compressed_tensors_mxfp8"])
def test_values_of_drawn_scales_are_the_exact_ones(recorded: At, name: str) -> None:
    tensor = next(iter(opened(recorded(name)).values()))
    kind = tensor.take(0, 1).scales.dtype
    drawn = np.frombuffer(hashlib.shake_256(name.encode()).digest(64 * kind.itemsize), kind)
    every = {1: np.arange(0, 255, 3), 2: np.array(FLOATS) >> 16, 4: np.array(FLOATS)}[kind.itemsize]
    check_equal(tensor, every.astype(kind) if kind.itemsize == 1 else np.concatenate([every.astype(kind), drawn]))


def test_a_scale_costs_no_exact_work_of_its_own(recorded: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scale for each row: a large weight has thousands of them."""
    tensor = opened(recorded("torchao_fp8_row")).popitem()[1]
    monkeypatch.setattr(Decoder, "_learn", lambda *args: pytest.fail("a scale was worked out by itself"))
    scales = np.arange(0x3F800000, 0x3F800000 + 5000, dtype=np.uint32)
    rows = StoredRows(0, np.arange(126, dtype=np.uint8)[None, :].repeat(5000, 0), scales[:, None], np.zeros((5000, 1), np.uint8))
    decoder = Decoder(tensor, {})
    places = decoder.places(rows)
    wanted = [np.float32(scale) * np.float64(8) for scale in scales.view(np.float32)]
    assert np.array_equal(decoder.near[places[:, 0x50]], wanted)


@pytest.mark.parametrize(("name", "to", "recipe"), PAIRS)
def test_what_is_written_is_what_the_reference_model_makes_of_the_decoded_values(
    recorded: At, tmp_path: Path, name: str, to: str, recipe: str | None
) -> None:
    done = convert_checkpoint(recorded(name), to, tmp_path / "new", requantize=True, recipe=recipe)
    rule = get("recipe", recipe or get("checkpoint", to).facts.write.recipe)
    before, after = opened(recorded(name)), opened(tmp_path / "new")
    assert before.keys() == after.keys() == {key.removesuffix(".weight") for key in done.changed} and len(done.changed) == 2
    for key, tensor in list(before.items())[:1]:
        values, scales = decoded(tensor)
        nearest, entry = get("rounding", "rne"), derive.arithmetic_entry(FP32)
        bits = [[convert_value(value, FP32, nearest, entry) for value in row] for row in values]
        wanted = quantize(rule, bits, FP32)
        (rows,) = after[key].chunks()
        assert rows.codes.tolist() == wanted.codes and rows.scales.tolist() == wanted.levels["scale"]
        assert after[key].tensor_bits == (wanted.levels["tensor"][0][0] if "tensor" in wanted.levels else None)
        new, units = decoded(after[key])
        change = next(item for at, item in done.changed.items() if at.removesuffix(".weight") == key)
        pairs = [(one.signed, two.signed) for old, made in zip(values, new, strict=True) for one, two in zip(old, made, strict=True)]
        assert (change.recipe, change.elements, change.blocks) == (rule.id, len(pairs), rows.scales.size)
        assert change.values == sum(one != two for one, two in pairs) > 0
        assert change.error == max(abs(one - two) for one, two in pairs) == abs(change.before - change.after)
        place = change.row * tensor.shape[-1] + change.element
        assert pairs[place] == (change.before, change.after)
        (old_rows,) = tensor.chunks()
        assert change.codes == int(((old_rows.codes != rows.codes) & ((old_rows.codes | rows.codes) & 7 != 0)).sum())
        wide, narrow = tensor.shape[-1] // len(scales[0]), tensor.shape[-1] // len(units[0])
        differs = [[scales[r][c // wide] != units[r][c // narrow] for c in range(tensor.shape[-1])] for r in range(len(scales))]
        assert change.scales == sum(any(row[c : c + narrow]) for row in differs for c in range(0, len(row), narrow))
        assert change.rounded == sum(float(np.float32(one)) != one for one, _ in pairs)
    assert not done.lossless and run(["verify-checkpoint", str(tmp_path / "new")]) == 0


@pytest.mark.parametrize("jobs", ["2", "7"])
def test_the_bytes_are_the_same_at_any_number_of_jobs(
    recorded: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    monkeypatch.setattr(read, "row_step", lambda length: 1)
    arguments = ["convert-checkpoint", str(recorded("torchao_mxfp4_rceil")), "--to", "modelopt_nvfp4", "--requantize", "--json", "--out"]
    said, seen, second, name = [], set(), threading.Event(), ""
    real = requantizing.quantize

    def noted(*given: Any, **operands: Any) -> Any:
        seen.add(threading.get_ident())
        if len(seen) > 1:
            second.set()
        elif name == "many":
            second.wait(10)  # else one thread may do all
        return real(*given, **operands)

    monkeypatch.setattr(requantizing, "quantize", noted)
    for name, words in (("one", ()), ("many", ("--jobs", jobs))):
        seen.clear()
        assert run([*arguments, str(tmp_path / name), *words]) == 0
        assert (len(seen) > 1) == (name == "many")
        said.append(json.loads(capsys.readouterr().out) | {"out": ""})
    one, many = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "many"))
    assert one == many and said[0] == said[1] and said[0]["changed"]


def test_what_the_store_can_hold_stays_as_it_is(recorded: At, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = recorded("torchao_mxfp4_floor")
    arguments = ["convert-checkpoint", str(source), "--to", "compressed_tensors_mxfp4", "--requantize", "--out"]
    assert run([*arguments, str(tmp_path / "new")]) == 0
    assert "lossless: every weight stands for the same numbers; read back and compared\n" in capsys.readouterr().out
    assert {key: decoded(item) for key, item in opened(tmp_path / "new").items()} == {
        key: decoded(item) for key, item in opened(source).items()
    }
    done = convert_checkpoint(recorded("torchao_nvfp4_1level"), "modelopt_nvfp4", tmp_path / "more", requantize=True)
    assert done.lossless and not done.changed and not done.rounded


def test_only_the_weights_that_need_it_are_quantized_again(
    recorded: At, parts: Callable[[Path], Any], write: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, key = tmp_path / "in", "model.layers.0.self_attn.q_proj.weight"
    tensors = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    tensors[f"{key}_scale_2"] = ("F32", (), np.array(2.0**-9, "<f4"))  # its reciprocal is a binary32 number
    write(source / "model.safetensors", tensors)
    arguments = ["convert-checkpoint", str(source), "--to", "compressed_tensors_nvfp4", "--out", str(tmp_path / "new"), "--requantize"]
    arguments += STATED
    assert run(arguments) == 0
    said = capsys.readouterr().out
    pattern = (
        r"not lossless: 1 weights quantized again by nvfp4_compressed_tensors: (\d+) of 1024 values differ; 1 weights kept as they are\n"
        r"quantized again: model.layers.0.self_attn.k_proj.weight: \d+ of 1024 codes, \d+ of 64 scales and (\d+) values differ; "
        r"largest error \S+ \(row \d element \d+: \S+ before, \S+ after\)\n"
    )
    found = re.search(pattern, said)
    assert found is not None and found[1] == found[2] and int(found[1]) > 0
    before, after = opened(source), opened(tmp_path / "new")
    assert decoded(before[key.removesuffix(".weight")]) == decoded(after[key.removesuffix(".weight")])
    assert run([*arguments[:4], "--json", "--out", str(tmp_path / "again"), "--requantize", *STATED]) == 0
    told = json.loads(capsys.readouterr().out)
    (change,) = told["changed"].values()
    assert told["lossless"] is False and change["values"] == int(found[1])
    assert abs(Fraction(change["before"]) - Fraction(change["after"])) == Fraction(change["error"]) > 0


def test_the_refusal_names_the_flag_and_bad_requests_leave_nothing(recorded: At, tmp_path: Path) -> None:
    for name, to, says in (
        ("modelopt_nvfp4", "compressed_tensors_mxfp4", "blocks of nvfp4_multiplier are no blocks of mxfp4: --requantize quantizes"),
        ("modelopt_nvfp4", "compressed_tensors_nvfp4", "no binary32 number: --round-factor takes .*, or --requantize quantizes"),
    ):
        with pytest.raises(FileError, match=says):
            convert_checkpoint(recorded(name), to, tmp_path / "new")
    with pytest.raises(OperandError, match="give --requantize too"):
        convert_checkpoint(recorded("modelopt_nvfp4"), "mlx_mxfp4", tmp_path / "new", recipe="mxfp4_mlx_cpu")
    with pytest.raises(SpecError, match="recipe nvfp4_modelopt does not make its blocks: name one of mxfp4_aiter_triton, "):
        convert_checkpoint(recorded("modelopt_nvfp4"), "mlx_mxfp4", tmp_path / "new", requantize=True, recipe="nvfp4_modelopt")
    with pytest.raises(SpecError, match="gpt_oss_mxfp4: the recipe by which its weights are made is not known: --recipe names one of"):
        convert_checkpoint(recorded("modelopt_nvfp4"), "gpt_oss_mxfp4", tmp_path / "new", requantize=True)
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_no_numbers_are_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    def refused(length: int, says: str, scale: int = 0x38, factor: float = 1) -> None:
        scales = np.full((4, length // 16), 0x38, np.uint8)
        scales[2, 1] = scale
        tensors = {"m.weight_packed": ("U8", (4, length // 2), np.full((4, length // 2), 0x22, np.uint8)),
                   "m.weight_scale": ("F8_E4M3", scales.shape, scales),
                   "m.weight_global_scale": ("F32", (1,), np.array([factor], "<f4"))}  # fmt: skip
        source = write(tmp_path / "in" / "model.safetensors", tensors)
        with pytest.raises(FileError, match=says):
            convert_checkpoint(source, "mlx_mxfp4", tmp_path / "new", requantize=True, stated=LOW)

    refused(48, r"m\.weight: rows of 48 elements are no multiple of the blocks of 32 in mlx_mxfp4")
    refused(64, r"m\.weight: row 2 element 16 is NaN or beyond binary32: nothing to quantize", scale=0x7F)
    refused(64, r"m\.weight: row 0 element 0 is NaN or beyond binary32", factor=2.0**-130)  # no value of binary32 is as large as 2^130
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("name", WRITABLE)
def test_a_store_quantizes_by_a_recipe_of_its_own_blocks(name: str) -> None:
    store = get("checkpoint", name)
    recipe = store.facts.write.recipe
    if recipe is None:
        assert any("rule by which" in item.what for item in store.open)
    else:
        assert recipe in [item.id for item in candidates(store)] and get("recipe", recipe).facts.block in store.facts.blocks


def test_equal_values_are_told_as_lossless_all_the_same(
    write: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    tensors = {"m._weight_qdata": ("U8", (2, 32), np.full((2, 32), 0x72, np.uint8)),  # 1 and 6
               "m._weight_scale": ("F8_E4M3", (2, 4), np.full((2, 4), 0x38, np.uint8))}  # fmt: skip
    write(source / "model.safetensors", tensors)
    assert run(["convert-checkpoint", str(source), *STATED, "--to", "mlx_mxfp4", "--out", str(tmp_path / "new"), "--requantize"]) == 0
    said = capsys.readouterr().out
    assert "lossless all the same: 1 weights quantized again by mxfp4_mlx_cpu: 0 of 128 values differ; 0 weights kept" in said
    assert "quantized again: m.weight: all 128 values are the same numbers; 0 codes and 0 of 4 scales differ" in said
    assert finite(Fraction(6)) == decoded(opened(tmp_path / "new")["m"])[0][0][1]


def test_parts_of_a_weight_share_the_maximum_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "CHUNK", 1)  # 128 rows at a time
    source, rng = tmp_path / "in", np.random.default_rng(3)
    source.mkdir()
    blocks, scales = rng.integers(0, 256, (256, 2, 16), np.uint8), rng.integers(102, 126, (256, 2), np.uint8)
    scales[128:] += 5
    save_file({"m_blocks": blocks, "m_scales": scales}, source / "model.safetensors")
    done = convert_checkpoint(source, "modelopt_nvfp4", tmp_path / "new", requantize=True, stated=LOW)
    tensor = opened(tmp_path / "new")["m"]
    assert [rows.first for rows in tensor.chunks()] == [0, 128]
    codes = np.stack([blocks & 15, blocks >> 4], -1).reshape(256, 64)
    signed = np.array([float(x) for x in GRID] + [-float(x) for x in GRID])
    values = signed[codes] * 2.0 ** np.repeat(scales.astype(int) - 127, 32, 1)
    wanted = emu.quantize(values.astype(np.float32), "nvfp4_modelopt")
    for name, want in (("codes", wanted.codes), ("scales", wanted.scales)):
        assert np.array_equal(np.concatenate([getattr(rows, name) for rows in tensor.chunks()]), want)
    factor = np.uint32(wanted.tensor_scale).view(np.float32).astype(np.float64)
    errors = np.abs(values - signed[wanted.codes] * np.repeat(emu.decode(wanted.scales, "e4m3", np.float64), 16, 1) * factor)  # exact
    change = done.changed["m"]
    assert tensor.tensor_bits == int(np.asarray(wanted.tensor_scale)) and change.row >= 128
    assert Fraction(errors[change.row, change.element]) == Fraction(errors.max()) == change.error


def test_a_block_counts_where_one_of_the_scales_that_it_replaces_differs(write: Callable[..., Path], tmp_path: Path) -> None:
    tensors = {"m.weight_packed": ("U8", (1, 16), np.full(16, 0x77, np.uint8)),
               "m.weight_scale": ("F8_E4M3", (1, 2), np.array([0x38, 0x40], np.uint8)),  # 1 and 2
               "m.weight_global_scale": ("F32", (1,), np.ones(1, "<f4"))}  # fmt: skip
    source = write(tmp_path / "in" / "model.safetensors", tensors)
    change = convert_checkpoint(source, "mlx_mxfp4", tmp_path / "new", requantize=True, stated=LOW).changed["m.weight"]
    assert (change.values, change.codes, change.scales, change.blocks) == (0, 16, 1, 1)  # 6 * 1 is 3 * 2
