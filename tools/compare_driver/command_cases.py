"""The command line: what it prints, its exit codes, the files it writes; each command in a forked process of its own."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import draw
import numpy as np
from command_lists import COMMANDS, ERRORS, FILES
from names import SHOWN, Names

LONGEST = 200_000
DRAWN = re.compile(r"_[a-z0-9_]{8}\b")


def answers(group: str, names: Names, folder: Path) -> dict[str, Any]:
    """Return command line -> exit code, output, error lines, files; or, of the vectors, file -> sha256."""
    folder.mkdir(parents=True, exist_ok=True)
    if group == "vectors":
        return vectors(folder)
    write_inputs(folder)
    found = {}
    for line in list(commands(names)) if group == "commands" else ERRORS:
        found[line] = run(spelt(line, names), folder)
    return found


def commands(names: Names) -> list[str]:
    """Return the command lines, with those that show every object of a kind."""
    found = list(COMMANDS)
    for kind in SHOWN:
        shown = " ".join(f"<{kind}>/{name}" for name in names.ids(kind))
        found += [f"show --json {shown}", f"show {shown}"]
    return found


def spelt(line: str, names: Names) -> list[str]:
    """Return the words of a line in the spelling of this build: <numpy> is an engine, <policy> a kind, <policies> its plural."""
    words = {f"<{engine}>": word for engine, word in names.engines.items()}
    words |= {f"<{kind}>": names.kinds.get(kind, kind) for kind in SHOWN}
    words["<policies>"] = "policies" if names.kinds["policy"] == "policy" else "conversions"
    for short, word in words.items():
        line = line.replace(short, word)
    return shlex.split(line)


def write_inputs(folder: Path) -> None:
    """Write the tensors, logs and targets that commands read."""
    from safetensors.numpy import save_file

    x = draw.normals("commands", (8, 64), 3)
    np.save(folder / "x.npy", x)
    np.save(folder / "codes.npy", draw.integers("commands", 64, 8))
    np.save(folder / "ints.npy", np.arange(6))
    np.save(folder / "bad_shape.npy", draw.normals("bad", (3, 10)))
    np.savez(folder / "two.npz", first=x, second=x[:4])
    save_file({"w": x, "b": x[0], "half": x.astype(np.float16)}, folder / "model.safetensors")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(words: list[str], folder: Path) -> dict[str, Any]:
    """Run one command line in a forked process. Returns: its code, both outputs, and the files it wrote."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    outputs = [folder.parent / f"{folder.name}.{name}" for name in ("out", "err")]
    child = os.fork()
    if child == 0:
        _child(words, folder, outputs)
    _, status = os.waitpid(child, 0)
    texts = [path.read_text(encoding="utf-8", errors="replace")[:LONGEST] for path in outputs]
    written = [path for path in sorted(folder.rglob("*")) if path.is_file() and before.get(path) != path.stat().st_mtime_ns]
    files = {str(path.relative_to(folder)): content(path) for path in written if "__pycache__" not in path.parts}
    return {"code": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1], "files": files}


def _child(words: list[str], folder: Path, outputs: list[Path]) -> None:
    """Be the command: standard streams in files, the folder for a working directory."""
    code = 99
    try:
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(folder)
        os.environ["COLUMNS"] = "120"
        sys.argv = ["emu", *words]
        (main,) = entry_points(group="console_scripts", name="emu")
        main.load()()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException as error:
        print(f"crash: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 255)


def content(path: Path) -> str:
    """Return a file as text, or the sha256 of its bytes; of .safetensors that of each tensor, because metadata hold digests of facts."""
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        tensors = sorted(load_file(path).items())
        return "\n".join(f"{name} {x.dtype} {x.shape} {hashlib.sha256(x.tobytes()).hexdigest()}" for name, x in tensors)
    data = path.read_bytes()
    if path.suffix in (".npy", ".npz", ".mem", ".tv") or b"\0" in data:
        return hashlib.sha256(data).hexdigest()
    return data.decode(errors="replace")[:LONGEST]


def vectors(folder: Path) -> dict[str, str]:
    """Build the frozen vectors in a process of its own. Returns: file -> sha256 of every .mem and .tv."""
    code = "from importlib.metadata import entry_points as e; (m,) = e(group='console_scripts', name='emu'); m.load()()"
    words = [sys.executable, "-P", "-c", code, "vectors", "build", "--out", "built", "-q"]
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    found = {"exit code": f"{done.returncode} {done.stderr.strip()[-300:]}"}
    for path in sorted((folder / "built").rglob("*")):
        if path.suffix in (".mem", ".tv"):
            found[str(path.relative_to(folder / "built"))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
