"""tools.bench: runs that are kept, compared and drawn, sizes and start-up. No time of a machine is judged here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def run(*arguments: str) -> int:
    from tools.bench.__main__ import run  # here: the clone is on the path when the session has started

    return run(arguments)


def row(rates: list[float], peers: list[float] | None = None, name: str = "job", peer: str = "other") -> dict[str, Any]:
    return {"name": name, "peer": peer, "rates": rates, "peer_rates": [100.0] * len(rates) if peers is None else peers}


FIVE = [10.0, 11.0, 12.0, 13.0, 14.0]
OLD = row(FIVE)
CASES = {
    "faster": (row([15.0, 16.0, 17.0, 18.0, 19.0]), "faster", "ratio to other"),
    "slower": (row([5.0, 6.0, 7.0, 8.0, 9.0]), "slower", "ratio to other"),
    "one run among the old ones": (row([14.0, 16.0, 17.0, 18.0, 19.0]), "same", "ratio to other"),
    "one slow run among the old ones": (row([5.0, 6.0, 7.0, 8.0, 10.0]), "same", "ratio to other"),
    "four runs": (row([15.0, 16.0, 17.0, 18.0]), "unsure", "ratio to other"),
    "a machine of half the speed": (row([x / 2 for x in FIVE], [50.0] * 5), "same", "ratio to other"),
    "slower on a machine of twice the speed": (row(FIVE, [200.0] * 5), "slower", "ratio to other"),
    "another peer": (row([15.0, 16.0, 17.0, 18.0, 19.0], peer="third"), "faster", "rate, no peer beside it"),
    "a peer that is not installed": (row(FIVE, []), "same", "rate, no peer beside it"),
}


@pytest.mark.parametrize("case", CASES)
def test_verdicts(case: str) -> None:
    from tools.bench.history import compare, comparison_table

    new, verdict, by = CASES[case]
    (found,) = compare([row([1.0], name="gone"), OLD], [new, row([1.0], name="new")])
    assert (found.name, found.verdict, found.by) == ("job", verdict, by)
    assert comparison_table([found]).splitlines()[-1].count("1") == 1 and f"{verdict} 1" in comparison_table([found])


def test_a_change_below_the_limit_is_none() -> None:
    """All runs are apart, and the medians nearly the same."""
    from tools.bench.history import compare

    (found,) = compare([row([100.0, 100.1, 100.2, 100.3, 100.4])], [row([101.0, 102.0, 103.0, 104.0, 105.0])])
    assert found.verdict == "same" and found.times > 1


def test_a_file_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run is added; the newest is compared; the picture has a point for each; a slower row is exit code 1."""
    path, picture = tmp_path / "runs.json", tmp_path / "runs.svg"
    words = ("--elements", "4096", "--only", "decode", "--history", str(path))
    assert run(*words) == 0 and run(*words, "--plot", str(picture)) == 0
    data = json.loads(path.read_text())
    assert [len(each["rows"]) for each in data["runs"]] == [2, 2] and len(data["runs"][1]["rows"][0]["rates"]) == 5
    assert picture.read_text().count("<svg") == 1
    data["runs"][1]["rows"][0]["rates"] = [1e9] * 5
    path.write_text(json.dumps(data))
    capsys.readouterr()
    assert run("--elements", "4096", "--only", "decode", "--compare", str(path), "--json") == 1
    assert json.loads(capsys.readouterr().out)["changes"][0]["verdict"] == "slower"


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "no history of benchmarks"), ("[]", "holds a list"), ('{"schema": "other", "runs": []}', "its schema is 'other'"),
     ('{"schema": "emu-bench-1", "runs": []}', "holds no run"), ('{"schema": "emu-bench-1"}', "runs missing"),
     ('{"schema": "emu-bench-1", "runs": [{"made": "x", "rows": [{"name": "a", "rates": [], "peer_rates": []}]}]}', "no rates above 0"),
     ('{"schema": "emu-bench-1", "runs": [{"made": "x", "rows": [{"name": "a"}]}]}', "rates is missing")],
)  # fmt: skip
def test_a_damaged_history_is_one_line(text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.json"
    path.write_text(text)
    assert run("--elements", "4096", "--only", "decode", "--compare", str(path)) == 2
    line = capsys.readouterr().err.strip()
    assert why in line and str(path) in line and "\n" not in line
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", "1e", "x", "0", "1e11", "-1", "1e3,", "1.5"])
def test_bad_sizes(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--sizes", text) == 2
    assert "whole numbers from 1 to 1e+10" in capsys.readouterr().err


def test_a_picture_needs_a_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "decode", "--plot", str(tmp_path / "x.svg")) == 2
    assert "--history" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_sizes_have_every_engine_and_threads(capsys: pytest.CaptureFixture[str]) -> None:
    """Ascending sizes, a share of a copy in each row."""
    assert run("--sizes", "4096,1e3", "--jobs", "2", "--repeats", "1", "--only", "convert e2m1") == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    each = [(size, jobs, engine) for size in ("1e3", "4e3") for jobs in ("", ", 2 jobs") for engine in ("native", "numpy", "c_ref")]
    names = [f"convert e2m1 {engine}{jobs}, {size} elements" for size, jobs, engine in each]
    assert [row[0].removeprefix("| ") for row in rows] == names
    assert all(float(row[1]) > 0 and float(row[2]) > 0 for row in rows)


@pytest.mark.cases(0, 0)  # twenty processes
def test_start_up(capsys: pytest.CaptureFixture[str]) -> None:
    from tools.bench.startup import CASES

    assert run("--startup", "--repeats", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == list(CASES)
    assert lines[2].endswith(" 0.00 |")
