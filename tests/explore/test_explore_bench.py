"""`python -m tools.bench --explorer` measures every drag. What it measures is judged nowhere: tests never time."""

from support.explorer import browser

from tools.bench.__main__ import run
from tools.bench.explorer import CASES


def test_each_drag_has_a_row(capsys):
    browser()
    assert run(["--explorer", "--repeats", "1"]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows] == list(CASES)
    assert all(len(row) == 5 and float(row[1]) > 0 and float(row[3]) > 0 and float(row[4]) >= float(row[3]) for row in rows)
