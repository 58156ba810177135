"""Real English text that is there anyway: docstrings of installed packages, as bytes. Not here: which packages (config/)."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import bounded
from emu.base.errors import ToolError
from research.train.config import Corpus

VOCABULARY = 256
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, eq=False)
class Text:
    """Text as bytes, split by file. digest: SHA-256 of all of it.   versions: the packages and theirs."""

    train: NDArray[np.uint8]
    validation: NDArray[np.uint8]
    digest: str
    versions: str


@bounded(2)
def read_corpus(corpus: Corpus) -> Text:
    """Return the docstrings of packages: files by path, docstrings in their order, each text once; every n-th file is for validation.

    Raises: ToolError (a package is missing).
    """
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    total = hashlib.sha256()
    seen: set[str] = set()
    place = 0
    for name, path in _files(corpus.packages):
        text = "\n\n".join(one for one in _docstrings(path) if not (one in seen or seen.add(one)))  # type: ignore[func-returns-value]
        if text:
            data = f"{text}\n\n".encode()
            total.update(f"{name}\n".encode() + data)
            parts[place % corpus.validation_every == corpus.validation_every - 1].append(data)
            place += 1
    split = [np.frombuffer(b"".join(part), np.uint8) for part in parts]
    return Text(split[0], split[1], total.hexdigest(), ", ".join(f"{name} {version(name)}" for name in corpus.packages))


def mismatch(corpus: Corpus, text: Text) -> str | None:
    """Return one line that says the text is not the one of the configuration, or None."""
    if text.digest == corpus.digest:
        return None
    digests = f"digest {text.digest[:16]}, the configuration says {corpus.digest[:16]}"
    return f"the text of {text.versions} has {digests}: losses will differ a little; install the packages of constraints.txt"


def _files(packages: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Yield (package/path, file) of every module but those of tests."""
    for package in packages:
        found = find_spec(package)
        if found is None or found.origin is None:
            raise ToolError(f"package {package} is missing: its docstrings are the text: pip install {package}")
        root = Path(found.origin).parent
        for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
            inside = path.relative_to(root)
            if "tests" not in inside.parts:
                yield f"{package}/{inside.as_posix()}", path


def _docstrings(path: Path) -> Iterator[str]:
    tree: Any = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text
