"""emu probe: rows and table on the screen, files, answers, and one line for every misuse."""

import json

import pytest

from emu.cli.main import run

WORDS = ["probe", "cdna3_fp8", "--a-format", "e4m3fnuz", "--b-format", "e4m3fnuz"]


def test_rows_and_table_as_text_and_json(capsys):
    assert run(WORDS) == 0
    text = capsys.readouterr().out
    assert text.startswith("probe of cdna3_fp8/e4m3fnuzxe4m3fnuz: ") and "cdna3_fp8: as it stands" in text
    assert run([*WORDS, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["datapath"] == "cdna3_fp8" and data["rows"][0]["row"] == 1 and data["hypotheses"][0]["changes"] == {}


def test_files_answers_and_exit_codes(tmp_path, capsys):
    out = tmp_path / "probe"
    assert run([*WORDS, "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "answers.txt", "probe.json", "rows.tv"]
    assert "rows that tell" in capsys.readouterr().err
    readme = (out / "README.md").read_text()
    assert "Made by `emu probe cdna3_fp8 --a-format e4m3fnuz --b-format e4m3fnuz --out probe`." in readme and str(tmp_path) not in readme
    data = json.loads((out / "probe.json").read_text())
    machine = data["hypotheses"][1]
    head = (out / "answers.txt").read_text().splitlines()[:2]
    answers = out / "answers.txt"
    answers.write_text("\n".join([*head, *(f"{number} {code}" for number, code in enumerate(machine["answers"], 1))]) + "\n")
    assert run([*WORDS, "--answers", str(answers)]) == 0
    assert f"  {machine['text']}\n" in capsys.readouterr().out
    assert run([*WORDS, "--answers", str(answers), "--json"]) == 0
    assert machine["text"] in [item["text"] for item in json.loads(capsys.readouterr().out)["fits"]]
    answers.write_text("\n".join(["1 deadbeef", *(f"{number} 00000000" for number in range(2, len(data["rows"]) + 1))]) + "\n")
    assert run([*WORDS, "--answers", str(answers)]) == 1
    assert "row 1: no hypothesis expects 0xdeadbeef" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["cdna4"], "no published model"),
        (["cdna3_fp8"], "takes several operands"),
        (["nope"], "'nope' is unknown"),
        ([*WORDS[1:], "--out", "x", "--answers", "y"], "name one of them"),
        ([*WORDS[1:], "--answers", "missing.txt"], "missing.txt: No such file"),
    ],
)
def test_misuse_is_one_line(words, text, capsys):
    assert run(["probe", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("emu: ") and text in error and error.count("\n") == 1
