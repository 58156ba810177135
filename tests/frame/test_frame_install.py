"""The distribution: sdist -> wheel -> a new environment, used from another directory; `-e .`; a missing compiler ends in one line.

Everything is built in a copy of the checkout, so that a test run leaves the tree as it was. The new environments see the libraries of
this one through links; emu itself comes only from what was built.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from support.whole import ALL

pytestmark = [pytest.mark.install, pytest.mark.exhaustive]  # compiles everything; the default run is against a wheel already

CACHES = shutil.ignore_patterns(
    ".git", ".*_cache", ".hypothesis", ".venv*", "__pycache__", "build", "dist", "*.egg-info", "*.so", "*.o", "*.a", "*.pyc",
    "emu_ref",
)  # fmt: skip
TOP = {
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "README.md",
    "constraints.txt", "pyproject.toml", "setup.py",
}  # fmt: skip
GRID = "[0, .5, 1, 1.5, 2, 3, 4, 6, -.5, -1, -1.5, -2, -3, -4, -6, 0]"
QUANTIZE = f"""
import json, numpy as np, emu
x = np.array([{GRID}], dtype=np.float32)
print(json.dumps({{"file": emu.__file__, "codes": emu.quantize(x, "nvfp4_te_ref").codes.tolist()}}))
"""


def command(*args, cwd, check=True, **variables):
    """Run a program with a clean environment; its output is text."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "EMU_", "VIRTUAL_ENV"))}
    done = subprocess.run([str(a) for a in args], cwd=cwd, env={**environment, **variables}, capture_output=True, text=True)
    if check and done.returncode != 0:
        pytest.fail(f"{args[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}", pytrace=False)
    return done


def build(kind, source, out, **options):
    """Call one hook of the build backend (sdist or wheel) in a source tree; the path of what it made."""
    out.mkdir(parents=True, exist_ok=True)
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    command(sys.executable, "-W", "ignore", "-c", code, out, cwd=source, **options)
    (made,) = out.iterdir()
    return made


def environment(path):
    """A new environment without pip that sees the libraries of this one, all but emu; its bin folder."""
    venv.create(path, with_pip=False, symlinks=True)
    libraries = path / "libraries"
    libraries.mkdir()
    for here in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(here).iterdir():
            if not entry.name.startswith(("emu", "fp4emu", "__editable__")):
                (libraries / entry.name).symlink_to(entry)
    paths = {"base": str(path), "platbase": str(path)}
    Path(sysconfig.get_path("purelib", "venv", paths), "libraries.pth").write_text(f"{libraries}\n", encoding="utf-8")
    return Path(sysconfig.get_path("scripts", "venv", paths))


def install(scripts, *what, cwd):
    command(
        sys.executable, "-m", "pip", "--python", scripts / "python", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation",
        "--ignore-installed", *what, cwd=cwd,
    )  # fmt: skip


@pytest.fixture(scope="module")
def source(checkout, tmp_path_factory):
    """A copy of the checkout without caches and build products."""
    return Path(shutil.copytree(checkout, tmp_path_factory.mktemp("tree") / "source", ignore=CACHES))


@pytest.fixture(scope="module")
def sdist(source, tmp_path_factory):
    return build("sdist", source, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel built from the unpacked sdist, so the sdist is known to be complete."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # Python 3.11.2 has no filters
    (tree,) = folder.iterdir()
    compiler = folder / "cc"  # what is looked at here is what the wheel holds, not how fast it is: optimizing takes most of the time
    compiler.write_text(
        '#!/bin/sh\nfor word; do shift; [ "$word" = -O3 ] && word=-O0; set -- "$@" "$word"; done\nexec cc "$@"\n', encoding="utf-8"
    )
    compiler.chmod(0o755)
    return build("wheel", tree, tmp_path_factory.mktemp("wheel"), **({} if ALL else {"CC": str(compiler)}))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The bin folder of a new environment with the wheel in it."""
    scripts = environment(tmp_path_factory.mktemp("installed") / "venv")
    install(scripts, wheel, cwd=wheel.parent)
    return scripts


def test_sdist_holds_the_whole_tree(source, sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("emu", "spec", "c_ref", "tools", "research", "tests", "vectors", "docs", ".ci")
    wanted = {str(p.relative_to(source)) for folder in folders for p in (source / folder).rglob("*") if p.is_file()}
    assert (wanted | TOP) - names == set()


def test_wheel_holds_code_spec_and_c(source, wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        meta = {name.partition(".dist-info/")[2] for name in archive.namelist() if ".dist-info/" in name}
    code = {".py", ".pyi", ".c", ".h", ".cu"}
    wanted = {str(p.relative_to(source)) for p in (source / "emu").rglob("*") if p.suffix in code} | {"emu/py.typed"}
    wanted |= {f"emu/_spec/{p.relative_to(source / 'spec')}" for p in (source / "spec").rglob("*") if p.suffix in {".yaml", ".json"}}
    wanted |= {f"emu/_c_ref/{p.relative_to(source / 'c_ref')}" for p in (source / "c_ref").rglob("*") if p.is_file()}
    kit = source / "vectors" / "bench"
    wanted |= {f"emu/_bench/{p.relative_to(kit)}" for p in kit.rglob("*") if p.is_file()}
    data = {".json", ".yaml", ".j2", ".sh", ".js", ".css", ".html"}
    wanted |= {str(p.relative_to(source)) for p in (source / "emu").rglob("*") if p.suffix in data}
    wanted |= {"emu/engines/c_ref/_c.abi3.so", "emu/engines/native/_kernels.abi3.so"}
    assert names == wanted
    assert wheel.name.startswith("fp4emu-")
    assert "-cp311-abi3-" in wheel.name
    assert {"licenses/LICENSE", "entry_points.txt"} <= meta


def test_wheel_runs_from_another_directory(installed, tmp_path):
    listed = command(installed / "emu", "list", cwd=tmp_path).stdout
    assert {"e2m1", "rne", "nvfp4_te_ref"} <= set(listed.replace(",", " ").split())
    result = json.loads(command(installed / "python", "-c", QUANTIZE, cwd=tmp_path).stdout)
    assert Path(result["file"]).is_relative_to(installed.parent)
    code = "from emu.rtl.simulate import simulator; print(simulator.bench('convert'))"
    where = Path(command(installed / "python", "-c", code, cwd=tmp_path).stdout.strip())
    assert where.is_relative_to(installed.parent)
    assert {path.name for path in where.parent.iterdir()} >= {"convert.sv", "bench.svh", "judge.sh", "Makefile", "rtl", "wrap"}
    assert result["codes"] == [[0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 0]]


def test_wheel_runs_in_the_clone_whose_sources_hide_it(installed, source):
    result = json.loads(command(installed / "python", "-B", "-c", QUANTIZE, cwd=source).stdout)
    assert Path(result["file"]).is_relative_to(installed.parent) and result["codes"][0][7] == 7


def test_wheel_quantizes_a_file_and_reads_it_back(installed, tmp_path):
    code = f"import numpy as np; np.save('x.npy', np.array([{GRID} * 2] * 3, dtype=np.float32))"
    command(installed / "python", "-c", code, cwd=tmp_path)
    command(installed / "emu", "quantize", "x.npy", "--recipe", "mxfp4_torchao_floor", "--out", "q.safetensors", cwd=tmp_path)
    command(installed / "emu", "dequantize", "q.safetensors", "--out", "back.npy", cwd=tmp_path)
    code = "import numpy as np; x, y = np.load('x.npy'), np.load('back.npy'); print(y.shape, y.dtype, x.tobytes() == y.tobytes())"
    assert command(installed / "python", "-c", code, cwd=tmp_path).stdout.split() == ["(3,", "32)", "float32", "True"]


def test_wheel_writes_pages_of_own_objects(installed, tmp_path):
    own = tmp_path / "mine" / "format" / "mine_e2m1.yaml"
    own.parent.mkdir(parents=True)
    facts = 'class: "float", signed: "yes", exp_bits: 2, frac_bits: 1, bias: 3, subnormals: "yes"'
    facts += ', inf: "none", nan: "none", neg_zero: "yes"'
    text = f'kind: "format"\nid: "mine_e2m1"\ntitle: "mine"\nstatus: "proposed"\nfacts: {{{facts}}}\nopen: []\nsources: []\n'
    own.write_text(text, encoding="utf-8")
    done = command(installed / "emu", "docs", "build", "--spec", "mine", "--out", "pages", cwd=tmp_path)
    assert done.stdout.splitlines() == ["pages/contents.md", "pages/format/mine_e2m1.md"]
    assert "max | 3/2 |" in (tmp_path / "pages" / "format" / "mine_e2m1.md").read_text(encoding="utf-8")


def test_wheel_holds_no_tools_and_no_research(installed, tmp_path):
    code = "import importlib.util as u; print([u.find_spec(name) for name in ('tools', 'research')])"
    assert command(installed / "python", "-c", code, cwd=tmp_path).stdout.strip() == "[None, None]"


@pytest.mark.cases(0, 0)
def test_editable_install_sees_a_new_yaml_at_once(source, tmp_path):
    tree = Path(shutil.copytree(source, tmp_path / "tree"))
    scripts = environment(tmp_path / "venv")
    install(scripts, "-e", tree, cwd=tmp_path)
    where = command(scripts / "python", "-c", "import emu; print(emu.__file__)", cwd=tmp_path).stdout.strip()
    assert Path(where) == tree / "emu" / "__init__.py"
    assert "e2m1_twin" not in command(scripts / "emu", "list", cwd=tmp_path).stdout
    text = (tree / "spec" / "format" / "e2m1.yaml").read_text(encoding="utf-8").splitlines()
    twin = [line.replace('id: "e2m1"', 'id: "e2m1_twin"') for line in text if not line.startswith("aliases:")]
    (tree / "spec" / "format" / "e2m1_twin.yaml").write_text("\n".join(twin) + "\n", encoding="utf-8")
    assert "e2m1_twin" in command(scripts / "emu", "list", cwd=tmp_path).stdout


def test_missing_compiler_ends_in_one_line(source, tmp_path):
    tree = Path(shutil.copytree(source, tmp_path / "tree"))
    done = command(sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", cwd=tree, check=False, CC="no_such_compiler")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("emu: C extension: ")
    assert done.stderr.splitlines()[-1].endswith(": install a C compiler and the Python headers (Debian: gcc python3-dev)")
    assert "Traceback" not in done.stderr


def test_a_yaml_deleted_from_the_tree_is_not_shipped(source, tmp_path):
    tree = Path(shutil.copytree(source, tmp_path / "tree"))
    shipped = []
    for _ in range(2):
        command(sys.executable, "-W", "ignore", "setup.py", "-q", "build_py", cwd=tree)
        shipped.append({path.name for path in (tree / "build").rglob("_spec/format/*.yaml")})
        (tree / "spec" / "format" / "e1m2.yaml").unlink(missing_ok=True)
    assert shipped[0] - shipped[1] == {"e1m2.yaml"}
    assert "e2m1.yaml" in shipped[1]
