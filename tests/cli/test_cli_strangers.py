"""Text of strangers in what commands print: names, titles, logs, manifests and records move no cursor, hide nothing, begin no line.

Not here: what is written into code, pages and scripts (tests/pages/test_pages_strangers.py, tests/explore/test_explore_strangers.py).
"""

from __future__ import annotations

import ast
import json
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support import writing
from support.strangers import FILE, HOSTILE, MOVING, OBJECTS, ROOT, SHOWN, gguf, live, read, safetensors, spoiled, twin, write_spec

from emu.base.text import in_comment, in_html, in_script, in_shell, in_xml, json_text, readable, visible, visible_text
from emu.cli.main import run
from emu.spec.registry import restored

STEM = "decode__e2m1_to_fp32__exact__all"
RECIPE = "mxfp4_torchao_floor"


EVERY = [" ".join(name) for name, _ in writing.EVERY]
# What a command reads that a stranger may have written. {in}: a folder with an input of each sort, {file}: a name there; {out}: a new name.
READING: dict[str, list[str]] = {
    "list": ["recipes --spec {in}/spec", "formats --spec {in}/spec"],
    "show": [f"{kind}/my_{name} --spec {{in}}/spec" for kind, name in OBJECTS.items()],
    "convert": ["e2m1 {file}.npy --out {file}.npy", "e2m1 {file}.npz --out {out}"],
    "operate": ["my_{name} 0x1 --spec {in}/spec"],
    "query": ["my_{name} my_e2m1 --spec {in}/spec"],
    "quantize": [f"{{file}}.safetensors --recipe {RECIPE} -o {{out}}.safetensors", f"{{file}}.npz --recipe {RECIPE} --strict -o {{out}}",
                 f"{{in}}/w.gguf --recipe {RECIPE} -o {{out}}", "{file}.safetensors -r nvfp4_te_ref --amax-file {in}/report.json -o {out}"],
    "dequantize": ["{in}/q.safetensors -o {out}.npz", "{file}.safetensors -o {out}.npz"],
    "analyze": [f"{{file}}.safetensors --recipe {RECIPE}", f"{{file}}.npz --recipe {RECIPE} --plot {{out}}.svg"],
    "study tensor": [f"--data {{file}}.npy --recipe {RECIPE} --plots {{out}}"],
    "study scales": ["--data {in}/absent/{name}"],
    "study bias": ["--data {in}/report.json"],
    "explain dot": [f"--suite {{in}}/suite/{STEM}.json --tc 1"],
    "explain mismatch": ["{in}/log", "{file}", "{in}/log2 --vectors {in}/suite"],
    "compare-datapaths": ["hopper_fp8 ada_fp8 --data {file}.safetensors"],
    "probe": ["hopper_fp8 --a-format e4m3 --b-format e4m3 --depth 1 --answers {in}/log"],
    "check": ["{in}/k.py:f --against decode/e2m1 --junit {out}.xml", "{file}.py:f --against decode/e2m1",
              "--against decode/e2m1 --results {file}.safetensors"],
    "identify": ["{in}/k.py:f --op decode", "--quantized {in}/w.gguf", "--quantized {in}/model", "--quantized {in}/q.safetensors"],
    "convert-checkpoint": ["{in}/model --to nvfp4_vllm -o {out}"],
    "verify-checkpoint": ["{in}/w.gguf", "{in}/model", "{file}.safetensors"],
    "vectors cover": ["{in}/suite"],
    "vectors kill": ["{in}/report.json -o {out}"],
    "vectors merge": ["{in}/suite {file} -o {out}"],
    "vectors verify": ["{in}/suites"],
    "rtl run": ["{in}/examples/{name}.yaml"],
    "rtl wrap": ["{in}/examples/{name}.yaml", "{in}/log"],
    "rtl prove": ["decode/e2m1 {file}.v", "--map {in}/log"],
    "rtl export": ["--package sv -o {out} --spec {in}/spec"],
    "export descriptor": ["recipe/my_nvfp4_te_ref --spec {in}/spec"],
    "layout convert": ["{file}.safetensors --from row_major --to sf128x4 -o {out}"],
    "layout show": ["my_sf128x4 --shape 4x4 --spec {in}/spec"],
    "docs build": ["--out {out} --spec {in}/spec"],
}  # fmt: skip
# Commands that read nothing of a stranger but a spec folder: its faults are told by each command, its titles by none of these.
SPEC_ALONE = {
    "vectors build": "writes suites of contracts, whose names are ids",
    "vectors deliver": "the same; its pages: tests/pages/test_pages_strangers.py",
    "rtl mutants": "reads the designs of the bench kit", "rtl sweep": "the same", "sweep": "reads its own record",
    "explore": "its page: tests/explore/test_explore_strangers.py", "bench": "measures", "doctor": "reads this machine",
}  # fmt: skip
SLOW = ("docs build", "check", "identify", "rtl run", "rtl prove", "study tensor", "compare-datapaths")


def test_each_command_is_in_one_of_the_tables() -> None:
    assert {*READING} | {*SPEC_ALONE} == {*EVERY} and not {*READING} & {*SPEC_ALONE}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a stranger sent."""
    here = tmp_path_factory.mktemp("sent")
    values = np.linspace(-7, 7, 4096, dtype=np.float32).reshape(32, 128)
    write_spec(here / "spec", SHOWN)
    safetensors(here / f"{FILE}.safetensors", {HOSTILE: values, f"{HOSTILE}2": values[:, :3], "plain": values[0]}, {HOSTILE: HOSTILE})
    np.save(here / f"{FILE}.npy", values)
    np.savez(here / f"{FILE}.npz", **{HOSTILE.replace("\0", "").replace("/", "|"): values, "b\x1b[2J\nINJECTED[red]MARKUP": values[:, :3]})
    gguf(here / "w.gguf", HOSTILE)
    safetensors(here / "q.safetensors", {f"{HOSTILE}.weight": values, f"{HOSTILE}.weight_scale": values},
                {"emu_quantized": json.dumps({"version": HOSTILE, "tensors": {HOSTILE: HOSTILE}}), HOSTILE: HOSTILE})  # fmt: skip
    (here / "model").mkdir()
    stored = json.loads((ROOT / "tests/checkpoint/files/modelopt_nvfp4.json").read_text(encoding="utf-8"))["files"]
    for name, text in stored.items():
        raw = bytes.fromhex(text)
        if name.endswith(".json"):
            raw = json.dumps(spoiled(json.loads(raw))).encode()
        elif name.endswith(".safetensors"):  # the same tensors under names that begin with a stranger's words
            size = int.from_bytes(raw[:8], "little")
            header = {HOSTILE + key if key != "__metadata__" else key: item for key, item in json.loads(raw[8 : 8 + size]).items()}
            told = json.dumps(header).encode()
            raw = len(told).to_bytes(8, "little") + told + raw[8 + size :]
        (here / "model" / name).write_bytes(raw)
    (here / "log").write_text(f"MISMATCH suite={HOSTILE} tc=1\nRESULT {HOSTILE}\n{HOSTILE}\n1 {HOSTILE}\n", encoding="utf-8")
    (here / "log2").write_text(
        f"MISMATCH suite={STEM} tc=1 out=fp32 in=0 want=00000000 got=00000001 mask=ffffffff\n{HOSTILE}\n", encoding="utf-8"
    )
    (here / "report.json").write_text(json.dumps({HOSTILE: HOSTILE, "kills": {HOSTILE: [HOSTILE]}}), encoding="utf-8")
    (here / "suite").mkdir()
    for path in (ROOT / "vectors" / "decode").glob(f"{STEM}.*"):
        text = path.read_text(encoding="utf-8")
        text = json.dumps(spoiled(json.loads(text))) if path.suffix == ".json" else text.replace("\n", f" // {HOSTILE}\n")
        (here / "suite" / path.name).write_text(text, encoding="utf-8")
    shutil.copytree(here / "suite", here / "suites" / "decode")
    (here / "suites" / "decode" / "MANIFEST.sha256").write_text(f"{'0' * 64}  {HOSTILE}\n", encoding="utf-8")
    shutil.copytree(ROOT / "vectors" / "bench" / "examples", here / "examples")
    text = (
        (here / "examples" / "fp4_pack2.yaml").read_text(encoding="utf-8").replace('kind: "portmap"', f'kind: "portmap"\ntitle: "{SHOWN}"')
    )
    (here / "examples" / f"{FILE}.yaml").write_text(text, encoding="utf-8")
    for name in ("k.py", f"{FILE}.py"):
        (here / name).write_text(f"def f(x):\n    raise ValueError({HOSTILE!r})\n", encoding="utf-8")
    (here / f"{FILE}.v").write_text(f"module dut(; `error {HOSTILE}\n", encoding="utf-8")
    return here


CASES = [
    pytest.param(name, words, id=f"{name} {words}".replace(" ", "-"), marks=[pytest.mark.exhaustive] if name in SLOW or number > 3 else [])
    for name, several in READING.items()
    for number, words in enumerate(several)
]


@pytest.mark.parametrize("options", [[], pytest.param(["--json"], marks=pytest.mark.exhaustive)], ids=["text", "json"])
@pytest.mark.parametrize(("name", "words"), CASES)
def test_what_a_command_prints_is_harmless(made: Path, tmp_path: Path, capfd: Any, name: str, words: str, options: list[str]) -> None:
    places = {"in": made, "file": made / FILE, "name": FILE, "out": tmp_path / "out"}
    line = [*name.split(), *(word.format(**places) for word in words.split())]
    with restored():
        code = run([*line, *options])
    said = capfd.readouterr()
    assert said.out + said.err and code in (0, 1, 2, 3, 5)
    assert live(said.out) + live(said.err) == []
    assert "unexpected" not in said.err and "Traceback" not in said.err, said.err
    if options and said.out and name not in ("rtl wrap", "export descriptor"):
        json.loads(said.out)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            read(path)


@pytest.mark.parametrize("name", EVERY)
def test_a_fault_of_a_spec_folder_is_harmless_in_each_command(tmp_path: Path, capfd: Any, name: str) -> None:
    folder = tmp_path / FILE
    (folder / "format").mkdir(parents=True)
    (folder / "format" / "bad\x1b[2J\n.yaml").write_text(f'title: "{HOSTILE}"\n', encoding="utf-8")
    with restored():
        assert run([*name.split(), "--spec", str(folder), "--help"]) == 0
    said = capfd.readouterr()
    assert "is left out" in said.err and said.err.count("\n") == 1
    assert live(said.out) + live(said.err) == []


LETTERS = [letter for letter in dict.fromkeys(MOVING) if letter != "\n" and (not letter.isprintable() or letter == "\u3164")]


@pytest.mark.parametrize("kind", [*OBJECTS][:1] + [pytest.param(kind, marks=pytest.mark.exhaustive) for kind in [*OBJECTS][1:]])
@pytest.mark.parametrize("letter", LETTERS, ids=ascii)
def test_a_title_with_a_letter_that_moves_or_hides_is_refused_with_its_line(tmp_path: Path, capfd: Any, kind: str, letter: str) -> None:
    text = twin(kind)
    number = next(at for at, line in enumerate(text.splitlines(), 1) if line.startswith("title: "))
    (tmp_path / kind).mkdir()
    path = tmp_path / kind / f"my_{OBJECTS[kind]}.yaml"
    path.write_bytes(text.replace('title: "', f'title: "a{letter}b', 1).encode())
    with restored():
        assert run(["list", "--spec", str(tmp_path), "recipes"]) == 0
    said = capfd.readouterr().err
    assert f"{path}:{number}: " in said and said.count("\n") == 1 and live(said) == []


# The doors alone.


class _Tags(HTMLParser):
    found: list[str]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found = [*getattr(self, "found", []), tag, *(name for name, _ in attrs)]


def letters() -> Iterator[str]:
    """Hostile texts: the whole, and each letter beside signs."""
    yield HOSTILE
    yield FILE
    yield from ("-", "-rf", "--out=a b", "-\x1b'\n")  # a path, for the command that gets it
    yield from (f"\\{letter}'\"{letter}\\" for letter in [*MOVING, "\udcff", "\u00e9", "\U0001f600"])


@pytest.mark.parametrize("text", [*letters()], ids=ascii)
def test_doors(text: str, tmp_path: Path) -> None:
    assert live(visible(text)) == [] and "\n" not in visible(text)
    assert live(visible_text(text + "\nend")) in ([], [found for found in live(text) if found.startswith("INJECTED")])
    assert readable([text, text]).count("\n") == 1
    assert live(json_text({text: [text]})) == [] and json.loads(json_text({text: [text]})) == {text: [text]}
    assert "*/" not in in_comment(text) and "\n" not in in_comment(text) and in_comment(text).isprintable()
    tags = _Tags()
    tags.feed(f'<p title="{in_html(text)}">{in_html(text)}</p>')
    assert tags.found == ["p", "title"]
    assert "<" not in in_script({text: text}) and json.loads(in_script({text: text})) == {text: text}
    assert ET.fromstring(f'<a b="{in_html(in_xml(text))}"/>').tag == "a"
    if "\0" not in text and shutil.which("bash"):
        words = ["bash", "-c", f"printf %s {in_shell(text)}"]
        told = subprocess.run(words, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}).stdout
        assert told.decode("utf-8", "surrogateescape") == ("./" if text.startswith("-") else "") + text and in_shell(text).isprintable()
        assert in_shell(text).startswith("$") or len(shlex.split(in_shell(text))) == 1


@pytest.mark.parametrize("name", ["-log", "--json", "-h", "-x y'", "~", "#"])
def test_a_copied_line_reads_the_file_that_it_names(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    line = f"MISMATCH suite={STEM} tc=1 out=fp32 in=0 want=00000000 got=00000001 mask=ffffffff\n"
    (tmp_path / name).write_text(line, encoding="utf-8")
    assert run(shlex.split(f"explain mismatch {in_shell(Path(name))}")) == 0
    assert STEM in capsys.readouterr().out


def test_nothing_is_printed_beside_the_door() -> None:
    """All of emu prints by emu/cli/settings.py; what prints otherwise is here, with a reason."""
    apart = {
        "emu/cli/settings.py": "the door", "emu/cli/start.py": "one fixed line before it is there",
        "emu/base/cluster.py": "one line of words of its own and a checked address", "emu/cli/main.py": "JSON in ASCII",
        "emu/check/targets/cuda/__main__.py": "a command of its own: through visible()",
    }  # fmt: skip
    ways = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write", "Console", "html.escape", "shlex.quote"}
    found = set()
    for path in sorted((ROOT / "emu").rglob("*.py")):
        calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)}
        if calls & ways:
            found.add(path.relative_to(ROOT).as_posix())
    assert found - {"emu/base/text.py"} <= set(apart), found
