"""The named descriptors compiled into the extension, field by field, against the ones that the binding builds from the YAML."""

from __future__ import annotations

from typing import Any

import pytest

from emu.base.errors import EmuError, OpenError
from emu.engines.c_ref import datapath, descriptors
from emu.engines.c_ref import program as programs
from emu.engines.c_ref._c import ffi, lib
from emu.spec import derive
from emu.spec.datapath import known_facts, pairs, resolve
from emu.spec.models.rounding import Word
from emu.spec.programs.program import dequantize_program, quantize_program
from emu.spec.registry import get, names
from tests.support.structs import plain
from tools.docs.c_tables import PATH, c_table_pages


def words_of(kind: str, name: str) -> list[str]:
    return [name, *get(kind, name).aliases]


@pytest.mark.parametrize("name", names("format"))
def test_formats_are_those_of_the_spec(name: str) -> None:
    made = descriptors.format_descriptor(get("format", name))
    wanted = plain(made.pointer)
    assert wanted["format_class"] in (lib.EMU_FLOAT, lib.EMU_INTEGER, lib.EMU_EXPONENT, lib.EMU_CODEBOOK)
    for word in words_of("format", name):
        assert plain(lib.emu_find_format(word.encode())) == wanted


@pytest.mark.parametrize("name", names("rounding"))
def test_roundings_are_those_of_the_spec(name: str) -> None:
    rounding = get("rounding", name)
    fp32 = get("format", "fp32")
    wanted = plain(descriptors.rounding_descriptor(rounding, fp32, descriptors.format_descriptor(fp32)))
    for word in words_of("rounding", name):
        assert plain(lib.emu_find_rounding(word.encode())) == wanted
        found = lib.emu_find_word(word.encode())
        assert (found != ffi.NULL) == isinstance(rounding.facts.random, Word)
        if found != ffi.NULL:
            shared = rounding.facts.random
            places = [bit for lane in shared.fields for first, last in lane for bit in descriptors.bit_places(first, last)]
            assert (found.lanes, found.bits, found.random_bits) == (shared.lanes, shared.word, rounding.random_bits)
            assert list(found.positions[0 : shared.lanes * rounding.random_bits]) == places


@pytest.mark.parametrize("name", names("policy"))
def test_policies_are_those_of_the_spec(name: str) -> None:
    policy, covered = get("policy", name), 0
    for destination in names("format"):
        fmt = get("format", destination)
        try:
            entry = derive.policy_entry(policy, fmt)
            wanted = plain(descriptors.policy_descriptor(entry, fmt, descriptors.format_descriptor(fmt)))
        except EmuError:
            wanted = None
        for to in words_of("format", destination):
            for word in words_of("policy", name):
                assert plain(lib.emu_find_policy(word.encode(), to.encode())) == wanted, (word, to)
        covered += wanted is not None
    assert covered > 0


@pytest.mark.parametrize("name", names("transform"))
def test_transforms_are_those_of_the_spec(name: str) -> None:
    made = programs.transform_descriptor(get("transform", name))
    wanted = plain(made.pointer)
    assert wanted["size"] > 1
    for word in words_of("transform", name):
        assert plain(lib.emu_find_transform(word.encode())) == wanted


@pytest.mark.parametrize("name", names("recipe"))
def test_programs_are_those_of_the_spec(name: str) -> None:
    recipe = get("recipe", name)
    block = get("block", recipe.facts.block)
    for profile in (None, *recipe.facts.dequantize):
        program = quantize_program(recipe) if profile is None else dequantize_program(recipe, profile)
        made = programs.program_descriptor(recipe, program)
        wanted = plain(made.pointer)
        assert len(wanted["steps"]) == len(program.instructions) > 0
        for word in words_of("recipe", name):
            found = lib.emu_find_program(word.encode(), ffi.NULL if profile is None else profile.encode())
            assert plain(found) == wanted
            assert lib.emu_check_program(found) == lib.EMU_OK
    named = lib.emu_find_recipe(name.encode())
    assert ffi.string(named.block).decode() == block.id
    element = descriptors.format_descriptor(get("format", block.element_formats[0]))
    assert plain(named.element) == plain(element.pointer)
    assert named.element_count == len(block.element_formats)
    levels = [ffi.string(named.levels[place]).decode() for place in range(named.level_count)]
    assert levels == [level.name for level in block.facts.levels]
    draws = [item.rounding for item in quantize_program(recipe).instructions if item.rounding is not None and item.rounding.random_bits]
    word = lib.emu_find_word(draws[0].id.encode()) if draws else ffi.NULL
    assert named.word == word


@pytest.mark.parametrize("name", names("datapath"))
def test_datapaths_are_those_of_the_spec(name: str) -> None:
    """Every choice of operands, by its name: what the tables say of the datapath, and the operands that C puts in."""
    model, found = get("datapath", name), ffi.new("emu_datapath *")
    try:
        facts = known_facts(model)
    except OpenError:
        assert lib.emu_find_datapath(name.encode(), found) == lib.EMU_ERROR_NAME
        return
    for a, b in pairs(facts):
        for scale in facts.scale.formats or (None,):
            for block in facts.scale.blocks or (None,):
                plan = resolve(name, a, b, scale, block)
                wanted = plain(datapath.datapath_descriptor(plan).pointer)
                for word in words_of("datapath", name):
                    chosen = plan.name.replace(name, word, 1)
                    assert lib.emu_find_datapath(chosen.encode(), found) == lib.EMU_OK, chosen
                    assert plain(found) == wanted


def test_datapath_names_are_complete_and_nothing_else() -> None:
    found = ffi.new("emu_datapath *", {"k": 77})
    for name in ("", "nv_like", "nv_like/e1m2xe1m2/ue4m3", "nv_like/e1m2xe1m2/ue4m3/16/", "nv_like/e1m2xe1m2/ue4m3/17", "ideal/16"):
        assert lib.emu_find_datapath(name.encode(), found) == lib.EMU_ERROR_NAME, name
    for name in (
        "hopper_fp8/e4m3",
        "hopper_fp8/e4m3xe2m1",
        "hopper_fp16/fp16xbf16",
        "nv_like/e1m2xe1m2/fp32/16",
        "hopper_fp16_f16/fp16xfp16",
    ):
        assert lib.emu_find_datapath(name.encode(), found) == lib.EMU_ERROR_NAME, name
    assert lib.emu_find_datapath(ffi.NULL, found) == lib.emu_find_datapath(b"hopper_fp16_f16", ffi.NULL) == lib.EMU_ERROR_NULL
    assert found.k == 77


def test_what_is_unknown_is_not_found() -> None:
    for find in (lib.emu_find_format, lib.emu_find_rounding, lib.emu_find_word):
        for name in (b"", b"e2m", b"e2m11", b"E2M1", ffi.NULL):
            assert find(name) == ffi.NULL
    for find in (lib.emu_find_transform, lib.emu_find_recipe):
        assert find(b"nobody") == find(ffi.NULL) == ffi.NULL
    assert lib.emu_find_program(b"nobody", ffi.NULL) == lib.emu_find_program(ffi.NULL, b"te") == ffi.NULL
    assert lib.emu_find_program(b"nvfp4_te_ref", b"t") == lib.emu_find_program(b"nvfp4_te_ref", b"") == ffi.NULL
    assert lib.emu_find_policy(b"nvidia", b"e9m9") == ffi.NULL
    assert lib.emu_find_policy(b"x", b"e2m1") == ffi.NULL
    assert lib.emu_find_policy(ffi.NULL, b"e2m1") == lib.emu_find_policy(b"nvidia", ffi.NULL) == ffi.NULL


def test_every_object_is_in_the_file_or_named_as_left_out() -> None:
    (text,) = c_table_pages().values()
    assert PATH == "c_ref/src/tables/tables.c"
    for kind in ("format", "rounding", "policy", "transform", "recipe", "datapath"):
        for name in names(kind):
            assert f'{{"{name}", ' in text or f"/* not here: {name}: " in text
    assert max(len(line) for line in text.splitlines()) <= 200
    assert len(text) < 600_000


def test_a_changed_fact_changes_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = c_table_pages()
    build = descriptors.format_descriptor

    def biased(fmt: Any) -> Any:
        made = build(fmt)
        if fmt.id == "e2m1":
            made.pointer.bias += 1
        return made

    for module in (descriptors, programs):
        monkeypatch.setattr(module, "format_descriptor", biased)
    changed = c_table_pages()
    assert sum(a != b for a, b in zip(before[PATH].splitlines(), changed[PATH].splitlines(), strict=True)) == 1
