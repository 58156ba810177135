"""What C writes of a descriptor file that it has loaded: the bytes of the export, and for any file its canonical form."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from emu.base.errors import EmuError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptor_file import KINDS, descriptor_text
from emu.spec.models import SpecObject
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get, names
from tests.support.descriptor_samples import (
    Loaded,
    drawn_block,
    drawn_format,
    drawn_layout,
    drawn_policy,
    drawn_rounding,
    drawn_transform,
    renamed,
    sealed,
)
from tests.support.level_samples import drawn_datapath
from tests.support.program_samples import own_blocks, random_recipe

OPEN = ("blackwell_e0m3", "blackwell_sparse", "cdna4", "sm_103", "sm_107")  # no descriptor holds what nobody knows
FUSED = [name for name in names("datapath") if name not in OPEN and not isinstance(get("datapath", name).facts, DatapathLevels)]


def exported(*things: SpecObject) -> str | None:
    """The text of an export, or None where the objects pass a limit of C or leave something open."""
    try:
        return descriptor_text(things)
    except EmuError:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_every_shipped_object_comes_back_byte_for_byte(kind: str) -> None:
    kept = [name for name in names(kind) if name not in OPEN]
    assert len(kept) >= 5
    for name in kept:
        text = descriptor_text([get(kind, name)])
        assert Loaded(text).written() == text, name


def test_all_shipped_objects_in_one_file_come_back() -> None:
    text = descriptor_text([get(kind, name) for kind in KINDS for name in names(kind) if name not in OPEN])
    assert Loaded(text).written() == text


def drawn(seed: int) -> Iterator[SpecObject]:
    """One object of each kind that no file has; of datapaths a fused one and one of levels."""
    fmt = drawn_format(seed)
    yield from (fmt, drawn_rounding(seed), drawn_policy(seed, fmt), drawn_transform(seed), drawn_layout(seed), drawn_block(seed))
    yield random_recipe(np.random.default_rng(seed))
    yield renamed(Random(seed).choice(FUSED), f"fused_{seed}", seed)
    yield drawn_datapath(seed)


def round_trip(seeds: range) -> int:
    """Each drawn object alone, then all of a seed in one file; how many objects came back."""
    count = 0
    for seed in seeds:
        kept = [thing for thing in drawn(seed) if exported(thing) is not None]
        for things in (*((thing,) for thing in kept), tuple(kept)):
            text = exported(*things)
            assert text is not None
            written = Loaded(text).written()
            assert written == text, (seed, [thing.id for thing in things])
            assert Loaded(written).written() == text
        count += len(kept)
    return count


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The blocks of the drawn recipes."""
    with own_blocks(tmp_path_factory.mktemp("blocks")):
        yield


@pytest.mark.usefixtures("blocks")
@pytest.mark.cases(1, 4)
@pytest.mark.parametrize("part", range(50))
def test_drawn_objects_come_back_byte_for_byte(part: int) -> None:
    """2,000 of each kind in all, but for what passes a limit of C."""
    assert round_trip(range(40 * part, 40 * part + 40)) > 300


def test_what_is_written_has_no_remarks_and_fused_datapaths_first() -> None:
    text = descriptor_text([get("datapath", "mx_lane24"), get("datapath", "hopper_fp8")])
    assert text.index("\ndatapath hopper_fp8\n") < text.index("\nlevels mx_lane24\n")
    lines = text.splitlines(keepends=True)
    fused, of_levels = lines.index("datapath hopper_fp8\n"), lines.index("levels mx_lane24\n")
    other = ["# a remark\n", *lines[:fused], *lines[of_levels:-1], "# another\n", *lines[fused:of_levels], lines[-1]]
    assert Loaded(sealed("".join(other))).written() == text


def test_a_number_of_64_bits_comes_back() -> None:
    text = descriptor_text([get("format", "nf4")])
    first = next(line for line in text.splitlines() if line.startswith("value "))
    wide = f"value {-(1 << 61) + 1}"  # the least that the reader takes
    changed = sealed(text.replace("format nf4", "format mine").replace(first, wide))
    assert Loaded(changed).written() == changed


def test_a_text_that_does_not_fit_is_left_alone() -> None:
    at, size = Loaded(descriptor_text([get("recipe", "if4_mae")])), ffi.new("size_t *")
    whole = at.written()
    room = ffi.new("char[]", b"?" * len(whole))
    assert lib.emu_write_descriptor(at.library, room, len(whole) - 1, size) == lib.EMU_ERROR_SPACE
    assert (size[0], bytes(ffi.buffer(room, len(whole)))) == (len(whole), b"?" * len(whole))
    assert lib.emu_write_descriptor(at.library, room, len(whole), size) == lib.EMU_OK
    assert bytes(ffi.buffer(room, len(whole) + 1)) == whole.encode() + b"\0"  # the byte behind it is as it was
    size[0] = 77
    assert lib.emu_write_descriptor(ffi.NULL, room, len(whole), size) == lib.EMU_ERROR_NULL
    assert lib.emu_write_descriptor(at.library, room, len(whole), ffi.NULL) == lib.EMU_ERROR_NULL
    assert size[0] == 77
