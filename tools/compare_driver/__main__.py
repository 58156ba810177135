"""The driver of `python -m tools.compare_builds`: runs in the environment of one build and writes what that build answers as JSON.

`python -P compare_driver GROUP OUT.json [--torch] [--detail KEYS.json] [--folder DIR]`. The same file runs on the old and on the new build,
so it uses public functions alone, by names that names.py finds. Case: a key and a function that returns arrays, or refuses.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from names import Names
from numpy.typing import NDArray

GROUPS = ("decode", "convert", "quantize", "transform", "dot", "matmul", "instruction", "user", "commands", "errors", "vectors", "speed")


def digest(answer: dict[str, Any]) -> str:
    """Return the sha256 of raw bits, dtypes, shapes and names."""
    found = hashlib.sha256()
    for name, value in answer.items():
        array = np.ascontiguousarray(value) if not isinstance(value, str) else np.frombuffer(value.encode(), np.uint8)
        found.update(f"{name} {array.dtype.name} {np.shape(value)};".encode())
        found.update(array.view(np.uint8).tobytes() if array.ndim else array.tobytes())
    return found.hexdigest()[:32]


def bits_of(value: Any) -> NDArray[Any] | str:
    """Return an array as unsigned integers, so that a report can show its bits."""
    if isinstance(value, str):
        return value
    array = np.ascontiguousarray(value)
    if array.dtype.kind in "ui":
        return array.reshape(np.shape(value))
    return array.reshape(-1).view(f"u{array.dtype.itemsize}").reshape(np.shape(value))


def ask(call: Any, names: Names) -> tuple[str, dict[str, Any] | None]:
    """Return the digest of an answer, or 'refused: Class: text'; a crash is an answer too."""
    try:
        answer = call()
    except names.refusals as error:
        return f"refused: {type(error).__name__}: {error}", None
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}", None
    return digest(answer), answer


def detail(answer: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return an answer as lists of hexadecimal bits."""
    if answer is None:
        return None
    found: dict[str, Any] = {}
    for name, value in answer.items():
        bits = bits_of(value)
        if isinstance(bits, str):
            found[name] = {"shape": [], "bits": [bits]}
        else:
            found[name] = {"shape": list(bits.shape), "bits": [f"{int(item):x}" for item in bits.reshape(-1)]}
    return found


def cases_of(group: str, names: Names, folder: Path) -> Any:
    """Return the iterator over (key, function) of a group."""
    if group in ("decode", "convert"):
        import numbers_cases

        return getattr(numbers_cases, group)(names)
    if group in ("quantize", "transform"):
        import block_cases

        return getattr(block_cases, group)(names)
    if group in ("dot", "matmul", "instruction"):
        import product_cases

        return getattr(product_cases, group)(names)
    import user_cases

    return user_cases.user(names, folder)


def answers(group: str, names: Names, folder: Path, wanted: set[str] | None, match: str = "*") -> dict[str, Any]:
    """Return key -> digest or refusal of a group; with wanted, key -> the bits themselves. match: a pattern of keys."""
    if group in ("commands", "errors", "vectors"):
        import command_cases

        return command_cases.answers(group, names, folder)
    if group == "speed":
        import speed_cases

        return speed_cases.answers(names)
    found: dict[str, Any] = {}
    for key, call in cases_of(group, names, folder):
        if not fnmatchcase(key, match) or (wanted is not None and key not in wanted):
            continue
        word, answer = ask(call, names)
        if key in found:
            raise SystemExit(f"driver: two cases have the key {key}")
        found[key] = word if wanted is None else {"word": word, "bits": detail(answer)}
    return found


def main() -> None:
    """Answer one group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=(*GROUPS, "facts"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--torch", action="store_true", help="ask the torch engine too")
    parser.add_argument("--detail", type=Path, help="a JSON list of keys: write their bits instead of digests")
    parser.add_argument("--match", default="*", help="only cases whose key has this pattern")
    parser.add_argument("--folder", type=Path, default=Path(), help="an empty folder to work in")
    given = parser.parse_args()
    names = Names(torch=given.torch)
    if given.group == "facts":
        found: dict[str, Any] = names.facts()
    else:
        wanted = None if given.detail is None else set(json.loads(given.detail.read_text(encoding="utf-8")))
        found = answers(given.group, names, given.folder, wanted, given.match)
    given.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    main()
