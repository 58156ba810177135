"""Files of the kind checkpoint: examples by code of the test's own, contradictions refused with their line, names and values changed."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import OperandError, SpecError
from emu.checkpoint.value import stored_value
from emu.cli.examples.run import faults
from emu.spec import get, names
from emu.spec.models.checkpoint import NamesExample, StoredExample
from emu.spec.registry import isolated, load_spec, shipped_root

E2M1 = (0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 4, 6)
ALL = names("checkpoint")


WIDE = {"mxfp8_e4m3": (4, 3), "mxfp8_e5m2": (5, 2), "mxfp6_e2m3": (2, 3), "mxfp6_e3m2": (3, 2)}  # bits of exponent and fraction


def wide(code: int, exponent: int, fraction: int) -> Fraction:
    """The value of a code, a number other than -0, of a format with these fields."""
    field, rest = code >> fraction & (1 << exponent) - 1, code & (1 << fraction) - 1
    magnitude = Fraction((bool(field) << fraction) + rest, 1 << fraction) * Fraction(2) ** (max(field, 1) - (1 << exponent - 1) + 1)
    return -magnitude if code >> exponent + fraction & 1 else magnitude


def by_hand(store: Any, example: StoredExample) -> str:
    """The value of a worked example, from bytes, without anything of emu; blocks by the numbers in their names."""
    data = {name: bytes.fromhex(text) for name, text in example.stored.items()}
    block = example.block or store.facts.blocks[0]
    lane, size = example.lane, 32 if block.startswith("mx") else 16
    if block.startswith("e4m3_"):  # a code in each byte, the scale most significant byte first
        bits = int.from_bytes(data["scale"], "big") << 8 * (4 - len(data["scale"]))
        return str(wide(data["codes"][lane], 4, 3) * Fraction((1 << 23) + (bits & 0x7FFFFF), 1 << 23) * Fraction(2) ** ((bits >> 23) - 127))
    if "record" in data:
        count = {17: 1, 36: 4}[len(data["record"])]
        number, lane = divmod(lane, size)
        scale, body = data["record"][number], data["record"][count:][number * size // 2 :][: size // 2]
        code = body[lane % (size // 2)] >> (4 if lane >= size // 2 else 0) & 15
    else:
        bits = len(data["codes"]) * 8 // size
        lane ^= store.facts.packing == "high_nibble_first"
        scale, code = data["scale"][0], int.from_bytes(data["codes"], "little") >> bits * lane & (1 << bits) - 1
    flag, nan = scale >> 7 if size == 16 else 0, scale == 255 if size == 32 else scale & 127 == 127
    if nan and store.facts.nan_scale == "nan":
        return "nan"
    if size == 32:
        factor = Fraction(2) ** (scale - 127)
    else:
        field, fraction = scale >> 3 & 15, scale & 7
        factor = Fraction(8 * bool(field) + fraction, 8) * Fraction(2) ** (max(field, 1) - 7) * (not nan)
    if "tensor" in data:
        bits = int.from_bytes(data["tensor"], "big")
        tensor = Fraction((1 << 23) + (bits & 0x7FFFFF), 1 << 23) * Fraction(2) ** ((bits >> 23) - 127)
        over = {"nvfp4": 2688, "if4": 2688, "nvfp4_256": 1536, "nvfp4_1792": 1792}.get(block)
        factor = factor / tensor if block == "nvfp4_divisor" else factor * tensor / (over or 1)
    if block in WIDE:
        return str(wide(code, *WIDE[block]) * factor)
    element = Fraction(code - 16 * (code > 7)) * Fraction(6, 7) if flag and block == "if4" else E2M1[code & 7] * (-1 if code > 7 else 1)
    value = element * factor
    return "-0" if value == 0 and code > 7 and not (flag and block == "if4") else str(value)


def written(text: str) -> str:
    return str(Fraction(2) ** int(text[2:])) if text.startswith("2^") else text


@pytest.mark.parametrize("name", ALL)
def test_examples_hold_by_hand_and_by_the_reader(name: str) -> None:
    store = get("checkpoint", name)
    values = [item for item in store.expect if isinstance(item, StoredExample)]
    assert len(values) >= 2 and any(isinstance(item, NamesExample) for item in store.expect)
    assert [(number, fault) for number, fault in faults(store) if fault] == []
    assert [by_hand(store, item) for item in values] == [written(item.value) for item in values]


def test_divisor_and_multiplier_read_the_same_bits_differently() -> None:
    stored = {"codes": bytes.fromhex("1032547698BADCFE"), "scale": b"\x40", "tensor": bytes.fromhex("3E800000")}
    found = [stored_value(get("checkpoint", name), stored, 7).signed for name in ("compressed_tensors_nvfp4", "modelopt_nvfp4")]
    assert found == [48, 3]


@pytest.mark.parametrize(
    ("name", "stored", "lane"),
    [
        ("modelopt_nvfp4", {"codes": b"\0" * 8, "scale": b"\xb8", "tensor": b"\x3e\x80\0\0"}, 0),  # bit 7
        ("modelopt_nvfp4", {"codes": b"\0" * 8, "scale": b"\x38"}, 0),
        ("modelopt_nvfp4", {"codes": b"\0" * 7, "scale": b"\x38", "tensor": b"\x3e\x80\0\0"}, 0),
        ("modelopt_nvfp4", {"codes": b"\0" * 8, "scale": b"\x38", "tensor": b"\x3e\x80\0\0"}, 16),
        ("gguf_mxfp4", {"record": b"\0" * 16}, 0),
        ("compressed_tensors_mxfp6", {"codes": b"\0" * 23, "scale": b"\x38"}, 0),
        ("compressed_tensors_mxfp6", {"codes": b"\0" * 32, "scale": b"\x38"}, 0),
        ("compressed_tensors_mxfp6", {"codes": b"\0" * 24, "scale": b"\xff"}, 0),
        ("emu_mxfp6_e2m3", {"codes": b"\x40" + b"\0" * 31, "scale": b"\x38"}, 0),
        ("emu_mxfp6_e2m3", {"codes": b"\0" * 24, "scale": b"\x38"}, 0),
        ("torchao_mxfp8_e4m3", {"codes": b"\0" * 16, "scale": b"\x38"}, 0),
    ],
)
def test_what_is_no_unit_is_refused(name: str, stored: dict[str, bytes], lane: int) -> None:
    with pytest.raises(OperandError):
        stored_value(get("checkpoint", name), stored, lane)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """The shipped spec alone; a folder for one more file."""
    with isolated(shipped_root()):
        (tmp_path / "checkpoint").mkdir()
        yield tmp_path


CASES = [
    ("modelopt_nvfp4", 'meaning: "multiplier"', 'meaning: "divisor"', "levels: tensor of block nvfp4_multiplier is a multiplier, not"),
    ("modelopt_nvfp4", '"nvfp4_multiplier"', '"nvfp4_divisor"', "levels: tensor of block nvfp4_divisor is a divisor, not a multiplier"),
    ("modelopt_nvfp4", '"nvfp4_multiplier"', '"nvfp4_1level"', "levels: block nvfp4_1level has scale, the store tensor, scale"),
    ("modelopt_nvfp4", '"nvfp4_multiplier"', '"hif4"', "levels: block hif4 has scale, level8, level4, the store tensor, scale"),
    ("modelopt_nvfp4", 'high_bit: "refused"', 'high_bit: "flag"', "high_bit: flag does not fit block nvfp4_multiplier, whose"),
    ("modelopt_nvfp4", 'nan_scale: "nan"', 'nan_scale: "number"', "nan_scale: only powers of two go on above ue4m3: say nan or zero"),
    ("modelopt_nvfp4", 'profile: "modelopt"', 'profile: "te"', "dequantize: nvfp4_modelopt has no profile te: one of modelopt"),
    ("modelopt_nvfp4", '"nvfp4_modelopt", profile: "modelopt"', '"nvfp4_torchao", profile: "torchao"', None),
    ("modelopt_nvfp4", '["row_major"]', '["low_nibble_first"]', "scale_layouts: low_nibble_first is an order of elements"),
    ("modelopt_nvfp4", 'packing: "low_nibble_first"', 'packing: "high"', 'facts.packing: "high" is not one of low_nibble_first, high_n'),
    ("modelopt_nvfp4", 'level: "tensor"', 'level: "scale"', "facts: levels: a level is stored twice"),
    ("modelopt_nvfp4", 'dtypes: ["U8"]', 'dtypes: ["U8"], key: "x"', "key"),
    ("modelopt_nvfp4", 'container: "safetensors"', 'container: "gguf"', "facts: a record belongs to a gguf file, tensors for codes"),
    ("modelopt_nvfp4", 'packing: "low_nibble_first"', 'packing: "high_nibble_first"', "write: files are written with the low nibble first"),
    ("modelopt_nvfp4", '["row_major"]', '["sf128x4"]', "write: files are written with the low nibble first and scales row by row"),
    ("torchao_nvfp4", '["row_major", "sf128x4"]', '["row_major"]', "swizzle_key: says which of two layouts it is"),
    ("gguf_mxfp4", "elements: 32", "elements: 48", "record: 48 elements with one scale each 32 do not hold mxfp4"),
    ("gguf_mxfp4", '  record: {type: "MXFP4", elements: 32, number: 39}', '  codes: {suffixes: ["x"], dtypes: ["U8"]}', "facts: a record"),
    ("transformer_engine_nvfp4", '"nvfp4_256"]', '"mxfp4"]', "high_bit: refused does not fit block mxfp4, whose scales have 8 bits"),
    ("fouroversix_if4", 'high_bit: "flag"', 'high_bit: "refused"', "high_bit: refused does not fit block if4"),
    ("emu_nvfp4", 'told_by: "statement"', 'told_by: "names"', "facts: described_by: belongs to codes and levels of a file that states its"),
    ("modelopt_mxfp8", 'packing: "none"', 'packing: "low_nibble_first"', "packing: low_nibble_first is for codes of 4 bits, the"),
    ("modelopt_mxfp8", 'packing: "none"', 'packing: "low_bits_first"', "packing: low_bits_first is for codes of 5 or 6 or 7 bits, the"),
    ("modelopt_nvfp4", 'packing: "low_nibble_first"', 'packing: "low_bits_first"', "of nvfp4_multiplier have 4"),
    ("compressed_tensors_mxfp6", '"mxfp6_e2m3"]', '"mxfp6_e2m3", "mxfp8_e4m3"]', "of mxfp8_e4m3 have 8"),
    ("gpt_oss_mxfp4", 'read_by: ["gpt_oss"]', 'read_by: ["mlx"]', "write: read_by: mlx is none of the sources of this file"),
    ("gpt_oss_mxfp4", 'ref: "gpt_oss"', 'ref: "gpt_os"', "source 'gpt_os' is not in sources.yaml: did you mean gpt_oss?"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "message"), CASES, ids=[f"{case[0]}-{case[2][:24]}" for case in CASES])
def test_a_contradiction_is_refused_with_its_line(name: str, old: str, new: str, message: str | None, tree: Path) -> None:
    text = (shipped_root() / "checkpoint" / f"{name}.yaml").read_text(encoding="utf-8")
    changed = text.replace(f'id: "{name}"', 'id: "mine"', 1).replace("aliases:", "# aliases:").replace(old, new, 1)
    assert changed != text and old in text
    path = tree / "checkpoint" / "mine.yaml"
    path.write_text(changed, encoding="utf-8")
    if message is None:
        assert load_spec(tree) == ("checkpoint/mine",)
        return
    with pytest.raises(SpecError) as caught:
        load_spec(tree)
    assert str(caught.value).startswith(f"{path}:") and message in str(caught.value) and "\n" not in str(caught.value)


def test_a_store_of_ones_own_is_found(tree: Path, make_files: Any, write: Any) -> None:
    """Another name for the codes in a YAML file, and no code: the files of such a library are identified."""
    from emu import quantize
    from emu.checkpoint import identify_files

    text = (shipped_root() / "checkpoint" / "modelopt_nvfp4.yaml").read_text(encoding="utf-8")
    text = (
        text.replace('id: "modelopt_nvfp4"', 'id: "mine"')
        .replace('".weight_scale_2"', '".my_factor"')
        .replace('".weight_scale"', '".my_scale"')
    )
    (tree / "checkpoint" / "mine.yaml").write_text(text.replace('suffixes: [".weight"]', 'suffixes: [".my_codes"]'), encoding="utf-8")
    load_spec(tree)
    x = make_files.weight("own", 4, 32)
    found = quantize(x, "nvfp4_modelopt")
    packed = found.pack()
    tensors = {
        "a.my_codes": ("U8", packed.shape, packed), "a.my_scale": ("F8_E4M3", found.scales.shape, found.scales),
        "a.my_factor": ("F32", (), found.tensor_scale),
    }  # fmt: skip
    before = write(tree / "before.safetensors", {"a.weight": ("BF16", x.shape, x.view("<u2"))})
    report = identify_files(write(tree / "after.safetensors", tensors), before)
    assert report.stores == {"mine": 1} and report.exit_code == 0 and "nvfp4_modelopt" in report.recipes


def test_stores_of_one_table_hold_the_same_codes() -> None:
    """Every store is on the page once, with the stores whose blocks have its elements, length and scales; what is written says so."""
    from tools.docs.stores import stores_page

    kinds: list[set[str]] = []
    for section in stores_page().split("\n## ")[1:]:
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| [`")]
        found = {row[0].split("`")[1]: row for row in rows}
        stores = {name: get("checkpoint", name) for name in found}
        blocks = [get("block", store.facts.blocks[0]) for store in stores.values()]
        levels = [[level for level in block.facts.levels if level.name != block.flag][-1] for block in blocks]
        assert len({(level.format, level.granularity) for level in levels}) == 1 and len(found) == len(rows)
        assert len({(block.element_formats, block.facts.shape) for block in blocks}) == 1
        for name, store in stores.items():
            assert (found[name][3] == "not written") == (store.facts.write is None)
            readers = store.facts.write.read_by if store.facts.write is not None else ()
            assert [part.split("`")[0] for part in found[name][5].split("[`")[1:]] == list(readers)
        kinds.append(set(found))
    assert sorted(name for kind in kinds for name in kind) == sorted(ALL) and len(kinds) > 5
