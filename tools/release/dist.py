"""Wheel and sdist, built twice in folders of other names, must be the same bytes: `python -m tools.release.dist --out DIR`.

The sdist is made of the files that git knows and is written again with one time, owner and order; the wheel is built from the unpacked
sdist, so that the sdist is known to be complete. The time of all members is that of the last commit (SOURCE_DATE_EPOCH overrules it).
Exit codes: 0 equal, DIR holds both and SHA256SUMS; 1 the builds differ or fail; 2 misuse.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emu.base.atomic import folder_beside, write_text
from emu.base.errors import EmuError, FileError
from tools.processes import git
from tools.rings.tree import files_of

FOLDERS: Final = ("a", "another-and-longer-name")  # a path in the output would differ
_SDIST: Final = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


def main(words: Sequence[str] | None = None) -> int:
    """Build twice, compare, keep; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release.dist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="The new folder; one of an earlier run is replaced.")
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path(), help="The source tree; default: this folder.")
    given = parser.parse_args(words)
    if given.out.exists() and not (given.out / "SHA256SUMS").is_file():
        print(f"emu: tools.release.dist: {given.out}: exists, and is no folder of an earlier run: name another", file=sys.stderr)
        return 2
    try:
        epoch = os.environ.get("SOURCE_DATE_EPOCH") or git(given.root, "log", "-1", "--format=%ct").strip()
        with tempfile.TemporaryDirectory() as name:
            builds = [built(given.root, Path(name, folder), epoch) for folder in FOLDERS]
            found = [line for pair in zip(*builds, strict=True) for line in differences(*pair)]
            if found:
                print("\n".join(found))
                print(f"{len(found)} differences between two builds of one tree")
                return 1
            _keep(builds[0], given.out)
    except EmuError as error:
        print(f"emu: tools.release.dist: {error}", file=sys.stderr)
        return 1
    print((given.out / "SHA256SUMS").read_text(encoding="utf-8"), end="")
    print(f"{len(builds[0])} files, built twice with equal bytes")
    return 0


def built(root: Path, place: Path, epoch: str) -> list[Path]:
    """Return the sdist and the wheel of a source tree, made in a new folder.

    place: the new folder.   epoch: seconds, the time of every member.   Raises: FileError (a build fails; with its last lines).
    """
    tree, out = place / "tree", place / "out"
    out.mkdir(parents=True)
    for path in files_of(root):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, tree / path)
        (tree / path).chmod(0o755 if os.access(root / path, os.X_OK) else 0o644)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    _run([sys.executable, "-P", "-W", "ignore", "-c", _SDIST, str(out)], tree, environment)
    (sdist,) = out.iterdir()
    sdist.write_bytes(same_everywhere(sdist.read_bytes(), int(epoch)))
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "unpacked")  # of our own making; Python 3.11.2 has no filters
    (source,) = (place / "unpacked").iterdir()
    environment["CFLAGS"] = f"{os.environ.get('CFLAGS', '')} -ffile-prefix-map={source}=."  # debugging facts name the folder
    wheel = [sys.executable, "-P", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-cache-dir", "-w", str(out), "."]
    _run(wheel, source, environment)
    return sorted(out.iterdir())


def _run(command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        raise FileError(f"{folder}: the build ends with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def same_everywhere(packed: bytes, epoch: int) -> bytes:
    """Return a .tar.gz with the same files, sorted, with one time and no owner; modes are 755 for what may be run, and 644."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(packed)) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname, member.pax_headers = epoch, 0, 0, "", "", {}
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return gzip.compress(plain.getvalue(), mtime=epoch)


def differences(one: Path, other: Path) -> list[str]:
    """Return a line for each member in which two archives differ, or one for the whole; empty when their bytes are equal."""
    if one.name != other.name:
        return [f"{one.name}, {other.name}: other names"]
    if one.read_bytes() == other.read_bytes():
        return []
    mine, theirs = _members(one), _members(other)
    found = [f"{one.name}: {name}" for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
    return found or [f"{one.name}: the same members, in other words of the archive (times, modes, order)"]


def _members(path: Path) -> dict[str, bytes]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(path) as packed:
        return {each.name: file.read() for each in packed if (file := packed.extractfile(each))}


def _keep(files: Sequence[Path], out: Path) -> None:
    """Put the files and their digests where they are asked for, all at once."""
    with folder_beside(out) as new:
        for path in files:
            shutil.copy(path, new)
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        write_text(new / "SHA256SUMS", sums)
        if out.exists():
            shutil.rmtree(out)
        new.rename(out)


if __name__ == "__main__":
    sys.exit(main())
