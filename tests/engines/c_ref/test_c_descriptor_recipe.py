"""Recipes, blocks, transforms and layouts of a descriptor: read as they are, each fault refused with its line; and the C layouts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from emu.base.errors import EmuError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptor_file import OPERATIONS, descriptor_text
from emu.engines.c_ref.layout import layout_descriptor
from emu.engines.c_ref.program import transform_descriptor
from emu.engines.exact.layout import place
from emu.spec.models import Layout, Recipe
from emu.spec.registry import get, names
from tests.support.descriptor_samples import Loaded, drawn_layout, drawn_transform, sealed
from tests.support.structs import plain

RECIPES = [name for name in names("recipe") if lib.emu_find_program(name.encode(), ffi.NULL) != ffi.NULL]


@pytest.mark.parametrize("name", RECIPES)
def test_every_shipped_recipe_is_read_as_it_is(name: str) -> None:
    model: Recipe = get("recipe", name)
    at = Loaded(descriptor_text([model.model_copy(update={"id": "mine"})]))
    assert plain(at.found("recipe", "mine")) == plain(lib.emu_find_recipe(name.encode()))
    for profile in (None, *model.facts.dequantize):
        word = ffi.NULL if profile is None else profile.encode()
        found, shipped = lib.emu_find_program_in(at.library, b"mine", word), lib.emu_find_program(name.encode(), word)
        assert found != shipped and shipped != ffi.NULL
        assert plain(found) == plain(shipped)
    assert lib.emu_find_program_in(at.library, b"mine", b"no_such_profile") == ffi.NULL
    assert lib.emu_find_program_in(ffi.NULL, b"mine", ffi.NULL) == ffi.NULL


def test_every_shipped_transform_block_and_layout_is_read_as_it_is() -> None:
    for kind in ("transform", "block", "layout"):
        found = [name for name in names(kind) if getattr(lib, f"emu_find_{kind}_in")(ffi.NULL, name.encode()) != ffi.NULL]
        at = Loaded(descriptor_text([get(kind, name) for name in found]))
        assert len(found) > 3
        for name in found:
            own, shipped = at.found(kind, name), getattr(lib, f"emu_find_{kind}_in")(ffi.NULL, name.encode())
            assert own != shipped
            assert plain(own) == plain(shipped)


def test_random_words_come_with_their_rounding() -> None:
    shared = [name for name in names("rounding") if lib.emu_find_word(name.encode()) != ffi.NULL]
    at = Loaded(descriptor_text([get("rounding", name) for name in (*shared, "sr_add8")]))
    assert len(shared) > 2
    for name in shared:
        own = at.found("word", name)
        assert own != lib.emu_find_word(name.encode()) and plain(own) == plain(lib.emu_find_word(name.encode()))
    assert at.found("word", "sr_add8") == at.found("word", "none_such") == ffi.NULL


def compare_drawn(seed: int) -> None:
    """A rotation and a layout that no file has: the same facts from a file."""
    transform, layout = drawn_transform(seed), drawn_layout(seed)
    at = Loaded(descriptor_text([transform, layout]))
    rotation, order = transform_descriptor(transform), layout_descriptor(layout)
    assert plain(at.found("transform", transform.id)) == plain(rotation.pointer)
    assert plain(at.found("layout", layout.id)) == plain(order.pointer)
    compare_places(layout, at.found("layout", layout.id), Random(seed), 20)


def compare_places(layout: Layout, found: Any, rng: Random, count: int) -> None:
    """Places of some codes of a tensor of any size by C and by the reference model."""
    rows, codes, out = rng.randint(1, 300), rng.randint(1, 300), ffi.new("uint64_t *")
    for _ in range(count):
        row, idx = rng.randrange(rows), rng.randrange(codes)
        assert lib.emu_layout_place(found, row, idx, rows, codes, out) == lib.EMU_OK
        assert out[0] == place(row, idx, rows, codes, layout)


def test_drawn_rotations_and_layouts_are_the_same_from_a_file() -> None:
    for seed in range(60):
        compare_drawn(seed)


@pytest.mark.exhaustive
def test_many_drawn_rotations_and_layouts_are_the_same_from_a_file() -> None:
    for seed in range(1000, 1500):
        compare_drawn(seed)


def test_every_code_of_a_tensor_has_its_place_in_c() -> None:
    for name in names("layout"):
        layout: Layout = get("layout", name)
        found, out = lib.emu_find_layout_in(ffi.NULL, name.encode()), ffi.new("uint64_t *")
        for row in range(131):
            for idx in range(9):
                assert lib.emu_layout_place(found, row, idx, 131, 9, out) == lib.EMU_OK
                assert out[0] == place(row, idx, 131, 9, layout)
        for example in layout.expect:
            assert lib.emu_layout_place(found, example.row, example.idx, example.rows, example.codes, out) == lib.EMU_OK
            assert out[0] == example.place


def test_what_lies_outside_a_tensor_has_no_place() -> None:
    found, out = lib.emu_find_layout_in(ffi.NULL, b"sf128x4"), ffi.new("uint64_t *", 77)
    for row, idx, rows, codes in ((3, 0, 3, 5), (0, 5, 3, 5), (0, 0, 0, 5), (0, 0, 3, 0), (0, 0, 1 << 31, 5), (0, 0, 3, 1 << 31)):
        assert lib.emu_layout_place(found, row, idx, rows, codes, out) == lib.EMU_ERROR_SHAPE
    assert lib.emu_layout_place(found, 0, 0, 3, 5, ffi.NULL) == lib.EMU_ERROR_NULL
    assert lib.emu_layout_place(ffi.NULL, 0, 0, 3, 5, out) == lib.EMU_ERROR_NULL
    assert out[0] == 77
    rows, codes = (1 << 31) - 1, (1 << 31) - 1
    assert lib.emu_layout_place(found, rows - 1, codes - 1, rows, codes, out) == lib.EMU_OK
    assert out[0] == place(rows - 1, codes - 1, rows, codes, get("layout", "sf128x4")) > 1 << 61


SOUND = descriptor_text(
    [
        *(get("recipe", name) for name in ("mxfp4_torchao_floor", "if4_mae", "ufp4_sr")),
        *(get("layout", name) for name in ("sf128x4", "row_major")),
        get("rounding", "sr_ptx_share16"),
    ]
)
CONTRADICTS = "a program that contradicts itself or passes a limit: the limits stand in emu_ref.h at emu_program"
TYPES = "a program that takes a value for a code, or a code for one of another format: see emu_type_registers"
FAULTS = [  # what becomes what, the line that is refused, why
    ("word 4 32", "word 65 32", "word 65 32", "out of range '65': write an integer without leading zeros from 0 to 64"),
    ("word 4 32", "word 4 65", "word 4 65", "out of range '65': write an integer without leading zeros from 1 to 64"),
    ("word 4 32", "word 4 31", "lane 31 30 29", "out of range '31': write an integer without leading zeros from 0 to 30"),
    ("word 4 32", "word 0 0", "rounding sr_ptx_share16", "what the id means in the shipped spec, but for other facts"),
    ("word 4 32", "word 5 32", "policies 0", "a line of 'policies' where 'lane' with its values must stand"),
    ("word 4 32", "word 4", "word 4", "a line of 'word' where 'word' with its values must stand"),
    ("size 16", "size 12", "transform rht16_ufp4", "a transform that contradicts itself or passes a limit: the limits stand in emu_ref.h"),
    ("size 16", "size 512", "size 512", "out of range '512': write an integer without leading zeros from 2 to 256"),
    ("size 16", "size 8", "transform rht16_ufp4", "what the id means in the shipped spec, but for other facts: give it an id of its own"),
    ("order butterfly", "order halves", "transform rht16_ufp4", "a transform that contradicts itself or passes a limit"),
    ("tile 1 32", "tile 1 5000", "tile 1 5000", "out of range '5000': write an integer without leading zeros from 1 to 4096"),
    ("tile 1 32", "tile 1 16", "level scale e8m0 1 32", "out of range '32': write an integer without leading zeros from 0 to 16"),
    ("tile 1 32", "tile 1 48", "block mxfp4", "a block whose levels do not divide its tile, or whose elements differ in width"),
    ("tile 1 32", "tile 1 64", "block mxfp4", "what the id means in the shipped spec, but for other facts: give it an id of its own"),
    ("elements e2m1 int4", "elements e2m1 fp32", "block if4", "a block whose levels do not divide its tile, or whose elements differ in"),
    ("elements e2m1 int4", "elements e2m1 int4 int4", "elements e2m1 int4 int4", "elements = 3: at most 2"),
    ("elements e2m1 int4", "elements e2m1 int5", "elements e2m1 int5", "no format above has the id 'int5'"),
    ("level scale e8m0 1 32", "level scale e8m0 0 32", "block mxfp4", "a block whose levels do not divide its tile, or whose elements"),
    ("level scale e8m0 1 32", "level scale e8m0 1 31", "block mxfp4", "a block whose levels do not divide its tile, or whose elements"),
    ("level scale e8m0 1 32", "level scale e8m0 1", "level scale e8m0 1", "a line of 'level' where 'level' with its values must stand"),
    ("holds scales", "holds bytes", "holds bytes", "no such word 'bytes': write one of elements scales"),
    ("code_bits 8", "code_bits 6", "layout sf128x4", "a layout whose digits do not give each code one place: steps and counts of an axis"),
    ("digit row 1 32", "digit row 1 16", "layout sf128x4", "a layout whose digits do not give each code one place"),
    ("digit row 1 32", "digit row 1 rest", "layout sf128x4", "a layout whose digits do not give each code one place"),
    ("digit row 1 32", "digit index 1 32", "layout sf128x4", "a layout whose digits do not give each code one place"),
    ("digit row 1 32", "digit column 1 32", "digit column 1 32", "no such word 'column': write one of index row"),
    ("digit row 1 32", "digit row 1 1", "digit row 1 1", "out of range '1': write an integer without leading zeros from 2 to 4096"),
    ("digits 5", "digits 1", "digits 1", "out of range '1': write an integer without leading zeros from 2 to 32"),
    ("digit index 1 4", "digit index 1 rest", "layout sf128x4", "a layout whose digits do not give each code one place"),
    ("layout sf128x4", "layout row_major", "layout row_major", "what the id means in the shipped spec, but for other facts"),
    ("recipe if4_mae if4", "recipe if4_mae if5", "recipe if4_mae if5", "no block above has the id 'if5': write the blocks that the file"),
    ("recipe if4_mae if4", "recipe mxfp4_torchao_floor if4", "recipe mxfp4_torchao_floor if4", "a second object with the id 'mxfp4_torc"),
    ("tail error", "tail cut", "tail cut", "no such word 'cut': write one of error keep drop"),
    ("programs 2", "programs 0", "programs 0", "out of range '0': write an integer without leading zeros from 1 to 64"),
    ("programs 2", "programs 3", "recipe if4_mae if4", "a line of 'recipe' where 'dequantize' with its values must stand"),
    ("dequantize torchao", "dequantize", "dequantize", "a line of 'dequantize' where 'dequantize' with its values must stand"),
    ("arithmetic fp32", "arithmetic e2m1", "quantize", CONTRADICTS),
    ("register x 1 1", "register x 1 64", "register x 1 64", "out of range '64': write an integer without leading zeros from 0 to 32"),
    ("register x 1 1", "register x 1 2", "quantize", CONTRADICTS),
    ("register x 1 1", "register codes 1 1", "register codes 1 1", "a second register with the name 'codes': give it a name of its own"),
    ("register x 1 1", "register x 1", "register x 1", "a line of 'register' where 'register' with its values must stand"),
    ("register x 1 1", "given x 1 1", "given x 1 1", "a line of 'given' where 'register' with its values must stand"),
    ("constant 0x800000", "constant 7", "constant 7", "not a bit pattern '7': write 0x, then at most 16 of 0-9a-f"),
    ("constant 0x800000", "constant 0x800000 1", "constant 0x800000 1", "a line of 'constant' where 'constant' with its values"),
    ("constant 0x800000", "constant 0x180000000", "quantize", CONTRADICTS),
    ("x 0", "x 99", "x 99", "out of range '99': write an integer without leading zeros from 0 to "),
    ("x 0", "x none", "quantize", CONTRADICTS),
    ("values none", "values 1", "quantize", CONTRADICTS),
    ("codes 0", "codes none", "dequantize torchao", CONTRADICTS),
    ("step amax propagate 1 0", "step amax 1 0", "step amax 1 0", "no such word '1': write one of propagate drop"),
    ("step amax propagate 1 0", "step amax drop 1 0 0", "step amax drop 1 0 0", "too many or too few words for the operation 'amax'"),
    ("step amax propagate 1 0", "step amux propagate 1 0", "step amux propagate 1 0", "no such operation 'amux': the operations stand in"),
    ("step amax propagate 1 0", "step amax", "step amax", "a line of 'step' where 'step' with its values must stand"),
    ("step amax propagate 1 0", "step amax propagate 99 0", "step amax propagate 99 0", "out of range '99'"),
    ("step amax propagate 1 0", "step amax propagate 0 0", "quantize", CONTRADICTS),
    ("step amax propagate 1 0", "step amax propagate 1 1", "quantize", CONTRADICTS),
]  # fmt: skip


def refused(old: str, new: str) -> tuple[int, str, list[str]]:
    """Change the first line that is `old`, or begins with it; the line that is refused, why, and all lines."""
    lines = SOUND.split("\n")
    at = next(number for number, line in enumerate(lines) if line == old or line.startswith(old + " "))
    lines[at] = lines[at].replace(old, new, 1)
    found = Loaded(sealed("\n".join(lines)))
    assert found.error == lib.EMU_ERROR_DESCRIPTOR and found.library == ffi.NULL, (old, new)
    return found.fault.line, found.line, lines


@pytest.mark.parametrize(("old", "new", "where", "why"), FAULTS)
def test_a_fault_is_refused_with_its_line_and_how_to_mend_it(old: str, new: str, where: str, why: str) -> None:
    number, said, lines = refused(old, new)
    assert why in said
    assert lines[number - 1].startswith(where)


STEP_FAULTS = [  # operation of the first step that is changed, what of it, by what, why
    ("cast", "none saturate", "0 saturate", CONTRADICTS),
    ("cast", "saturate", "jump", "no such word 'jump': write one of saturate inf nan ieee_inf ieee_nan wrap"),
    ("cast", "saturate", "inf", CONTRADICTS),
    ("cast", " e2m1 ", " e9m9 ", "no format above has the id 'e9m9'"),
    ("cast", " e2m1 ", " e8m0 ", "a program that"),
    ("cast", " rne ", " rnd ", "no rounding above has the id 'rnd': write the roundings that the file uses under roundings"),
    ("cast", " rne ", " sr_add8 ", CONTRADICTS),
    ("decode", " e8m0", " e2m1", TYPES),
    ("e8m0_rule", " 2 0", " 256 0", "out of range '256': write an integer without leading zeros from -255 to 255"),
    ("e8m0_rule", " 2 0", " 2 23", "out of range '23': write an integer without leading zeros from 0 to 22"),
    ("sum", " rne", " sr_add8", CONTRADICTS),
    ("sum", "halves", "butterfly", "no such word 'butterfly': write one of exact sequential tree halves"),
    ("transform", "rht16_ufp4", "rht16_te", "no transform above has the id 'rht16_te': write the transforms that the file uses under"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "old", "new", "why"), STEP_FAULTS)
def test_a_fault_of_a_step_is_refused(operation: str, old: str, new: str, why: str) -> None:
    line = next(line for line in SOUND.split("\n") if line.startswith(f"step {operation} ") and old in line)
    number, said, lines = refused(line, line.replace(old, new, 1))
    assert why in said
    assert lines[number - 1].split(" ")[0] in ("step", "quantize", "dequantize")


def test_a_program_that_mixes_values_and_codes_is_refused() -> None:
    text = descriptor_text([get("format", "e4m3"), get("recipe", "mxfp4_torchao_floor")])
    lines = text.split("\n")
    quantize = lines.index("quantize")

    def first(start: str, behind: int) -> int:
        return next(number for number, line in enumerate(lines) if number > behind and line.startswith(start))

    decode, cast = first("step decode ", quantize), first("step cast ", quantize)
    words = lines[decode].split(" ")
    changes = [
        (decode, f"step decode {words[2]} 1 {words[4]}"),  # the maximum, a value, is decoded
        (decode, f"step decode {words[2]} 1 fp32"),  # and in its own format
        (decode, f"step decode {words[2]} {words[3]} e2m1"),  # an E8M0 code is decoded as E2M1
        (first("codes ", quantize), "codes 0"),  # x itself as codes
        (first("level scale ", quantize), "level scale 1"),  # the maximum as the scale
        (cast, lines[cast].replace(" e2m1 ", " fp32 ").replace("0x0 0x0", "0x7fc00000 0x7fc00000")),  # values as codes
        (cast, lines[cast].replace(" e2m1 ", " e4m3 ")),  # codes wider than the element
    ]
    for at, new in changes:
        changed = [*lines[:at], new, *lines[at + 1 :]]
        found = Loaded(sealed("\n".join(changed)))
        assert found.error == lib.EMU_ERROR_DESCRIPTOR, new
        assert TYPES in found.line, (new, found.line)
        assert changed[found.fault.line - 1] == "quantize"


def test_every_operation_of_the_language_has_its_line() -> None:
    numbers = {name: getattr(lib, f"EMU_OP_{name.upper()}") for name in OPERATIONS}
    assert sorted(numbers.values()) == list(range(len(numbers)))
    assert {f"EMU_OP_{name.upper()}" for name in numbers} == {name for name in dir(lib) if name.startswith("EMU_OP_")}


def test_the_first_profile_is_found_by_its_name_alone() -> None:
    model: Recipe = get("recipe", "nvfp4_te_ref")
    text = descriptor_text([model])
    twice = text.replace("programs 2", "programs 3").replace(
        "datapaths 0", text[text.index("dequantize te") : text.index("datapaths 0")] + "datapaths 0"
    )
    found = Loaded(sealed(twice))
    assert "a second profile with the name 'te': give it a name of its own" in found.line


def test_a_recipe_beyond_the_c_reference_is_not_written() -> None:
    for name in names("recipe"):
        if name not in RECIPES:
            with pytest.raises(EmuError):
                descriptor_text([get("recipe", name)])
