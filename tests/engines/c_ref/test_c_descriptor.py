"""Descriptor files: what is written and loaded again means the same, bit for bit; what is wrong is refused with its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from support.whole import tries

from emu.base.errors import EmuError, EngineError
from emu.engines.c_ref import convert
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import address, code_dtype, flat, matrix
from emu.engines.c_ref.datapath import datapath_descriptor
from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.engines.c_ref.descriptors import format_descriptor, policy_descriptor, rounding_descriptor
from emu.engines.c_ref.levels import levels_descriptor
from emu.engines.exact.datapath import dot
from emu.engines.run import run_convert
from emu.spec import derive
from emu.spec.datapath import plans_of
from emu.spec.levels import level_plans_of
from emu.spec.models import Datapath, Format, Policy, Rounding, SpecObject
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get, names
from tests.support import fuzz_text
from tests.support.descriptor_samples import Loaded, drawn_format, drawn_policy, drawn_rounding, renamed, sealed
from tests.support.level_samples import drawn_datapath
from tests.support.structs import plain


def loaded(*things: SpecObject) -> Loaded:
    return Loaded(descriptor_text(things))


def converted(at: Loaded, source: Format, fmt: Format, rounding: Rounding, policy: Policy, codes: Any, random: Any) -> Any:
    """What C makes of the objects that it read, as convert_with_open."""
    given, out, marks = flat(codes, source), np.empty(codes.shape, code_dtype(fmt)), np.empty(codes.shape, np.uint8)
    error = lib.emu_convert_array(
        at.found("format", source.id), at.found("format", fmt.id), at.found("rounding", rounding.id), at.found("policy", policy.id, fmt.id),
        address("char[]", given), ffi.NULL if random is None else address("uint32_t[]", random), given.size, address("char[]", out),
        address("uint8_t[]", marks),
    )  # fmt: skip
    return None if error else (out.tolist(), marks.tolist())


def compare_drawn(seed: int) -> bool:
    """Two formats, a rounding and a policy that no file has, as a descriptor; True where a conversion was compared."""
    rng = Random(seed)
    source, fmt, rounding = drawn_format(2 * seed), drawn_format(2 * seed + 1), drawn_rounding(seed)
    policy = drawn_policy(seed, fmt)
    at = loaded(source, policy, rounding, fmt)
    for item in (source, fmt):
        assert plain(at.found("format", item.id)) == plain(format_descriptor(item).pointer)
    target = format_descriptor(fmt)
    assert plain(at.found("policy", policy.id, fmt.id)) == plain(policy_descriptor(derive.policy_entry(policy, fmt), fmt, target))
    fp32: Format = get("format", "fp32")
    assert plain(at.found("rounding", rounding.id)) == plain(rounding_descriptor(rounding, fp32, format_descriptor(fp32)))
    width = derive.codes(source).bits + derive.unused_high_bits(source)
    codes = np.array([rng.getrandbits(width) for _ in range(200)], code_dtype(source))
    random = np.array([rng.getrandbits(rounding.random_bits) for _ in codes], np.uint32) if rounding.random_bits else None
    try:
        want = convert.convert_with_open(codes, source, fmt, rounding, derive.policy_entry(policy, fmt), random)
    except EmuError:
        assert converted(at, source, fmt, rounding, policy, codes, random) is None
        return False
    assert converted(at, source, fmt, rounding, policy, codes, random) == (want[0].tolist(), want[1].tolist())
    sound = want[1] == 0  # the reference model refuses a row that the sources leave open
    few, words = codes[sound][:20], None if random is None else random[sound][:20]
    assert run_convert(few, source, fmt, rounding, policy, words, "exact").tolist() == want[0][sound][:20].tolist()
    return True


def test_drawn_objects_mean_the_same_from_a_file() -> None:
    assert sum(compare_drawn(seed) for seed in range(200)) > 120


@pytest.mark.exhaustive
def test_many_drawn_objects_mean_the_same_from_a_file() -> None:
    assert sum(compare_drawn(seed) for seed in range(1000, 2000)) > 600


def test_every_shipped_object_is_read_as_it_is() -> None:
    at = loaded(*(get("format", name) for name in names("format")), *(get("rounding", name) for name in names("rounding")))
    for kind in ("format", "rounding"):
        for name in names(kind):
            own, shipped = at.found(kind, name), getattr(lib, f"emu_find_{kind}")(name.encode())
            assert own != shipped
            assert plain(own) == plain(shipped)
    at = loaded(*(get("policy", name) for name in names("policy")))
    covered = 0
    for name in names("policy"):
        for fmt in names("format"):
            shipped = lib.emu_find_policy(name.encode(), fmt.encode())
            if shipped != ffi.NULL:
                assert plain(at.found("policy", name, fmt)) == plain(shipped)
                covered += 1
    assert covered > 90


def test_a_library_comes_before_the_shipped_spec() -> None:
    fmt = drawn_format(5)
    at = loaded(fmt)
    assert at.found("format", "drawn_5") != ffi.NULL
    assert at.found("format", "fp4") == lib.emu_find_format(b"e2m1")
    assert at.found("rounding", "rne") == lib.emu_find_rounding(b"rne")
    assert at.found("policy", "nvidia", "e2m1") == lib.emu_find_policy(b"nvidia", b"e2m1")
    assert at.found("policy", "nvidia", "drawn_5") == ffi.NULL
    assert at.found("format", "drawn_6") == at.found("rounding", "drawn_6") == ffi.NULL


SOUND = descriptor_text(
    [
        *(get("format", name) for name in ("e2m1", "e4m3", "nf4", "e8m0", "int4")),
        *(get("rounding", name) for name in ("rne", "sr_add8")),
        get("policy", "nvidia"),
    ]
)
FAULTS = [
    ("emu descriptor 1\n", "emu descriptor 2\n", "1: not the first line of a descriptor of this version: it is 'emu descriptor 1'"),
    ("exp_bits 2\n", "exp_bits 0\n", "6: out of range '0': write an integer without leading zeros from 1 to 15"),
    ("exp_bits 2\n", "exp_bits 02\n", "6: not an integer '02': write an integer without leading zeros from 1 to 15"),
    ("exp_bits 2\n", "exp_bits  2\n", "6: not a line of words: printable ASCII, one space between words, no empty line, at most 400"),
    ("exp_bits 2\n", "exp_bits\t2\n", "6: not a line of words: printable ASCII, one space between words, no empty line, at most 400"),
    ("value -93441416\n", "value -93441417\n", "what the id means in the shipped spec, but for other facts: give it an id of its own"),
    ("exp_bits 2\n", "", "6: a line of 'frac_bits' where 'exp_bits' with its values must stand: write the lines in the order of docs"),
    ("exp_bits 2\n", "exp_bits 2 3\n", "6: a line of 'exp_bits' where 'exp_bits' with its values must stand"),
    ("exp_bits 2\n", "exp_bits 3\n", "3: what the id means in the shipped spec, but for other facts: give it an id of its own"),
    ("class float", "class floats", "4: no such word 'floats': write one of float integer exponent codebook"),
    ("format e4m3", "format e2m1", "14: a second object with the id 'e2m1': give it an id of its own"),
    ("format e4m3", "format E4M3", "14: not an id 'E4M3': write at most 63 of a-z0-9_, not none"),
    ("nan_codes 0x7f 0xff", "nan_codes 0x7f 0x1ff", "14: a format whose facts contradict one another: the limits stand in emu_ref.h at"),
    ("nan_codes 0x7f 0xff", "nan_codes 0x7F 0xff", "25: not a bit pattern '0x7F': write 0x, then at most 16 of 0-9a-f without a leading"),
    ("nan_codes 0x7f 0xff", "nan_codes", "25: a line of 'nan_codes' where 'nan_codes' with its values must stand"),
    ("formats 5", "formats 4000", "2: fewer lines follow than '4000': the file is cut off, export it again"),
    ("policy nvidia e2m1", "policy nvidia e2m2", "no format above has the id 'e2m2': write the formats that the file uses under formats"),
    ("policy nvidia e4m3", "policy nvidia e2m1", "a second policy with the id and format of one above 'nvidia': leave one of them out"),
    ("overflow saturate\nnan 0x7 ", "overflow inf\nnan 0x7 ", "a policy that does not fit its format: a code has at most the bits of the"),
    ("rounding rne\nadd none\npositive keep", "rounding rne\nadd none\npositive next", "what the id means in the shipped spec, but for"),
]
ENDS = [
    (lambda text: text + "more\n", ": something follows the last line: leave it out"),
    (lambda text: text[:-1], ": the last line has no line end: the file is cut off, export it again"),
    (lambda text: text[: text.index("\n") + 1] + "\n", "2: not a line of words: printable ASCII, one space between words, no empty line"),
    (lambda text: text[: text.rindex("end ")], ": the file ends here: it is cut off, the last line is 'end'"),
    (lambda text: text[: text.rindex("end ") + 3] + "\n", ": a line of 'end' where 'end' with its values must stand"),
    (lambda text: text.replace("bias 1\n", "bias 1\n# more\n", 1), "': export the file again, or write what `head -n -1 FILE | sha256sum`"),
    (
        lambda text: text[:-2] + ("0" if text[-2] != "0" else "1") + "\n",
        ": not the SHA-256 of the lines above 'END': export the file again",
    ),
]


@pytest.mark.parametrize(("old", "new", "line"), FAULTS)
def test_a_fault_is_refused_with_its_line_and_how_to_mend_it(old: str, new: str, line: str) -> None:
    assert SOUND.count(old) >= 1
    at = Loaded(sealed(SOUND.replace(old, new, 1)))
    assert at.error == lib.EMU_ERROR_DESCRIPTOR
    assert line in at.line
    assert len(at.line) < 252


@pytest.mark.parametrize(("change", "line"), ENDS)
def test_a_file_that_is_not_whole_is_refused(change: Callable[[str], str], line: str) -> None:
    text = change(SOUND)
    at = Loaded(text)
    last = text.rstrip("\n").rpartition("\n")[2].partition(" ")[2]
    assert at.error == lib.EMU_ERROR_DESCRIPTOR
    assert line.replace("END", last[:40]) in at.line


def test_a_list_of_all_eight_bit_values_means_the_same_from_a_file() -> None:
    rng = Random(8)
    facts = {"bits": 8, "values": tuple(str(value) for value in sorted(rng.sample(range(-5000, 5000), 256)))}
    fmt = Format.model_validate(
        {
            "kind": "format",
            "id": "mine",
            "title": "t",
            "status": "proposed",
            "sources": (),
            "facts": {"class": "codebook", "tie": "lower", **facts},
        }
    )
    assert plain(loaded(fmt).found("format", "mine")) == plain(format_descriptor(fmt).pointer)


def test_remarks_change_nothing() -> None:
    at = Loaded(sealed(SOUND.replace("\n", "\n# a remark\n").removesuffix("# a remark\n")))
    assert plain(at.found("format", "nf4")) == plain(lib.emu_find_format(b"nf4"))


@pytest.mark.parametrize("room", [1, 1000, 2000])
def test_memory_that_is_too_small_is_refused(room: int) -> None:
    at = Loaded(SOUND, room)
    assert (at.error, at.library) == (lib.EMU_ERROR_SPACE, ffi.NULL)
    assert "no room for what the file says" in at.line


def test_kinds_that_no_descriptor_holds_are_refused() -> None:
    with pytest.raises(EngineError, match="no descriptor holds a checkpoint"):
        descriptor_text([get("checkpoint", names("checkpoint")[0])])


def test_the_text_of_the_fuzz_driver_is_an_export() -> None:
    assert fuzz_text.HEADER.read_text(encoding="ascii") == fuzz_text.header(), "python -m tests.support.fuzz_text"


def test_the_example_of_the_page_is_loaded(checkout: Path) -> None:
    example = re.findall(r"```descriptor\n(.*?)```", (checkout / "docs" / "descriptors.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(example) == 1
    at, code, marks = Loaded(example[0]), ffi.new("uint64_t *"), ffi.new("uint8_t *")
    mine, rounding = at.found("format", "mine"), at.found("rounding", "nearest")
    fp32 = lib.emu_find_format(b"fp32")
    for given, wanted in ((0x3F900000, 0x4), (0x3FB00000, 0x6), (0xC1000000, 0x1F), (0x7FC00000, 0x10)):  # 1.125, 1.375, -8, NaN
        assert lib.emu_convert_code(fp32, mine, rounding, at.found("policy", "plain", "mine"), given, 0, code, marks) == lib.EMU_OK
        assert (code[0], marks[0]) == (wanted, 0)


def test_every_line_is_on_the_page(checkout: Path) -> None:
    page = (checkout / "docs" / "descriptors.md").read_text(encoding="utf-8")
    text = "\n".join(fuzz_text.HEADER.read_text(encoding="ascii").split('"')[1::2])
    keys = {line.split(" ")[0].split(".")[-1] for line in text.replace("\\n", "").split("\n") if " " in line} - {"emu"}
    assert not {key for key in keys if f"`{key}`" not in page and f"### {key}" not in page}


FUSED = [name for name in names("datapath") if not isinstance(get("datapath", name).facts, DatapathLevels)]
OPEN = ("blackwell_e0m3", "blackwell_sparse", "cdna4", "sm_103", "sm_107")


def _codes(rng: Random, fmt: Format, count: int) -> Any:
    """Eight rows of drawn codes."""
    return np.array([[rng.getrandbits(derive.codes(fmt).bits) for _ in range(count)] for _ in range(8)], code_dtype(fmt))


def compare_datapath(model: Datapath, choices: int) -> int:
    """Every choice of operands of a file is the one of the binding; the first ones give the same results."""
    at, compared = loaded(model), 0
    for number, plan in enumerate(plans_of(model)):
        found, rng = ffi.new("emu_datapath *"), Random(number)
        assert lib.emu_find_datapath_in(at.library, plan.name.encode(), found) == lib.EMU_OK, plan.name
        assert plain(found) == plain(datapath_descriptor(plan).pointer)
        compared += 1
        if number >= choices:
            continue
        k, blocks = plan.facts.k, plan.facts.k // plan.block if plan.scale else 0
        formats = {"a": (plan.a, k), "b": (plan.b, k), "sa": (plan.scale, blocks), "sb": (plan.scale, blocks), "c": (plan.d, 1)}
        codes = {key: None if fmt is None else _codes(rng, fmt, n) for key, (fmt, n) in formats.items()}
        out, marks = np.zeros((8, 1), code_dtype(plan.d)), np.zeros((8, 1), np.uint8)
        pointers = [ffi.NULL if item is None else ffi.new("emu_matrix *", matrix(item)) for item in codes.values()]
        results = []
        for pointer in (found, datapath_descriptor(plan).pointer):
            assert lib.emu_dot(pointer, *pointers, ffi.new("emu_matrix *", matrix(out, marks)), ffi.NULL) == lib.EMU_OK
            results.append((out.tolist(), marks.tolist()))
        assert results[0] == results[1]
        for row in np.flatnonzero(marks[:, 0] == 0)[:3]:
            a, b, sa, sb, c = ([] if item is None else item[row].tolist() for item in codes.values())
            assert dot(a, b, sa, sb, c[0], plan).code == out[row, 0]
    return compared


@pytest.mark.parametrize("name", [name for name in FUSED if name not in OPEN])
def test_every_shipped_datapath_is_read_as_it_is(name: str) -> None:
    assert compare_datapath(renamed(name, "mine"), 2) > 0


def compare_drawn_datapath(seed: int) -> bool:
    """A datapath that no file has; True where the C reference takes it."""
    bases = ("ada_fp8", "hopper_fp8", "hopper_fp16", "blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf8f6f4")
    model = renamed(Random(seed).choice(bases), "mine", seed)
    try:
        for plan in plans_of(model):
            datapath_descriptor(plan)
    except EmuError:
        return False
    return compare_datapath(model, 1) > 0


def test_drawn_datapaths_mean_the_same_from_a_file() -> None:
    assert sum(compare_drawn_datapath(seed) for seed in range(60)) > 50


@pytest.mark.exhaustive
def test_many_drawn_datapaths_mean_the_same_from_a_file() -> None:
    assert sum(compare_drawn_datapath(seed) for seed in range(1000, 2000)) > 800


LEVELS = [name for name in names("datapath") if name not in FUSED]


def compare_levels(model: Datapath) -> int:
    """Every choice of operands of a file is the one of the binding, fact by fact; how many there are."""
    at, plans = loaded(model), list(level_plans_of(model))
    for plan in plans:
        found = ffi.new("emu_levels *")
        assert lib.emu_find_levels_in(at.library, plan.name.encode(), found) == lib.EMU_OK, plan.name
        assert plain(found) == plain(levels_descriptor(plan).pointer)
        assert lib.emu_check_dot_levels(found) == lib.EMU_OK
    return len(plans)


@pytest.mark.parametrize("name", LEVELS)
def test_every_shipped_datapath_of_levels_is_read_as_it_is(name: str) -> None:
    assert compare_levels(get("datapath", name)) > 0


def compare_drawn_levels(seed: int) -> bool:
    """A datapath of levels that no file has; True where the C reference takes it."""
    model = drawn_datapath(seed)
    try:
        descriptor_text([model])
    except EngineError:
        return False
    return compare_levels(model) > 0


def test_drawn_datapaths_of_levels_mean_the_same_from_a_file() -> None:
    assert sum(compare_drawn_levels(seed) for seed in range(150)) > 120


@pytest.mark.exhaustive
def test_many_drawn_datapaths_of_levels_mean_the_same_from_a_file() -> None:
    count = tries(600, 2000)
    assert sum(compare_drawn_levels(seed) for seed in range(1000, 1000 + count)) > 0.8 * count


def test_both_forms_of_a_datapath_stand_in_one_file() -> None:
    text = descriptor_text([get("datapath", name) for name in ("int12_wrap", "hopper_fp8", "mx_lane24", "ada_fp8")])
    at = Loaded(text)
    assert "\ndatapaths 4\n" in text and at.error == lib.EMU_OK, at.line
    levels, fused = ffi.new("emu_levels *"), ffi.new("emu_datapath *")
    for name in ("int12_wrap", "mx_lane24"):
        assert lib.emu_find_levels_in(at.library, name.encode(), levels) == lib.EMU_OK
        assert lib.emu_find_datapath_in(at.library, name.encode(), fused) == lib.EMU_ERROR_NAME
    for name in ("hopper_fp8", "ada_fp8"):
        assert lib.emu_find_levels_in(at.library, name.encode(), levels) == lib.EMU_ERROR_NAME
        assert lib.emu_find_datapath_in(at.library, f"{name}/e4m3xe5m2".encode(), fused) == lib.EMU_OK
    assert lib.emu_find_levels_in(ffi.NULL, b"int12_wrap", levels) == lib.EMU_ERROR_NAME
    assert lib.emu_find_levels_in(at.library, b"int12_wrap/e2m1xe2m1", levels) == lib.EMU_ERROR_NAME
    assert lib.emu_find_levels_in(at.library, b"x" * 80, levels) == lib.EMU_ERROR_NAME
    assert lib.emu_find_levels_in(at.library, ffi.NULL, levels) == lib.EMU_ERROR_NULL
    assert lib.emu_find_levels_in(at.library, b"int12_wrap", ffi.NULL) == lib.EMU_ERROR_NULL


OF_LEVELS = descriptor_text([get("datapath", name) for name in ("hopper_fp8", "mx_lane24", "int12_wrap", "rvbna4", "fp16_register")])
OF_LEVELS_FAULTS = [
    ("levels int12_wrap", "levels mx_lane24", "levels mx_lane24", 2, "a second object with the id 'mx_lane24': give it an id of its own"),
    ("levels int12_wrap", "levels hopper_fp8", "levels hopper_fp8", 1, "a second object with the id 'hopper_fp8': give it an id"),
    ("levels int12_wrap", "level int12_wrap", "level int12_wrap", 1, "a line of 'level' where 'datapath' with its values must stand"),
    ("c fp16", "c fp61", "c fp61", 1, "no format above has the id 'fp61': write the formats that the file uses under formats"),
    ("of_rule all", "of_rule every", "of_rule every", 1, "no such word 'every': write one of count all block"),
    ("of 32", "of 33", "levels mx_lane24", 1, "a datapath of levels that contradicts itself or passes a limit: the limits stand in"),
    ("of 32", "of 0", "of 0", 1, "out of range '0': write an integer without leading zeros from 1 to 1048576"),
    ("cut odd", "cut strange", "cut strange", 1, "no rounding above has the id 'strange': write the roundings that the file uses under"),
    ("cut odd", "cut none", "cut none", 1, "no rounding above has the id 'none'"),
    ("running none", "running", "running", 1, "a line of 'running' where 'running' with its values must stand"),
    ("running none", "running odd 3", "running odd 3", 1, "a line of 'running' where 'running' with its values must stand"),
    ("running none", "running odd 3 -2", "running odd 3 -2", 1, "out of range '-2': write an integer without leading zeros from -1"),
    ("running none", "running odd 3 -1", "levels rvbna4", 1, "a datapath of levels that contradicts itself"),
    ("level_count 2", "level_count 17", "level_count 17", 1, "out of range '17': write an integer without leading zeros from 1 to 16"),
    ("hold cut significant 24 rz", "hold cut 24 rz", "hold cut 24 rz", 1, "a line of 'hold' where 'hold' with its values must stand"),
    ("hold cut significant 24 rz", "hold cut significant 0 rz", "levels mx_lane24", 1, "a datapath of levels that contradicts itself"),
    ("hold cut significant 24 rz", "hold cut bits 24 rz", "hold cut bits 24 rz", 1, "no such word 'bits': write one of significant"),
    ("hold cut significant 24 rz", "hold", "hold", 1, "a line of 'hold' where 'hold' with its values must stand"),
    ("hold cut significant 24 rz", "hold odd", "hold odd", 1, "no such word 'odd': write one of exact float fixed cut"),
    ("out float fp16 rne 10 saturate no none", "out exact", "levels mx_lane24", 1, "a datapath of levels that contradicts itself"),
    ("out float fp16 rne 10 saturate no none", "out float fp16 rne 10 saturate no ieee", "out float fp16 rne 10 saturate no ieee", 1,
     "no policy above says this of the format 'ieee': write the policies that the file uses under policies"),
    ("out float fp16 rne 10 saturate no none", "out float fp61 rne 10 saturate no none", "out float fp61 rne 10 saturate no none", 1,
     "no format above has the id 'fp61'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "where", "nth", "why"), OF_LEVELS_FAULTS)
def test_a_fault_of_levels_is_refused_with_its_line(old: str, new: str, where: str, nth: int, why: str) -> None:
    assert f"\n{old}\n" in OF_LEVELS
    text = OF_LEVELS.replace(f"\n{old}\n", f"\n{new}\n", 1)
    at, lines = Loaded(sealed(text)), text.split("\n")
    assert at.error == lib.EMU_ERROR_DESCRIPTOR
    assert why in at.line
    assert at.fault.line == [number for number, line in enumerate(lines, 1) if line == where][nth - 1]


def test_a_datapath_that_contradicts_itself_is_refused() -> None:
    text = descriptor_text([get("datapath", "hopper_fp8")])
    at = Loaded(sealed(text.replace("\nstep 32\n", "\nstep 5\n")))
    assert "a datapath that contradicts itself or passes a limit" in at.line
    assert at.fault.line == text.split("\n").index("datapath hopper_fp8") + 1
