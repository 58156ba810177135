"""docs/notebooks: kept without results, linked from a page, and every cell runs, draws and prints what a reader should see.

EMU_NEED_NOTEBOOKS: a missing jupytext fails instead of being skipped.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDER = DOCS / "notebooks"
HERE = importlib.util.find_spec("jupytext") is not None
pytestmark = pytest.mark.skipif(
    not HERE and not os.environ.get("EMU_NEED_NOTEBOOKS"), reason="no jupytext here: pip install -c constraints.txt jupytext"
)

# of each: figures that are shown, and lines that are printed
NOTEBOOKS = {
    "rtl": (
        2,
        (
            "8 of 65280 codes differ: 0.25, 1.25, 2.5, 5, -0.25, -1.25, -2.5, -5",
            "12 fraction bits:  47.80 % of results differ",
            "36 fraction bits:   0.00 % of results differ",
        ),
    ),
    "kernel": (
        3,
        (
            "nvfp4_torchao              no scale differs on 15 of 24 tensors, up to 2.66 % on the others",
            "nvfp4_te_ref   tensor 0, row 1, block 15: scale 0x73 codes 5D61570E9EDDD64D",
            "nvfp4_torchao  tensor 0, row 1, block 15: scale 0x72 codes 6D61570E9FDDD65E",
        ),
    ),
    "architect": (
        3,
        (
            "e1m2, blocks of 16: 21.39 dB, gain 1.0006",
            "sigma 1.0: E1M2 leads by +1.80 dB; both as given -2.50, both rotated +3.41",
            "e8m0_floor  lead of E1M2 -0.36 dB",
        ),
    ),
}
# Cells as one script; plt.show counts the figures that hold data, and refuses an empty one.
RUN = """
import sys
import matplotlib.pyplot as plt
shown = 0
def show():
    global shown
    (number,) = plt.get_fignums()
    assert plt.gcf().axes and all(axes.has_data() for axes in plt.gcf().axes), "an empty figure"
    shown += 1
    plt.close("all")
plt.show = show
source = sys.argv[1]
exec(compile(open(source, encoding="utf-8").read(), source, "exec"), {"__name__": "__main__"})
assert not plt.get_fignums(), "a figure that is never shown"
print("figures:", shown)
"""


def test_every_notebook_is_known_and_linked() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*")) == sorted(NOTEBOOKS)
    assert set(re.findall(r"\(notebooks/(\w+)\.ipynb\)", (DOCS / "notebooks.md").read_text(encoding="utf-8"))) == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_kept_without_results(name: str) -> None:
    import nbformat

    kept = nbformat.read(FOLDER / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(kept)
    assert kept.metadata.keys() == {"kernelspec", "language_info"}
    for cell in kept.cells:
        assert not cell.metadata
        assert cell.cell_type == "markdown" or (cell.outputs == [] and cell.execution_count is None)
    links = [link for cell in kept.cells for link in re.findall(r"\]\(([^)#]+)\)", cell.source)]
    assert links and all((FOLDER / link).is_file() for link in links)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_runs_and_shows_what_it_should(tmp_path: Path, name: str) -> None:
    import jupytext

    script = tmp_path / f"{name}.py"
    jupytext.write(jupytext.read(FOLDER / f"{name}.ipynb"), script, fmt="py:percent")
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, "-P", "-W", "error", "-c", RUN, str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    figures, wanted = NOTEBOOKS[name]
    lines = done.stdout.splitlines()
    assert lines[-1] == f"figures: {figures}"
    assert not [line for line in wanted if line not in lines], done.stdout
