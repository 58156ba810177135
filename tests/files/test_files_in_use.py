"""No result of a command takes the place of what it reads: of every command that click knows, by every name of the file, with --force."""

import os
import re
import shutil
import sys

import click
import numpy as np
import pytest
from safetensors.numpy import save
from support.writing import EVERY, RECIPE, ROOT, WRITING, content

from emu.base.atomic import check_target, write_text
from emu.base.in_use import one_command, reads
from emu.check.targets.files_of import files_of
from emu.cli.main import run
from emu.cli.settings import InputPath, Kernel
from emu.spec.registry import restored

PAIRS = [
    pytest.param(name, command, out, given, id="-".join((*name, out.name, given.name)))
    for name, command, out in WRITING
    for given in command.params
    if isinstance(given.type, InputPath | Kernel) or given.name == "spec"
]
WRITING_OF = {name: [out for of, _, out in WRITING if of == name] for name, _, _ in WRITING}
LINE = "MISMATCH suite=decode__e2m1_to_fp32__exact__all tc=1 out=fp32 in=0 want=00000000 got=00000001 mask=ffffffff\n"
WAYS = ("same", "dotted", "symbolic", "hard", "folder")


def other_name(path, way):
    """Another name of a file, or the folder that holds it."""
    if way == "dotted":
        return os.path.join(path.parent, ".", path.name)
    if way in ("symbolic", "hard"):
        link = path.parent.parent / f"link{path.suffix}"
        link.symlink_to(path) if way == "symbolic" else link.hardlink_to(path)
        return link
    return path if way == "same" else path.parent


def words_of(name, command, values):
    """A command line that click takes. values: parameter -> its word; arguments and what is required get any."""
    options, arguments = [], []
    for item in command.params:
        word = values.get(item)
        if word is None and (item.required or (isinstance(item, click.Argument) and item.nargs == 1)):
            kind = item.type
            word = kind.choices[0] if isinstance(kind, click.Choice) else "absent"
        if word is not None:
            (arguments if isinstance(item, click.Argument) else options).extend(
                [word] if isinstance(item, click.Argument) else [item.opts[0], word]
            )
    force = ["--force"] if any(item.name == "force" for item in command.params) else []
    return [str(word) for word in (*name, *options, *force, *arguments)]


def refused(capsys, words, folder):
    """Demand exit code 2, one line, and every byte below a folder as it was."""
    before = content(folder)
    code = run([*map(str, words)])
    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (2, 1), said
    assert re.search("what is read|two results of this command|is a (folder|directory)", said)
    assert content(folder) == before
    return said


@pytest.mark.cases(50)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "command", "out", "given"), PAIRS)
def test_no_output_takes_the_place_of_an_input(tmp_path, capsys, name, command, out, given, way):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / ("rne.yaml" if given.name == "spec" else "k.py")
    path.write_bytes((ROOT / "spec" / "rounding" / "rne.yaml").read_bytes())
    target = other_name(path, way)
    word = path.parent if given.name == "spec" else f"{path}:f" if isinstance(given.type, Kernel) else path
    refused(capsys, words_of(name, command, {out: target, given: word}), tmp_path)


@pytest.mark.parametrize(("name", "command", "out", "given"), [pair for pair in PAIRS if pair.values[3].type.__class__ is InputPath])
def test_no_output_is_an_input_folder(tmp_path, capsys, name, command, out, given):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_bytes(b"what it holds")
    refused(capsys, words_of(name, command, {out: tmp_path / "in", given: tmp_path / "in"}), tmp_path)


def test_each_path_of_a_command_says_what_it_is():
    plain = [(*name, item.name) for name, command in EVERY for item in command.params if type(item.type) is click.Path]
    assert len(WRITING) > 20 and not plain


@pytest.mark.parametrize(
    ("name", "command"),
    {name: (name, command) for name, command, out in WRITING if out.multiple or out is not WRITING_OF[name][0]}.values(),
)
def test_two_outputs_have_two_names(tmp_path, capsys, name, command):
    outs = WRITING_OF[name]
    (tmp_path / "in").mkdir()
    words = words_of(name, command, {outs[0]: tmp_path / "in" / "one.svg", outs[-1]: tmp_path / "in" / ".." / "in" / "one.svg"})
    refused(capsys, words, tmp_path)


# Inputs that a command line does not name as paths: what a folder holds, a map names, a word means.


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with an input of every kind; the working folder too."""
    folder = tmp_path / "place"
    (folder / "m" / "x").mkdir(parents=True)
    (folder / "spec").mkdir()
    (folder / "m" / "x" / "a.safetensors").write_bytes(save({"w": np.ones((4, 32), np.float32)}))
    np.save(folder / "a.npy", np.ones((4, 32), np.float32))
    text = (ROOT / "spec" / "format" / "e2m1.yaml").read_text().replace('"e2m1"', '"own"')
    (folder / "spec" / "own.yaml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("aliases")) + "\n")
    shutil.copytree(ROOT / "vectors" / "bench" / "examples", folder / "examples")
    (folder / "examples" / "beside.svh").write_text("// included\n")
    design = folder / "examples" / "fp4_pack2.sv"
    design.write_text('`include "beside.svh"\n' + design.read_text())
    shutil.copytree(
        ROOT / "vectors" / "decode",
        folder / "decode",
        ignore=lambda _, names: [n for n in names if "decode__e2m1_to_fp32__exact__" not in n],
    )
    (folder / "kernel.py").write_text("def f(x):\n    raise SystemExit(9)\n")
    (folder / "pack").mkdir()
    (folder / "pack" / "__init__.py").write_text("")
    (folder / "pack" / "inner.py").write_text("def g():\n    from .deep import h\n")
    (folder / "pack" / "deep.py").write_text("import last\n")
    (folder / "last.py").write_text("raise SystemExit(9)\n")
    (folder / "imports.py").write_text("import os, numpy\nfrom pack import inner\nimport_module('named')\ndef f(x):\n    pass\n")
    (folder / "named.py").write_text("no Python")
    (folder / "log").write_text(LINE)
    (folder / "shipped").mkdir()
    (folder / "shipped" / "e2m1.yaml").write_text("a copy: a fault of the register must not reach the files of emu")
    monkeypatch.setattr("emu.cli.main.shipped_root", lambda: folder / "shipped")
    monkeypatch.chdir(folder)
    with restored():
        yield folder


HIDDEN = {
    "quantize": (["quantize", "m", "--recipe", RECIPE, "-o"], "m/x/a.safetensors"),
    "convert": (["convert", "e2m1", "a.npy", "--out"], "a.npy"),
    "study": (["study", "bias", "--data", "a.npy", "--out"], "a.npy"),
    "descriptor": (["export", "descriptor", "--spec", "spec", "format/own", "-o"], "spec/own.yaml"),
    "shipped": (["export", "descriptor", "format/e2m1", "-o"], "shipped/e2m1.yaml"),
    "mismatch": (["explain", "mismatch", "log", "--vcd"], "log"),
    "wrap": (["rtl", "wrap", "examples/fp4_pack2.yaml", "-o"], "examples/fp4_pack2.sv"),
    "include": (["rtl", "wrap", "examples/fp4_pack2.yaml", "-o"], "examples/beside.svh"),
    "prove": (["rtl", "prove", "decode/e2m1", "examples/fp4_pack2.sv", "-o"], "examples/beside.svh"),
    "prove map": (["rtl", "prove", "--map", "examples/fp4_pack2.yaml", "-o"], "examples/fp4_pack2.sv"),
    "cover": (["vectors", "cover", "decode", "-o"], "decode/decode__e2m1_to_fp32__exact__all.mem"),
    "cover stem": (["vectors", "cover", "decode/decode__e2m1_to_fp32__exact__all.mem", "-o"], "decode/decode__e2m1_to_fp32__exact__all.tv"),
    "dot suite": (["explain", "mismatch", "log", "--vectors", ".", "--vcd"], "decode/decode__e2m1_to_fp32__exact__all.json"),
    "kernel": (["check", "py:kernel:f", "--against", "convert/e2m1/rne/nvidia", "--junit"], "kernel.py"),
    **{
        f"import {out} {target}": (["check", f"{target}:f", "--against", "convert/e2m1/rne/nvidia", "--junit"], out)
        for target, out in (
            ("imports.py", "pack/__init__.py"), ("imports.py", "pack/inner.py"), ("imports.py", "pack/deep.py"), ("imports.py", "last.py"),
            ("imports.py", "named.py"), ("py:imports", "last.py"), ("py:pack.inner", "pack/deep.py"), ("py:pack.inner", "last.py"),
        )
    },
    "program": (["check", "exec:sh -c ./kernel.py", "--against", "convert/e2m1/rne/nvidia", "--junit"], "kernel.py"),
    "library": (["check", "c:kernel.py:f", "--against", "convert/e2m1/rne/nvidia", "--junit"], "kernel.py"),
}


@pytest.mark.cases(6)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", HIDDEN)
def test_no_output_takes_the_place_of_what_is_not_named(place, capsys, case, way):
    words, out = HIDDEN[case]
    refused(capsys, [*words, other_name(place / out, way), "--force"], place.parent)


def test_input_that_is_redirected(place, capsys, monkeypatch):
    with open("log") as log:
        saved = os.dup(0)
        os.dup2(log.fileno(), 0)
        try:
            refused(capsys, ["explain", "mismatch", "-", "--vcd", "log", "--force"], place)
        finally:
            os.dup2(saved, 0)
            os.close(saved)


def test_another_file_in_the_folder_of_an_input_may_be_replaced(place, capsys):
    (place / "b.npy").write_bytes(b"old")
    (place / "spec" / "note.txt").write_bytes(b"old")
    assert run(["convert", "e2m1", "a.npy", "--out", "b.npy", "--force"]) == 0
    assert run(["export", "descriptor", "--spec", "spec", "format/own", "-o", "spec/note.txt", "--force"]) == 0
    assert (place / "b.npy").read_bytes() != b"old" != (place / "spec" / "note.txt").read_bytes()


def test_a_register_ends_with_its_command(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with one_command():
        reads(path)
        with pytest.raises(ValueError, match="is what is read"):
            check_target(path, force=True)
    with one_command():
        check_target(path, force=True)
        with pytest.raises(ValueError, match="is what is read"):
            reads(path)
    reads(path)
    write_text(path, "new", force=True)
    assert path.read_bytes() == b"new"


def test_files_of_targets(tmp_path, monkeypatch):
    (tmp_path / "pack").mkdir()
    for name in ("__init__.py", "inner.py"):
        (tmp_path / "pack" / name).write_text("raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    assert [path.resolve() for path in files_of("py:pack.inner:f")] == [tmp_path / "pack" / "__init__.py", tmp_path / "pack" / "inner.py"]
    (tmp_path / "k.py").write_text("import numpy\nfrom ............ import far\n'\\d'\nimport emu\n")
    assert len([*files_of("k.py:f")]) == len([*files_of("py:k:f")]) == 1
    assert "pack" not in sys.modules
    assert [str(path) for path in files_of("c:lib.so:symbol")] == ["lib.so"]
    assert [str(path) for path in files_of("exec:./run --in=data 'two words'")][:4] == ["run", "--in=data", "data", "two words"]
    assert not [*files_of("foreign:library.kernel")]


@pytest.mark.exhaustive  # its suites are built twice
def test_a_wrapper_beside_the_design_is_written_again(place):
    """It is no part of the design, though it lies in its folder."""
    for _ in range(2):
        assert run(["rtl", "wrap", "examples/fp4_pack2.yaml", "-o", "examples/wrapper.sv", "--force"]) == 0
