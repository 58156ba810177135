"""The sound descriptor that the fuzz driver of the C reference changes, as a C header: python -m tests.support.fuzz_text writes it."""

from __future__ import annotations

from pathlib import Path

from emu.engines.c_ref.descriptor_file import descriptor_text
from emu.spec.datapath import pairs
from emu.spec.models import Datapath, SpecObject
from emu.spec.registry import get
from tests.support.descriptor_samples import drawn_format
from tests.support.level_samples import drawn_datapath

HEADER = Path(__file__).resolve().parents[1] / "engines" / "c_ref" / "fuzz_descriptor_text.h"
FORMATS = ("fp32", "e2m1", "e4m3", "nf4", "e8m0", "int4", "ue4m3")
ROUNDINGS = ("rne", "rd", "sr_add8", "sr_ptx_share16")
TRANSFORMS = ("rht16_te", "rht16_ufp4")
LAYOUTS = ("sf128x4", "low_nibble_first")
RECIPES = ("mxfp4_torchao_floor", "if4_mae", "ufp4_sr")
DATAPATHS = ("hopper_fp8", "cdna3_fp8")
NARROW = ("int64", "promote", "nv_like")
OF_LEVELS = (261, 276, 345, 482, 322, 94, 33)  # seeds; among them they hold every form of a line


def objects() -> list[SpecObject]:
    """What the text holds: one object of each kind at least, some that no file has."""
    found: list[SpecObject] = [get("format", name) for name in FORMATS]
    found += [drawn_format(seed) for seed in (1, 2)]
    found += [*(get("rounding", name) for name in ROUNDINGS), get("policy", "nvidia"), get("policy", "ocp_saturate")]
    for kind, ids in (("transform", TRANSFORMS), ("layout", LAYOUTS), ("recipe", RECIPES)):
        found += [get(kind, name) for name in ids]
    return [*found, *(get("datapath", name) for name in DATAPATHS), *(narrow(name) for name in NARROW), *map(drawn_datapath, OF_LEVELS)]


def narrow(name: str) -> Datapath:
    """Return a datapath with two choices of each operand at most, for texts that are loaded a million times."""
    model: Datapath = get("datapath", name)
    scale = model.facts.scale.model_copy(update={"formats": model.facts.scale.formats[:2], "blocks": model.facts.scale.blocks[:2]})
    facts = model.facts.model_copy(update={"pairs": tuple(pairs(model.facts)[:2]), "scale": scale})
    return model.model_copy(update={"id": f"{name}_narrow", "facts": facts})


def header() -> str:
    """Return the header."""
    things = objects()
    lines = ["/* A sound descriptor. Written by: python -m tests.support.fuzz_text. Do not edit. */"]
    for kind in ("format", "rounding", "policy", "transform", "layout", "recipe"):
        ids = ", ".join(f'"{thing.id}"' for thing in things if thing.kind == kind)
        lines.append(f"static const char *const sound_{'policies' if kind == 'policy' else kind + 's'}[] = {{{ids}}};")
    text = descriptor_text(things)
    return "\n".join([*lines, "static const char *const sound_lines[] = {", *(f'    "{line}\\n",' for line in text.splitlines()), "};", ""])


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="ascii")
