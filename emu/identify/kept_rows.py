"""The kept discriminating rows: discriminating/<family>.json, with digests of what they come from. Not here: deriving (refresh.py)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.base.inputs import read_json
from emu.contracts.quantize.axes import axes_digest
from emu.files.record import changed, digests_of
from emu.identify.rows import Tile
from emu.spec.registry import names

VERSION: Final = 1
COMMAND: Final = "emu identify --refresh"


@dataclass(frozen=True)
class Kept:
    """Rows of one family.

    recipes: id -> digest when they were derived.   axes: digest of the rules.   tried: candidates they were chosen from.
    same: (stage, base, variant, verdict, domain) of variants that no candidate separates from their base.
    equal: (recipe, recipe, verdict, domain) of documented ones, likewise.
    """

    stem: str
    recipes: dict[str, str]
    axes: str
    tried: int
    same: tuple[tuple[str, str, str, str, str], ...]
    equal: tuple[tuple[str, str, str, str], ...]
    rows: tuple[Tile, ...]

    def stale(self) -> tuple[str, ...]:
        """Return what has changed since: ids of recipes, or `axes`; recipes that a user's folder adds do not count."""
        known = names("recipe")
        now = digests_of({"recipe": [name for name in self.recipes if name in known]})
        found = changed(now["recipe"], self.recipes)
        return (*found, *(["axes"] if axes_digest() != self.axes else []))


def stem_of(shape: tuple[int, int]) -> str:
    """Return the name of the family of a tile shape."""
    return f"quantize_{shape[0]}x{shape[1]}"


def path_of(stem: str, folder: Path | None = None) -> Path:
    """Return the file of a family."""
    return (folder or Path(str(files("emu.identify") / "discriminating"))) / f"{stem}.json"


@bounded(8)
def kept(stem: str) -> Kept | None:
    """Return the kept rows of a family; None where there are none. Raises: FileError (not a kept file)."""
    path = path_of(stem)
    if not path.is_file():
        return None
    try:
        data = read_json(path, "ascii")
        if data["version"] != VERSION:
            raise FileError(f"{path.name}: of version {data['version']}: run `{COMMAND}`")
        rows = tuple(_row(item) for item in data["rows"])
        same, equal = (tuple(tuple(item) for item in data[key]) for key in ("same", "equal"))
        return Kept(stem, data["recipes"], data["axes"], data["tried"], same, equal, rows)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path.name}: not a file of kept rows ({error}): run `{COMMAND}`") from None


def _row(item: dict[str, Any]) -> Tile:
    wide = 4 if item["source"] == "bf16" else 8
    codes = [int(item["x"][at : at + wide], 16) << (32 - 4 * wide) for at in range(0, len(item["x"]), wide)]
    return Tile(tuple(codes), int(item["amax"], 16), item["draw"], tuple(item["flags"].split()), int(item.get("signs", "0"), 16))
