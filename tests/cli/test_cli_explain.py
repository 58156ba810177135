"""emu explain dot: rows by options, JSON, VCD files, and one line for every misuse."""

import json

import pytest

from emu.cli.main import run

ROW = ["--a", "2" + "0" * 31 + "1" + "0" * 31, "--b", "2" + "0" * 31 + "9" + "0" * 31, "--sa", "3728", "--sb", "3729"]
DATAPATH = "blackwell_mxf4_b32_ue8m0"


def test_text_and_json_say_the_same(capsys):
    assert run(["explain", "dot", DATAPATH, *ROW]) == 0
    text = capsys.readouterr().out
    assert text.endswith("D = 0x00000020 = 2^-144\n") and "E         -139, from the floor" in text
    assert run(["explain", "dot", DATAPATH, *ROW, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["d"] == "0x00000020" and data["steps"][0]["exp"]["from"] == ["floor"] and data["row"]["sa"] == "3728"


def test_the_block_size_is_read_from_the_scales(capsys):
    formats = ["--a-format", "e1m2", "--b-format", "e1m2", "--scale-format", "e8m0"]
    for scales, block in (("7F7F7F7F", 16), ("7F7F", 32)):
        assert run(["explain", "dot", "nv_like", "--a", "4" * 64, "--b", "4" * 64, "--sa", scales, "--sb", scales, *formats]) == 0
        assert f"nv_like/e1m2xe1m2/e8m0/{block}" in capsys.readouterr().out
    assert run(["explain", "dot", "nv_like", "--a", "4" * 64, "--b", "4" * 64, "--sa", "7F7F7F", "--sb", "7F7F7F", *formats]) == 2
    assert "name the block size, one of 16, 32" in capsys.readouterr().err


def test_the_wave_is_written_whole_or_not_at_all(tmp_path, capsys):
    path = tmp_path / "x.vcd"
    assert run(["explain", "dot", DATAPATH, *ROW, "--vcd", str(path)]) == 0
    first = path.read_bytes()
    assert b" u0_xa2 [48:0] $end" in first and b"$date" not in first
    assert "x.vcd: golden stages of 1 fused step" in capsys.readouterr().err
    assert run(["explain", "dot", DATAPATH, *ROW, "--vcd", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["explain", "dot", DATAPATH, *ROW, "--vcd", str(path), "--force", "--quiet"]) == 0
    assert path.read_bytes() == first and list(tmp_path.iterdir()) == [path]
    other = tmp_path / "y.vcd"
    assert run(["explain", "dot", DATAPATH, "--a", "1", "--b", "1", "--vcd", str(other)]) == 2
    assert not other.exists()


def test_choices_and_random_rows(capsys):
    words = ["nv_like", "--a-format", "e1m2", "--b-format", "int4", "--scale-format", "ue4m3", "--block", "16", "--random", "3"]
    assert run(["explain", "dot", *words, "--category", "align_edge"]) == 0
    first = capsys.readouterr().out
    assert run(["explain", "dot", "nv_like/e1m2xint4/ue4m3/16", "--random", "3", "--category", "align_edge"]) == 0
    assert capsys.readouterr().out == first and first.startswith("datapath nv_like/e1m2xint4/ue4m3/16")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([DATAPATH], "name the row in one way"),
        ([DATAPATH, *ROW, "--random", "1"], "name the row in one way"),
        ([DATAPATH, "--a", "00"], "--a and --b belong together"),
        ([*ROW], "name the datapath"),
        ([DATAPATH, "--a", "0g", "--b", "00"], "a: '0g' is no hex string"),
        ([DATAPATH, "--a", "00", "--b", "00"], "K = 2 is no multiple of the 64 products"),
        (["cdna4", *ROW], "no published model"),
        (["blackwell_mxf4", *ROW], "did you mean"),
        ([DATAPATH, "--suite", "nowhere/dot"], "--suite and --tc belong together"),
        ([DATAPATH, "--random", "1", "--category", "nope"], "category 'nope' is unknown"),
        (["--suite", "vectors/convert/none", "--tc", "1"], "not the name of a vector suite"),
    ],
)
def test_misuse_is_one_line(words, text, capsys):
    assert run(["explain", "dot", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("emu: ") and text in error and error.count("\n") == 1
