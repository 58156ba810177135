"""Weights whose numbers another store holds under other scales: every number stays, or the refusal names a block and what was tried.

Rows are those of casts of MXFP4 to NVFP4 and to E4M3 under one power of two, with the powers worked out by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emu import decode
from emu.base.errors import FileError
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.facts import block_of
from emu.checkpoint.hold import factor_of
from emu.checkpoint.read import StoredTensor, open_tensor, spread
from emu.checkpoint.refit import can_refit, refit
from emu.checkpoint.store import matches
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run
from emu.spec import get, names

At = Callable[[str], Path]
Write = Callable[..., Path]
CONFIG = {"quantization_config": {"quant_method": "mxfp4"}}
WRITABLE = [name for name in names("checkpoint") if get("checkpoint", name).facts.write is not None]
# what a row shows, scales, power of the tensor factor of NVFP4 and of the scale of an E4M3 tile (None: no such number), packed codes
CASES: list[tuple[str, str, int | None, int | None, str]] = [
    ("ordinary spread 7", "75767778797A7B7C", -11, -9,
     ("3F33FFDDB208A4DB850659C4CC89C079D7AE8F50DC99A8117EBACA6FB19630042F864D0D788DA301E371A1F051815864"
     "BF2ABE1B9E3F5603F1FF233F8BADC0AE717CE06F9012C7A251A530499BF73993178A9E888F36B91B517DCD916A06E2A3"
     "224EDDEB52CBC4F8009E751BC193FC2B2936CACE1DCC8737BE14E8239733CE7E")),
    ("spread 17, all codes", "7F6E", -8, None, "056C7C3EEB632A24C70010CE57F75AC09A6B60DD58B80460F3E35C093F62BC8A"),
    ("spread 18, all codes", "7F6D", None, None, "570BE2FBA4189A139FB17E1FFC47FC0ADF5B6188A198B1973C4045D1B556D005"),
    ("spread 18, the small block has codes 2, 4, 6 only: its scale doubles", "7F6D", -8, None,
     "4AF7F1D670D2B6B2F881BCCDAD6CA92D20204226222402044624406222000064"),
    ("spread 18, the large block holds 3, 5, 7 (1.5, 3, 6): scale halves and 3, 6 do not fit", "7F6D", None, None,
     "537355773353373757377773337733350B188029378407490066033832E64712"),
    ("spread 18, the large block holds codes 1..4 only: largest 2", "7F6D", -9, None,
     "3133431423132424433224122441213228E593E1519E5CBC6A89B7CBE60EE357"),
    ("counterexample of vllm 53709: codes 1, one group 17 below", "7F7F7F6E", -8, -9,
     ("111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111"
     "11111111111111111111111111111111")),
    ("a zero block with scale 00", "787900", -14, -12,
     "ACB99C6BD64690268FC13E9D7C522D2FA522A2448421B3E5FCEFE09EAE5F08B600000000000000000000000000000000"),
    ("a block that is not zero with scale 00: ModelOpt leaves it out of the spread", "787900", None, None,
     "73A454B486B1529690AD8B13EC8F9CD4191B3D3664E620BD2AA8384F508E049877777777777777777777777777777777"),
    ("spread 14, all codes", "7F71", -8, -6, "7777777777777777777777777777777711111111111111111111111111111111"),
    ("spread 15, all codes", "7F70", -8, None, "7777777777777777777777777777777711111111111111111111111111111111"),
    ("spread 15, largest code 5 (3): the tile scale halves", "7F70", -8, -7,
     "5555555555555555555555555555555511111111111111111111111111111111"),
    ("spread 16, smallest code 2 (1)", "7F6F", -8, -7, "5555555555555555555555555555555522222222222222222222222222222222"),
    ("random codes and scales", "867F7885", -1, 1,
     ("7B556F97403C0052840F07E70C185EABA382686707B1D2FB4A7342B1BF2B34E2972F5D68B4D6C9141DAEB61F8ADDCADB"
     "88739FBF3DB554F449C0DDCEAEE10057")),
    ("random codes and scales", "867C6E", None, None,
     "0354C0AB60CBF0F267E1605FDF8A0B820013B74CE70571A216B4F6E9D43F98CF17897F653B9C13F5654154C42CEF50AA"),
    ("random codes and scales", "86826E", None, None,
     "1D7671309AAFB80F63F3BDD53AA936BB5A2F6E2B852934AEEAA26CCC8FDF67C2B290C22B50C73A43095AE890B9A1F0FD"),
    ("random codes and scales", "706A706E79", -14, None,
     ("6194C3352298BC8FAC87551599FA859902A0BC33EDEF8364C924F098D258525A1C52BE8BCA5A34A1DA963EB36B0BCB49"
     "741FC4241DDEE790D99E5F443DCC3D9D5A97D6FA0359F16460C1D1A112F28D58")),
]  # fmt: skip


def mxfp4(folder: Path, write: Write, scales: Any, codes: Any) -> Path:
    """A file of gpt-oss that says so. scales: uint8 [r, blocks].   codes: packed, [r, blocks, 16]."""
    write(folder / "model.safetensors", {"m_blocks": ("U8", codes.shape, codes), "m_scales": ("U8", scales.shape, scales)})
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return folder


def opened(path: Path) -> StoredTensor:
    container = open_checkpoint(path)
    found = open_tensor(container, matches(container)[0])
    assert isinstance(found, StoredTensor)
    return found


def values(tensor: StoredTensor) -> NDArray[np.float64]:
    """Every number of a weight, exact in binary64: few bits, and far from its ends."""
    rows, block = list(tensor.chunks()), block_of(tensor.store)
    codes, scales = (np.concatenate([getattr(part, name) for part in rows]) for name in ("codes", "scales"))
    elements = decode(codes, block.element_formats[0], np.float64)
    units = spread(decode(scales, tensor.scale_format, np.float64), tensor.grid.wide, codes.shape[1])
    return np.asarray(elements * units * float(factor_of(tensor)))


@pytest.mark.parametrize(("why", "scales", "factor", "tile", "codes"), CASES, ids=[f"{n}-{case[0][:32]}" for n, case in enumerate(CASES)])
def test_numbers_stay_wherever_a_power_of_two_keeps_them(
    why: str,
    scales: str,
    factor: int | None,
    tile: int | None,
    codes: str,
    write: Write,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stored = np.frombuffer(bytes.fromhex(scales), np.uint8).reshape(-1, 1)
    source = mxfp4(tmp_path / "in", write, stored, np.frombuffer(bytes.fromhex(codes), np.uint8).reshape(len(stored), 1, 16))
    before = values(opened(source))
    for to, power in (("modelopt_nvfp4", factor), ("compressed_tensors_nvfp4", factor), ("torchao_nvfp4", factor), ("deepseek_fp8", tile)):
        words = ["convert-checkpoint", str(source), "--to", to, "--out", str(tmp_path / to)]
        assert run(words) == (2 if power is None else 0)
        said, error = capsys.readouterr()
        if power is None:
            assert error.count("\n") == 1 and f"m: {to} cannot hold it: blocks of mxfp4 are no blocks of " in error, why
            assert "; tried each scale of " in error and ": none keeps every number of row " in error and "--requantize" in error
            continue
        assert "lossless: every weight stands for the same numbers, 1 of them under other scales; read back and compared" in said
        found = opened(tmp_path / to)
        assert np.array_equal(values(found), before) and np.array_equal(np.signbit(values(found)), np.signbit(before))
        assert run(["verify-checkpoint", str(tmp_path / to), "--original", str(source)]) == 0
        assert "1 weights are those of the original" in capsys.readouterr().out
        if to == "deepseek_fp8":
            assert [decode(rows.scales, "fp32").tolist() for rows in found.chunks()] == [[[2.0**power]] * len(stored)]
        else:
            assert factor_of(found) == Fraction(2) ** power


def pairs() -> list[tuple[str, str]]:
    mine = [name for name in ("gpt_oss_mxfp4", "compressed_tensors_mxfp6", "torchao_mxfp4") if get("checkpoint", name)]
    return [(one, two) for one in mine for two in WRITABLE if can_refit(get("checkpoint", one), get("checkpoint", two))]


def test_which_pairs_are_tried_follows_from_the_blocks() -> None:
    found = {(block_of(get("checkpoint", one)).id, block_of(get("checkpoint", two)).id) for one, two in pairs()}
    assert {("mxfp4", "nvfp4_multiplier"), ("mxfp4", "e4m3_tile128"), ("mxfp4", "mxfp8_e4m3"), ("mxfp6_e2m3", "mxfp8_e4m3")} <= found
    nvfp4 = get("checkpoint", "modelopt_nvfp4")
    assert not any(can_refit(nvfp4, get("checkpoint", name)) for name in WRITABLE)  # scales that are no powers of two


@pytest.mark.parametrize("name", [name for name in WRITABLE if can_refit(get("checkpoint", "gpt_oss_mxfp4"), get("checkpoint", name))])
def test_ordinary_weights_go_to_every_store_that_may_hold_them(name: str, write: Write, tmp_path: Path) -> None:
    """Drawn codes, some blocks of zeros with signs, scales over five binades around those that a store without tensor factor has."""
    rng = np.random.default_rng(7)
    scales, codes = rng.integers(122, 127, (130, 4), np.uint8), rng.integers(0, 256, (130, 4, 16), np.uint8)
    codes[5, 2], codes[7, 1] = 0x00, 0x88
    source = mxfp4(tmp_path / "in", write, scales, codes)
    before = values(opened(source))
    done = convert_checkpoint(source, name, tmp_path / "new", requantize=True) if name != "gpt_oss_mxfp4" else None
    if done is None or name in ("compressed_tensors_mxfp4", "gguf_mxfp4", "mlx_mxfp4", "torchao_mxfp4"):
        return  # blocks of the same kind: nothing to look for
    assert done.lossless and done.refitted == ["m"] and not done.changed
    found = values(opened(tmp_path / "new"))
    assert np.array_equal(found, before) and np.array_equal(np.signbit(found), np.signbit(before))


def test_a_scale_that_is_nan_or_beyond_binary32_is_named(write: Write, tmp_path: Path) -> None:
    for scale, others, where, why in ((0xFF, 120, "row 33 block 4", "is NaN"), (0xFE, 0xFE, "row 0 block 0", "beyond binary32")):
        scales, codes = np.full((40, 4), others, np.uint8), np.full((40, 4, 16), 0x77, np.uint8)
        scales[33, 2] = scale
        source = mxfp4(tmp_path / f"in{scale}", write, scales, codes)
        with pytest.raises(FileError, match=rf"none keeps every number of {where} \(.*{why}"):
            convert_checkpoint(source, "modelopt_nvfp4", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_parts_of_a_weight_are_looked_at_together(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """128 rows are read at a time; one scale of the tensor, and one tensor factor, cover all of them."""
    from emu.checkpoint import read

    monkeypatch.setattr(read, "CHUNK", 1)
    scales, codes = np.full((300, 4), 120, np.uint8), np.full((300, 4, 16), 0x21, np.uint8)
    scales[299, 3] = 126
    source = mxfp4(tmp_path / "in", write, scales, codes)
    for to in ("torchao_fp8_tensor", "deepseek_fp8", "torchao_fp8_row", "modelopt_nvfp4"):
        assert convert_checkpoint(source, to, tmp_path / to).lossless
        assert np.array_equal(values(opened(tmp_path / to)), values(opened(source)))
    scales[299, 3] = 150
    wide = mxfp4(tmp_path / "wide", write, scales, codes)
    for to, where in (("torchao_fp8_tensor", "row 0 block 0"), ("deepseek_fp8", "row 256 block 0"), ("torchao_fp8_row", "row 299 block 0"),
                      ("modelopt_nvfp4", "row 0 block 0")):  # fmt: skip
        with pytest.raises(FileError, match=f"none keeps every number of {where}"):
            convert_checkpoint(wide, to, tmp_path / f"{to}2")
    assert refit(opened(source), get("checkpoint", "mlx_mxfp4")) is not None


def test_a_number_that_differs_under_other_scales_is_counted(write: Write, tmp_path: Path) -> None:
    source = mxfp4(tmp_path / "in", write, np.full((2, 2), 120, np.uint8), np.full((2, 2, 16), 0x21, np.uint8))
    convert_checkpoint(source, "modelopt_nvfp4", tmp_path / "new")
    path = tmp_path / "new" / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b"!!!!", b"!1!!", 1))  # a code 2 becomes 3
    done = verify_checkpoint(tmp_path / "new", source)
    assert done.exit_code == 1 and done.faults[0].what.endswith("in blocks of mxfp4: 1 of 128 values are not the same numbers")
