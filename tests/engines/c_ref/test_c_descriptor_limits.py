"""Limits of descriptors: one inside is loaded; one outside is refused by C and by the export, with the limit's name and both numbers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import EngineError, SpecError
from emu.cli import show
from emu.cli.main import run as run_cli
from emu.engines.c_ref import descriptor_file
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.c_ref.library import Library
from emu.spec.models import Format, SpecObject
from emu.spec.registry import get
from tests.support.descriptor_samples import Loaded, drawn_layout, drawn_transform, sealed


def mine(thing: Any, name: str = "mine", **facts: Any) -> Any:
    """A shipped or drawn object with another id and other facts, past the checks of the loader."""
    return thing.model_copy(update={"id": name, "facts": thing.facts.model_copy(update=facts)})


def aligned(**words: Any) -> Any:
    fused = get("datapath", "hopper_fp8")
    return mine(fused, align=fused.facts.align.model_copy(update=words))


def of_values(largest: int) -> Format:
    facts = {"class": "codebook", "tie": "lower", "bits": 1, "values": ("-1", str(largest))}
    return Format.model_validate({"kind": "format", "id": "mine", "title": "t", "status": "proposed", "sources": (), "facts": facts})


def long_list(number: int) -> Any:
    """A format of 256 values, some 4 KB of lines."""
    values = tuple(str((place - 9) * (1 << 30) + 1) for place in range(256))
    return mine(of_values(1), f"mine_{number}", bits=8, values=values)


def profiles(count: int) -> Any:
    """A recipe of so many programs."""
    recipe = get("recipe", "mxfp4_torchao_floor")
    steps = next(iter(recipe.facts.dequantize.values()))
    return mine(recipe, dequantize={f"p{number}": steps for number in range(count - 1)})


def offering(key: str, count: int) -> Any:
    """A datapath that offers so many formats or sizes of scales."""
    ideal = get("datapath", "ideal")
    items = {"formats": ("ue4m3",) * count, "blocks": (16,) * count}[key]
    return mine(ideal, scale=ideal.facts.scale.model_copy(update={key: items}))


def level_frac(bits: int) -> Any:
    """A level that keeps so many fraction bits below the largest exponent."""
    path = get("datapath", "rvbna4")
    level = path.facts.levels[0]
    return mine(path, levels=(level.model_copy(update={"align": level.align.model_copy(update={"fraction_bits": bits})}),))


def ids(kind: str, of: str) -> Callable[[int], list[SpecObject]]:
    return lambda count: [mine(get(kind, of), f"mine_{number}") for number in range(count)]


Make = Callable[[int], Any]
EXPORTS: list[tuple[str, Make, int, int, str]] = [  # what, object of a number, inside, outside, the limit
    ("formats", ids("format", "e2m1"), 4096, 4097, "out of range '4097': write an integer without leading zeros from 0 to 4096 as 'formats'"),  # noqa: E501
    ("roundings", ids("rounding", "rne"), 4096, 4097, "out of range '4097': write an integer without leading zeros from 0 to 4096 as"),
    ("id", lambda n: mine(get("format", "e2m1"), "a" * n), 63, 64, "characters of the id = 64: at most 63"),
    ("file", lambda n: [long_list(number) for number in range(n)], 200, 280, "bytes of the file = "),
    ("scale_exp", lambda n: mine(drawn_transform(3), scale=f"2^{n}"), 1024, 1025, "'1025': write an integer without leading zeros from -1024 to 1024 as 'sc"),  # noqa: E501
    ("terms", lambda n: mine(get("datapath", "hopper_fp8"), k=n, step=n), 1024, 1025, "terms of a step = 1025: at most 1024"),
    ("frac_bits", lambda n: aligned(fraction_bits=n), 1024, 1025, "'1025': write an integer without leading zeros from 0 to 1024 as 'frac_bits'"),  # noqa: E501
    ("integer_bits", lambda n: aligned(integer_bits=n), 1024, 1025, "'1025': write an integer without leading zeros from 0 to 1024 as 'integer_bits'"),  # noqa: E501
    ("raise", lambda n: aligned(fraction_bits=1024, exponent_raise=-n), 246, 247, "bits of a sum = 1281: at most 1280"),
    ("programs", profiles, 64, 65, "'65': write an integer without leading zeros from 1 to 64 as 'programs'"),
    ("scales", lambda n: offering("formats", n), 16, 17, "'17': write an integer without leading zeros from 0 to 16 as 'scales'"),
    ("blocks", lambda n: offering("blocks", n), 16, 17, "'17': write an integer without leading zeros from 1 to 16 as 'blocks'"),
    ("level fraction", level_frac, 1073, 1074, "bits of an aligned sum = 1081: at most 1080"),
    ("level fractions", level_frac, 1073, 1081, "fraction bits = 1081: at most 1080"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "inside", "outside", "limit"), [row[1:] for row in EXPORTS], ids=[row[0] for row in EXPORTS])
def test_the_export_refuses_what_c_refuses_with_its_words(
    make: Make,
    inside: int,
    outside: int,
    limit: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    built: Path,
) -> None:
    def objects(number: int) -> list[SpecObject]:
        made = make(number)
        return made if isinstance(made, list) else [made]

    assert Loaded(descriptor_text(objects(inside))).error == lib.EMU_OK
    wrong = objects(outside)
    monkeypatch.setattr(show, "find", lambda name: wrong)
    out = tmp_path / "out.txt"
    assert run_cli(["export", "descriptor", "any/thing", "-o", str(out)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and limit in said.err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(descriptor_file, "_check", lambda text: None)
    text = descriptor_text(wrong)
    with pytest.raises(SpecError) as refused:
        Library(text)
    assert limit in str(refused.value)
    done = subprocess.run([built / "emu_ref", "descriptor"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert limit in done.stderr
    assert str(refused.value).partition(": ")[2] in done.stderr and str(refused.value).partition(": ")[2] in said.err


@pytest.mark.parametrize(
    ("inside", "outside", "old", "new", "limits"),
    [
        (of_values(2**61 - 1), of_values(2**61), f"value {2**61 - 1}", f"value {2**61}", (f"{2**61}", f"{2**61 - 1}", "value")),
        (of_values(2**61 - 1), of_values(2**70 + 1), f"value {2**61 - 1}", f"value {2**70 + 1}", (f"{2**70 + 1}", f"{2**61 - 1}", "value")),
        *(
            (
                mine(get("format", "e8m0"), nan=tuple(f"0x{255 - place:X}" for place in range(16))),
                mine(get("format", "e8m0"), nan=tuple(f"0x{255 - place:X}" for place in range(count))),
                "0xf0", " ".join(f"{240 - place:#x}" for place in range(count - 15)), (f"nan_codes = {count}: at most 16",),
            )
            for count in (17, 30)
        ),
    ],
)  # fmt: skip
def test_what_no_struct_of_c_holds_is_refused_with_the_numbers_of_the_reader(
    inside: Format, outside: Format, old: str, new: str, limits: tuple[str, ...]
) -> None:
    text = descriptor_text([inside])
    value = ffi.new("emu_value *")
    assert lib.emu_decode_code(Loaded(text).found("format", "mine"), 1, value) == lib.EMU_OK
    assert old in text
    with pytest.raises(EngineError) as refused:
        descriptor_text([outside])
    assert "\n" not in str(refused.value) and "mine" in str(refused.value)
    at = Loaded(sealed(text.replace(old, new, 1)))
    assert at.error == lib.EMU_ERROR_DESCRIPTOR
    for limit in limits:
        assert limit in at.line and limit in str(refused.value)


def written(*given: tuple[str, str]) -> str:
    return descriptor_text([get(kind, name) for kind, name in given])


def own(text: str, name: str) -> str:
    """A text in which a shipped format has an id of its own."""
    return "\n".join(" ".join("mine" if word == name else word for word in line.split(" ")) for line in text.split("\n"))


BF16 = own(written(("format", "bf16")), "bf16")
INT4 = own(written(("format", "int4")), "int4")
E8M0 = own(written(("format", "e8m0")), "e8m0")
SR = written(("rounding", "sr_add8")).replace("sr_add8", "mine")
TURN, ORDER = descriptor_text([drawn_transform(3)]), descriptor_text([drawn_layout(3)])
RECIPE = written(("recipe", "mxfp4_torchao_floor"))
FUSED = own(descriptor_text([mine(get("datapath", "hopper_fp8"), a=("bf16",), b=("bf16",))]), "bf16")
LATE, LEVELS, FIXED = (written(("datapath", name)) for name in ("cdna3_fp8", "rvbna4", "int12_wrap"))
DRAWS = own(written(("datapath", "bf16_register_random")), "bf16").replace("nan_code 0x7fc0", f"nan_code {0x1FF << 52:#x}")


def ranged(low: int, high: int, key: str) -> str:
    return f"from {low} to {high} as {key}"


HAND: list[tuple[str, str, str, int, int, str]] = [  # text, line, the same of a number, inside, outside, the limit
    (BF16, "exp_bits 8", "exp_bits {}", 15, 16, ranged(1, 15, "'exp_bits'")),
    (BF16, "frac_bits 7", "frac_bits {}", 55, 56, "exp_bits + frac_bits = 64: at most 63"),
    (BF16, "frac_bits 7", "frac_bits {}", 55, 63, ranged(0, 62, "'frac_bits'")),
    (BF16.replace("frac_bits 7", "frac_bits 55"), "unused_high_bits 0", "unused_high_bits {}", 0, 1, "has_sign + exp_bits + frac_bits + unused_high_bits = 65: at most 64"),  # noqa: E501
    (BF16, "unused_high_bits 0", "unused_high_bits {}", 7, 8, ranged(0, 7, "'unused_high_bits'")),
    (BF16, "bias 127", "bias {}", 1 << 20, (1 << 20) + 1, ranged(-(1 << 20), 1 << 20, "'bias'")),
    (INT4, "bits 4", "bits {}", 63, 64, ranged(1, 63, "'bits'")),
    (INT4, "unit_exp 0", "unit_exp {}", 1 << 20, (1 << 20) + 1, ranged(-(1 << 20), 1 << 20, "'unit_exp'")),
    (E8M0, "bits 8", "bits {}", 16, 17, ranged(1, 16, "'bits'")),
    (SR, "random_bits 8", "random_bits {}", 32, 33, ranged(1, 32, "'random_bits'")),
    (TURN, "scale_exp", "scale_exp {}", 1024, 1025, ranged(-1024, 1024, "'scale_exp'")),
    (TURN, "size", "size {}", 256, 512, ranged(2, 256, "'size'")),
    (RECIPE, "tile 1 32", "tile 1 {}", 32, 4097, ranged(1, 4096, "value 2 of 'tile'")),
    (RECIPE, "level_count 1", "level_count {}", 1, 17, ranged(0, 16, "'level_count'")),
    (RECIPE, "programs", "programs {}", 2, 65, ranged(1, 64, "'programs'")),
    (RECIPE, "registers", "registers {}", 0, 1025, ranged(1, 1024, "'registers'")),
    (RECIPE, "steps", "steps {}", 0, 1025, ranged(0, 1024, "'steps'")),
    (ORDER, "digits", "digits {}", 0, 33, ranged(2, 32, "'digits'")),
    (FUSED, "frac_bits 7", "frac_bits {}", 27, 28, "bits of the sum of a step = 64: at most 62"),
    (FUSED, "exponent_raise 0", "exponent_raise {}", 0, 1025, ranged(-1024, 1024, "'exponent_raise'")),
    (FUSED, "k 32", "k {}", 1 << 20, (1 << 20) + 1, ranged(1, 1 << 20, "'k'")),
    (FUSED, "pairs 1", "pairs {}", 1, 65, ranged(1, 64, "'pairs'")),
    (FUSED, "datapaths 1", "datapaths {}", 1, 1025, ranged(0, 1024, "'datapaths'")),
    (LATE, "f2", "f2 {}", 53, 54, "bits of a realigned sum = 63: at most 62"),
    (LEVELS, "level_count 1", "level_count {}", 1, 17, ranged(1, 16, "'level_count'")),
    (FIXED, "hold fixed 12 derived none wrap", "hold fixed {} derived none wrap", 512, 513, ranged(2, 512, "value 2 of 'hold'")),
    (FIXED, "hold fixed 12 derived none wrap", "hold fixed 12 {} none wrap", -1009, -1010, "bits of a sum in units of a register = 1081: at most 1080"),  # noqa: E501
    (DRAWS, "frac_bits 7", "frac_bits {}", 53, 54, "random_bits + frac_bits = 62: at most 61"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "inside", "outside", "limit"), HAND)
def test_a_file_by_hand_is_refused_with_the_limit_and_both_numbers(
    text: str, old: str, new: str, inside: int, outside: int, limit: str
) -> None:
    lines = text.split("\n")
    place = next(number for number, line in enumerate(lines) if line == old or (" " not in old and line.startswith(f"{old} ")))

    def with_number(number: int) -> Loaded:
        changed = [*lines[:place], new.format(number), *lines[place + 1 :], *["# room for what is counted"] * 1100]
        return Loaded(sealed("\n".join([*(line for line in changed if line and not line.startswith("end ")), "end ", ""])))

    at = with_number(inside) if inside or old.startswith("unused") or "_raise" in old else Loaded(text)
    assert at.error == lib.EMU_OK, at.line
    at = with_number(outside)
    assert at.error == lib.EMU_ERROR_DESCRIPTOR
    assert limit in at.line and (f"'{outside}'" in at.line or " = " in limit)


@pytest.mark.parametrize(
    ("line", "limit"),
    [("# " + "x" * 399, "characters of the line = 401: at most 400"), ("#" + " x" * 40, "words of the line = 41: at most 40")],
)
def test_a_line_beyond_a_limit_is_told_with_its_length(line: str, limit: str) -> None:
    for given, wanted in ((line[:-1].rstrip(), ""), (line, limit)):
        at = Loaded(sealed(BF16.replace("formats 1\n", f"{given}\nformats 1\n", 1)))
        assert (at.error == lib.EMU_OK) == (not wanted)
        assert wanted in at.line
