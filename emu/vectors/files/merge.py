"""emu vectors merge: the folders of several shards as one, byte for byte what one build makes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from emu.base.errors import FileError
from emu.vectors.build import OTHER_FILES, check_folder, finish
from emu.vectors.files import manifest
from emu.vectors.files.manifest import OPERATIONS
from emu.vectors.verify import check_manifest


def merge(out: Path, folders: Sequence[Path]) -> int:
    """Copy the suites of finished builds into one folder and sign it; return how many files it holds of them.

    out: new, empty, or a build.   folders: builds; a file that several hold must have the same bytes.
    Raises: FileError (an unfinished or changed folder, two files that differ), before anything is copied.
    Tests: tests/vectors/test_vectors_shards.py.
    """
    check_folder(out)
    sources: dict[str, Path] = {}
    digests: dict[str, str] = {}
    for folder in folders:
        found = [folder / op for op in OPERATIONS if (folder / op).is_dir()]
        if not found:
            raise FileError(f"{folder}: holds no vectors")
        for place in found:
            check_manifest(place)
            for stem, digest in manifest.read_digests(place).items():
                if digests.setdefault(stem, digest) != digest:
                    raise FileError(f"{place}: another digest of {stem} than an earlier folder has")
            for file in sorted(place.iterdir()):
                if file.name not in OTHER_FILES:
                    _take(sources, f"{place.name}/{file.name}", file)
    for name, file in sources.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, out / name)
    finish(out, {name.partition("/")[0] for name in sources} | {stem.partition("__")[0] for stem in digests}, digests)
    return len(sources)


def _take(sources: dict[str, Path], name: str, file: Path) -> None:
    """Note a file. Raises: FileError (another one of this name differs)."""
    known = sources.setdefault(name, file)
    if known != file and known.read_bytes() != file.read_bytes():
        raise FileError(f"{file}: differs from {known}: the builds are of different specs or versions")
