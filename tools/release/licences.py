"""The licences of what an SBOM lists: `python -m tools.release.licences SBOM.json --out FILE`.

Reads CycloneDX JSON. Exit codes: 0 each component says one that is known here, 1 one does not, 2 misuse or a bad file.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from emu.base.atomic import write_text
from emu.base.errors import EmuError, FileError
from emu.base.inputs import read_json

# SPDX ids under which a library may be used beside a program of any licence, and their names in the classifiers and free texts of metadata
KNOWN: Final = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0",
    "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
NAMES: Final = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "MIT License": "MIT",
}


def main(words: Sequence[str] | None = None) -> int:
    """Write the list, print what is not known; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.release.licences", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sbom", metavar="SBOM.json", type=Path)
    parser.add_argument("--out", metavar="FILE", type=Path, help="Where the list goes; default: it is printed.")
    given = parser.parse_args(words)
    try:
        rows = sorted(components(read_json(given.sbom)))
        if not rows:
            raise FileError(f"{given.sbom}: lists no component")
        text = "".join(f"{name} {version}: {', '.join(licences) or 'says none'}\n" for name, version, licences in rows)
        if given.out:
            write_text(given.out, text, force=True)
        else:
            print(text, end="")
    except (EmuError, OSError, json.JSONDecodeError) as error:
        print(f"emu: tools.release.licences: {error}", file=sys.stderr)
        return 2
    wrong = [row for row in rows if not any(allowed(licence) for licence in row[2])]
    for name, version, licences in wrong:
        print(f"{name} {version}: {', '.join(licences) or 'says no licence'}: read its licence, then name it in tools/release/licences.py")
    print(f"{len(rows)} components, {len(wrong)} with a licence that is not known here")
    return int(bool(wrong))


def components(sbom: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield name, version and licences (SPDX ids, expressions, names) of every component. Raises: FileError (no CycloneDX)."""
    try:
        if sbom["bomFormat"] != "CycloneDX":
            raise KeyError("bomFormat")
        for each in sbom.get("components", []):
            yield each["name"], each["version"], tuple(_licences(each.get("licenses", [])))
    except (KeyError, TypeError, AttributeError) as error:
        raise FileError(f"is no SBOM of CycloneDX: {error!r}") from None


def _licences(listed: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in listed:
        said = each["expression"] if "expression" in each else each["license"].get("id") or each["license"].get("name", "")
        if said:
            yield said


def allowed(licence: str) -> bool:
    """Whether a licence is known: an SPDX expression of known ids, all of them for AND, one of them for OR; or a name of one."""
    licence = NAMES.get(licence, licence)
    return any(all(part.strip("() ") in KNOWN for part in re.split(r"\s+AND\s+", choice)) for choice in re.split(r"\s+OR\s+", licence))


if __name__ == "__main__":
    sys.exit(main())
