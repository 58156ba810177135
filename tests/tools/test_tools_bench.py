"""python -m tools.bench: it measures and prints, peers beside; no number is judged here."""

import json
import shutil

import numpy as np
import pytest


def run(arguments):
    from tools.bench.__main__ import run  # here: the clone is on the path when the session has started

    return run(arguments)


def test_table_has_peers(capsys):
    assert run(["--elements", "4096", "--repeats", "1", "--only", "decode"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| job | emu | peer | peer's rate | ratio | promised |"
    assert lines[2].startswith("| decode e2m1 |") and "| ml_dtypes e2m1 |" in lines[2]


def test_rows_as_json(capsys):
    assert run(["--elements", "4096", "--repeats", "1", "--only", "decode", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    row = found["rows"][0]
    assert [each["name"] for each in found["rows"]] == ["decode e2m1", "decode e2m1, beside plain C"]
    assert row["peer"] == "ml_dtypes e2m1"
    assert row["rate"] > 0 and row["peer_rate"] > 0 and row["promised"] == 5
    assert set(found["versions"]) == {"machine", "kernels", "python", "numpy", "ml_dtypes", "torch", "torchao", "mmasim"}


def test_unknown_case_is_misuse(capsys):
    assert run(["--elements", "4096", "--only", "zzz"]) == 2
    assert "no case contains 'zzz'" in capsys.readouterr().err


def test_threads_are_beside_one_thread(capsys, monkeypatch):
    from tools.bench import dots

    assert all(case.jobs == 1 for case in dots.cases())
    (both,) = [case for case in dots.cases(2) if case.jobs == 2 and case.engine == "native"]
    assert dots.label(both) == "matmul nvfp4 512x512x4096 native, 2 jobs" and both.peer.name == "emu, 1 job"
    tile = (16, 8, 64)
    one = dots.DotCase("nvfp4", both.choice, tile, "native", both.peer)
    alone = dots.Peer("emu, 1 job", tile, lambda rng: dots._job(one, dots.resolve(*one.choice), rng))
    monkeypatch.setattr(dots, "cases", lambda jobs: [dots.DotCase("nvfp4", both.choice, tile, "native", alone, jobs=jobs)])
    assert run(["--repeats", "1", "--elements", "4096", "--only", "matmul nvfp4 16x8x64", "--jobs", "2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "matmul nvfp4 16x8x64 native, 2 jobs" and row["rate"] > 0 and row["peer"] == "emu, 1 job"


@pytest.fixture
def plain():
    from tools.bench import plain

    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("no C compiler here (Debian: apt-get install gcc)")
    return plain


def edges():
    """Every middle of two neighbours of E2M1 and what lies beside it, under many scales, with both signs and zeros."""
    middles = np.array([0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, 7.9], np.float32)
    near = np.concatenate([np.nextafter(middles, np.float32(end)) for end in (-1, 9)] + [middles])
    scaled = near * np.exp2(np.arange(-20, 12, dtype=np.float32))[:, None]
    found = np.concatenate([scaled, -scaled, scaled[:, ::-1]], axis=1).reshape(-1)
    return found[: found.size // 32 * 32].reshape(-1, 32)


@pytest.mark.parametrize("name", ["convert", "decode", "mxfp4", "nvfp4", "nvfp4_back"])
def test_plain_c_gives_the_same_bits(plain, name):
    assert getattr(plain, name)(edges()) is not None  # each compares its answers with those of emu


def test_plain_c_with_another_bit_is_no_peer(plain, monkeypatch):
    right = plain.emu.convert
    monkeypatch.setattr(plain.emu, "convert", lambda *given: right(*given) ^ (np.arange(32) == 7).astype(np.uint8))
    with pytest.raises(AssertionError, match="other bits"):
        plain.convert(edges())
