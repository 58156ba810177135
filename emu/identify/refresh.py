"""Deriving the discriminating rows of every family again from the spec, and writing them. Not here: reading them (kept_rows.py)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from emu.base.atomic import whole_file
from emu.contracts.quantize.axes import axes_digest
from emu.contracts.quantize.edit import is_joint
from emu.contracts.quantize.variants import Variant, code_variants, documented, family, scale_variants, shape_of
from emu.identify.cases import candidates
from emu.identify.choose import choose, marks, pairs_of, separating
from emu.identify.kept_rows import VERSION, path_of, stem_of
from emu.identify.proof import equal_documented, verdict
from emu.identify.rows import OPEN, Answers, Tile, calls, expected
from emu.spec.registry import digest, get, isolated, shipped_root


def shapes() -> list[tuple[int, int]]:
    """Return the tile shapes of the shipped recipes."""
    return sorted({shape_of(item.recipe) for item in documented()})


def refresh(folder: Path | None = None, only: Sequence[tuple[int, int]] | None = None) -> list[str]:
    """Derive and write the kept rows; return one line per file.

    folder: None: the package's own.   only: shapes of tiles; None: all.   Raises: FileError.
    The shipped spec alone counts: a user's objects do not belong in the package's files.
    """
    with isolated(shipped_root()):
        return [_refreshed(shape, folder) for shape in only or shapes()]


def _refreshed(shape: tuple[int, int], folder: Path | None) -> str:
    path, data = path_of(stem_of(shape), folder), derive(shape)
    with whole_file(path, force=True) as file:
        file.write(text_of(data).encode("ascii"))
    return f"{path.name}: {len(data['rows'])} of {data['tried']} rows separate {data['variants']} variants"


def text_of(data: dict[str, Any]) -> str:
    """Return kept data as text: a row a line."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list) and value:
            inner = ",\n".join("  " + json.dumps(item) for item in value)
            parts.append(f"{json.dumps(key)}: [\n{inner}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def derive(shape: tuple[int, int], note: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Return the kept data of one family, derived anew."""
    known = family(documented(), shape)
    pool = candidates(known)
    asked = calls(pool, shape, get("format", "fp32"))

    def answers(item: Variant) -> Answers:
        note(item.name)
        return expected(item.recipe, asked, get("format", "fp32"), len(pool))

    scale = [item for base in known for item in scale_variants(base)]
    found = [answers(item) for item in scale]
    levels = sorted({name for item in found for name in item} - {"codes", "tensor"})
    table = marks(found, levels)
    parts = [separating(table, pairs_of([range(len(scale))]))]
    same = _same(table, scale, "scale", _starts(scale))
    for base in known:
        codes = code_variants(base)
        answered = marks([answers(item) for item in codes], ["codes"])
        parts.append(separating(answered, pairs_of([range(len(codes))])))
        same += _same(answered, codes, "codes", {base.base: 0})
    bases = [found[place] for place, item in enumerate(scale) if item.is_documented]
    whole = marks(bases, ["codes", *levels])
    documented_pairs = pairs_of([range(len(known))])
    split = separating(whole, documented_pairs)
    parts.append(split)
    left = documented_pairs[~split.any(axis=1)]
    unsplit = [(known[int(a)], known[int(b)]) for a, b in left]
    chosen = choose(parts, pool)
    return {
        "version": VERSION,
        "recipes": {item.base: digest(item.recipe) for item in known},
        "axes": axes_digest(),
        "tried": len(pool),
        "variants": len(scale) + sum(len(code_variants(base)) - 1 for base in known),
        "equal": equal_documented(unsplit),
        "same": same,
        "rows": [_row(pool[place]) for place in chosen],
    }


def _starts(scale: Sequence[Variant]) -> dict[str, int]:
    return {item.base: place for place, item in enumerate(scale) if item.is_documented}


def _same(table: Any, items: Sequence[Variant], stage: str, starts: dict[str, int]) -> list[list[str]]:
    """Return (stage, base, variant, verdict, domain) of the variants that no candidate separates from their base."""
    out = []
    for place, item in enumerate(items):
        start = starts[item.base]
        if place != start and not separating(table, pairs_of([[start, place]])).any():
            out.append([stage, item.base, item.name, *why_same(stage, table[start], table[place], items[start], item)])
    return out


def why_same(stage: str, mine: Any, theirs: Any, base: Variant, item: Variant) -> tuple[str, str]:
    """Return the verdict on a variant that no candidate separates from its base. mine, theirs: marks of their answers."""
    if ((mine == OPEN) != (theirs == OPEN)).any():
        return "unobservable", "the sources leave the answer open where they part"
    return verdict(base, item) if stage == "scale" and not is_joint(base.recipe) else ("not separated", "")


def _row(row: Tile) -> dict[str, Any]:
    narrow = not any(code & 0xFFFF for code in row.x)
    x = "".join(f"{code >> 16:04x}" if narrow else f"{code:08x}" for code in row.x)
    signs = {"signs": f"{row.signs:04x}"} if row.signs else {}
    kind = "bf16" if narrow else "fp32"
    return {"source": kind, "x": x, "amax": f"{row.amax:08x}", "draw": row.draw, **signs, "flags": " ".join(row.flags)}
