"""Every kind of file that a command reads, damaged by chance: one clear line or an answer, never a fault of emu, and nothing half-written.

About 150 files in the default run, 1,000 more in the exhaustive one, there 100,000 with EMU_ALL=1. A find becomes a test of its own.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as save_safetensors
from support.damage import damaged

from emu.cli.main import run
from emu.spec.registry import restored

ROOT = Path(__file__).resolve().parents[2]
RECIPE = "mxfp4_torchao_floor"
VALUES = np.linspace(-7, 7, 128, dtype=np.float32).reshape(2, 64)
SUITE = "convert__bf16_to_e1m2__nvidia_rne__smoke"
PROBE = ["probe", "hopper_fp8", "--a-format", "e4m3", "--b-format", "e4m3", "--depth", "1"]
CHECK = ["check", "--against", "convert/e1m2/rne/nvidia"]
COMPARE = ["compare-datapaths", "blackwell_mxf4nvf4_b16_ue4m3", "nv_like_exact/e2m1xe2m1/ue4m3/16", "--rows", "2"]
CODES = {0, 1, 2, 3, 5}
SECONDS = 120  # a case that takes longer hangs
SPACE = 6 << 30  # bytes of address space above what the process has: more is a header believed

Words = Callable[[Path, Path], list[Any]]


def _npy(folder: Path) -> Path:
    np.save(folder / "a.npy", VALUES)
    return folder / "a.npy"


def _npz(folder: Path) -> Path:
    np.savez(folder / "a.npz", w=VALUES, v=VALUES[0])
    return folder / "a.npz"


def _safetensors(folder: Path) -> Path:
    (folder / "a.safetensors").write_bytes(save_safetensors({"w": VALUES, "v": VALUES[0]}))
    return folder / "a.safetensors"


def _quantized(folder: Path) -> Path:
    assert run(["quantize", str(_npy(folder)), "--recipe", RECIPE, "-o", str(folder / "q.safetensors"), "--quiet"]) == 0
    return folder / "q.safetensors"


def _mixed(folder: Path) -> Path:
    """By two recipes, one of them of 8 bits."""
    words = ["--recipe", RECIPE, "--recipe-for", "v=mxfp8_e4m3_te", "-o", str(folder / "q.safetensors"), "--quiet"]
    assert run(["quantize", str(_safetensors(folder)), *words]) == 0
    return folder / "q.safetensors"


def _checkpoint(name: str, file: str) -> Callable[[Path], Path]:
    def unpack(folder: Path) -> Path:
        text = (ROOT / "tests" / "checkpoint" / "files" / f"{name}.json").read_text(encoding="utf-8")
        for part, content in json.loads(text)["files"].items():
            (folder / part).write_bytes(bytes.fromhex(content))
        return folder / file

    return unpack


def _copy(source: str) -> Callable[[Path], Path]:
    def copy(folder: Path) -> Path:
        if (ROOT / source).suffix == ".yaml" and "spec" in Path(source).parts:
            top = ROOT / source[: source.index("/spec/") + 5]
            shutil.copytree(top, folder / "spec")
            return folder / "spec" / (ROOT / source).relative_to(top)
        for beside in (ROOT / source).parent.glob(f"{Path(source).name.partition('.')[0]}.*"):
            shutil.copy(beside, folder / beside.name)
        return folder / Path(source).name

    return copy


def _suite(suffix: str) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        out = folder / "vectors"
        assert run(["vectors", "build", "--suite", "smoke", "--contract", "convert/e1m2/rne/nvidia", "--out", str(out), "--quiet"]) == 0
        return next(path for path in sorted(out.rglob("*")) if path.name.endswith(suffix))

    return build


def _log(folder: Path) -> Path:
    rows = (ROOT / "vectors" / "convert" / f"{SUITE}.tv").read_text(encoding="ascii").splitlines()[:9]
    inputs = [(number, *row.split()[1:3]) for number, row in enumerate(rows, 1)]
    lines = [f"MISMATCH suite={SUITE} tc={number} out=y in={x} want={y} got={int(y, 16) ^ 1:x} mask=f" for number, x, y in inputs]
    (folder / "bench.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "bench.log"


def _answers(folder: Path) -> Path:
    assert run([*PROBE, "-o", str(folder / "probe"), "--quiet"]) == 0
    path = folder / "probe" / "answers.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("????????", "3f800000"), encoding="utf-8")
    return path


def _scales(folder: Path) -> Path:
    (folder / "s.safetensors").write_bytes(save_safetensors({"s": np.arange(512, dtype=np.uint8).reshape(64, 8)}))
    return folder / "s.safetensors"


def _port_map(folder: Path) -> Path:
    shutil.copytree(ROOT / "vectors" / "bench" / "examples", folder / "map")
    return folder / "map" / "two_beats.yaml"


def _results(folder: Path) -> Path:
    assert run([*CHECK, "--suite", "directed", "--emit", str(folder / "in.safetensors"), "--quiet"]) == 0
    return folder / "in.safetensors"


def _folder_of(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.name == "spec")


# kind: (how a good file is made, the words of the command that reads a damaged one and may write OUT)
KINDS: dict[str, tuple[Callable[[Path], Path], Words]] = {
    "npy": (_npy, lambda path, out: ["quantize", path, "--recipe", RECIPE, "-o", out]),
    "npz": (_npz, lambda path, out: ["quantize", path, "--recipe", RECIPE, "-o", out]),
    "safetensors": (_safetensors, lambda path, out: ["quantize", path, "--recipe", RECIPE, "-o", out]),
    "quantized": (_quantized, lambda path, out: ["dequantize", path, "-o", out]),
    "quantized by two": (_mixed, lambda path, out: ["dequantize", path, "-o", out]),
    "npy of values": (_npy, lambda path, out: ["convert", "e2m1", path, "--out", out]),
    "layout": (_scales, lambda path, out: ["layout", "convert", path, "--from", "row_major", "--to", "sf128x4", "-o", out]),
    "data": (_npy, lambda path, _: [*COMPARE, "--data", path]),
    "store": (_checkpoint("modelopt_nvfp4", "model.safetensors"), lambda path, _: ["verify-checkpoint", path.parent]),
    "store's config": (_checkpoint("modelopt_nvfp4", "hf_quant_config.json"), lambda path, _: ["verify-checkpoint", path.parent]),
    "converted store": (
        _checkpoint("modelopt_nvfp4", "model.safetensors"),
        lambda path, out: ["convert-checkpoint", path.parent, "--to", "compressed_tensors_nvfp4", "--round-factor", "--out", out],
    ),
    "identified store": (_checkpoint("modelopt_nvfp4", "model.safetensors"), lambda path, _: ["identify", "--quantized", path.parent]),
    "gguf": (_checkpoint("gguf_mxfp4", "model.gguf"), lambda path, _: ["verify-checkpoint", path.parent]),
    "format": (_copy("docs/tutorial_format/spec/format/e2m1_nan.yaml"), lambda path, _: ["show", path.stem, "--spec", _folder_of(path)]),
    "datapath": (_copy("docs/tutorial_chip/spec/datapath/mychip.yaml"), lambda path, _: ["show", path.stem, "--spec", _folder_of(path)]),
    "port map": (_port_map, lambda path, _: ["rtl", "wrap", path]),
    "rows": (_suite(".tv"), lambda path, _: ["vectors", "cover", path]),
    "rows of a folder": (_suite(".tv"), lambda path, _: ["vectors", "verify", path.parents[1], "--engine", "numpy"]),
    "suite": (_suite(".json"), lambda path, _: ["vectors", "verify", path.parents[1], "--engine", "numpy"]),
    "memory": (_suite(".mem"), lambda path, _: ["vectors", "verify", path.parents[1], "--engine", "numpy"]),
    "manifest": (_suite("MANIFEST.sha256"), lambda path, _: ["vectors", "verify", path.parents[1], "--engine", "numpy"]),
    "log": (_log, lambda path, _: ["explain", "mismatch", path]),
    "answers": (_answers, lambda path, _: [*PROBE, "--answers", path]),
    "results": (_results, lambda path, _: [*CHECK, "--results", path]),
    "sweeps": (_copy("docs/evidence/sweeps.json"), lambda path, _: ["sweep", "--check", "-o", path]),
}
SHARES = {"format": 5, "datapath": 5, "store's config": 5, "answers": 10, "port map": 10}  # a fifth, a tenth of the files of the others
SHARES |= dict.fromkeys(("rows of a folder", "suite", "memory", "manifest", "log"), 20)  # each of their files takes seconds
SUFFIXES = {"npy of values": ".npy", "converted store": ""}


@contextmanager
def bounded() -> Iterator[None]:
    """A case that hangs or asks for the memory that its header claims ends as a failure."""

    def hang(*_: object) -> None:
        raise TimeoutError(f"the command did not end in {SECONDS} s")

    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before, old = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGALRM, hang)
    resource.setrlimit(resource.RLIMIT_AS, (held + SPACE, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        resource.setrlimit(resource.RLIMIT_AS, before)


def judged(words: list[Any], out: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run a command on a damaged file; its exit code, after everything that must hold of it did."""
    with bounded(), restored():
        code = run([str(word) for word in words])
    said = capsys.readouterr().err
    assert code in CODES, said
    assert "please report" not in said and "Traceback" not in said and "out of memory" not in said, said
    if code == 2:
        assert said.splitlines()[-1].startswith("emu: ") and len(said.splitlines()[-1]) < 1000, said
        assert sum(line.startswith("emu: ") for line in said.splitlines()) >= 1
        assert not out.exists(), "a part was written"
    return code


def fuzz(kind: str, count: int, seed: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> Counter[int]:
    """Damage the good file of a kind `count` times. Returns: how often each exit code came."""
    make, words = KINDS[kind]
    path, out = make(folder), folder / f"out{SUFFIXES.get(kind, '.safetensors')}"
    good, draw, codes = path.read_bytes(), np.random.default_rng([seed, *kind.encode()]), Counter[int]()
    capsys.readouterr()
    assert judged(words(path, out), out, capsys) != 2, "the undamaged file is refused"
    _cleared(out)
    for number in range(count):
        bad = damaged(good, draw)
        path.write_bytes(bad)
        try:
            codes[judged(words(path, out), out, capsys)] += 1
        except BaseException:
            print(f"{kind}, seed {seed}, case {number}: {bad!r:.2000}")
            raise
        _cleared(out)
    return codes


def _cleared(out: Path) -> None:
    """Remove what a command wrote."""
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)


@pytest.mark.parametrize("total", [150, pytest.param(100_000 if os.environ.get("EMU_ALL") else 1000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_or_read(kind, total, tmp_path, capsys):
    count = total // (len(KINDS) - len(SHARES)) // SHARES.get(kind, 1) + 1
    codes = fuzz(kind, count, total, tmp_path, capsys)
    print(f"{kind}: {codes.total()} damaged files, exit codes {dict(codes)}")
    assert codes.total() == count
    assert codes[2] > 0, "no damage was noticed: the command may not read the file"


def test_a_fault_of_a_command_is_a_find(tmp_path, capsys, monkeypatch):
    """The judgement can fail: a reader that raises what nobody planned for, and a writer that leaves a part."""
    monkeypatch.setattr("emu.files.tensors.TensorFile.read", lambda *_: {}["a bug"])
    with pytest.raises(AssertionError, match="please report"):
        fuzz("npy", 1, 1, tmp_path, capsys)
    monkeypatch.undo()
    (tmp_path / "out").write_text("a part")
    with pytest.raises(AssertionError, match="a part was written"):
        judged(["quantize", tmp_path / "none.npy", "--recipe", RECIPE], tmp_path / "out", capsys)
