"""The worked example of a port map: its page shows what the commands print, and its claims hold."""

import shlex
import shutil

import jsonschema
import pytest
import yaml

from emu.cli.main import run
from tools.docs.examples import blocks_of
from tools.docs.schemas import portmap_schema


@pytest.fixture(scope="module")
def examples(kit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "examples"
    shutil.copytree(kit / "examples", folder)
    return folder


@pytest.mark.exhaustive
def test_the_page_shows_what_the_commands_print(examples, need, capsys, monkeypatch):
    need("iverilog")
    monkeypatch.chdir(examples)
    ran = 0
    for block in blocks_of((examples / "README.md").read_text()):
        for part in block.text.split("$ emu ")[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            run(shlex.split(command))
            assert capsys.readouterr().out.split("\n")[: len(shown)] == shown, command
            ran += 1
    assert ran == 3


@pytest.mark.exhaustive
def test_without_unsupported_the_true_contract_is_named(examples, need, capsys, tmp_path):
    need("iverilog")
    path, log = examples / "whole.yaml", tmp_path / "whole.log"
    text = (examples / "fp4_pack2.yaml").read_text()
    path.write_text(text[: text.index("unsupported:")])
    assert run(["rtl", "run", str(path), "--sim", "icarus", "--suite", "directed", "--log", str(log)]) == 1
    assert "mismatch=26 " in capsys.readouterr().out
    assert run(["explain", "mismatch", str(log)]) == 0
    assert "26/26 differing, 1394/1394 agreeing    contract convert/e2m1/rz/amd" in capsys.readouterr().out
    assert run(["rtl", "run", str(path), "--sim", "icarus", "--contract", "convert/e2m1/rz/amd"]) == 0


def test_the_schema_takes_the_example_and_sees_a_fault(examples):
    judge = jsonschema.Draft202012Validator(portmap_schema())
    data = yaml.safe_load((examples / "fp4_pack2.yaml").read_text())
    judge.validate(data)
    for broken in (data | {"modul": "x"}, {key: value for key, value in data.items() if key != "files"}, data | {"latency": "two"}):
        assert not judge.is_valid(broken)


@pytest.mark.exhaustive
def test_the_example_in_verilator(examples, need):
    need("verilator")
    words = ["rtl", "run", str(examples / "fp4_pack2.yaml"), "--sim", "verilator", "--suite", "smoke"]
    assert run(words) == 0
    assert run([*words, "--contract", "convert/e2m1/rne/nvidia"]) == 1
