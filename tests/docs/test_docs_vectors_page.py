"""vectors/README.md: what its table counts of suites that are no files, against the suites that the spec plans."""

from pathlib import Path

import pytest

from emu.vectors import find
from emu.vectors.suites.plan import KILLS, rows_of_stems
from tools.docs.vectors_page import vector_pages


def requested(text: str, contract: str, formats: str) -> str:
    """The cell of the column of suites that are built on request."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    place = next(line for line in lines if line[0] == "contract").index("kill, on request")
    (found,) = [line[place] for line in lines if line[0].startswith(f"`{contract}`") and line[1] == formats]
    return found


@pytest.mark.parametrize(
    ("contract", "formats", "head"),
    [
        ("convert/e2m1/rne/nvidia", "fp32 to e2m1", "convert__fp32_to_e2m1__nvidia_rne"),  # kill is kept, kill_more is not
        ("convert/int4/rz/nvidia", "fp32 to int4", "convert__fp32_to_int4__nvidia_rz"),  # none is kept
        ("decode/e2m1", "e2m1 to fp32", "decode__e2m1_to_fp32__exact"),  # there is none
    ],
)
def test_rows_of_kill_suites_that_are_no_files(checkout: Path, contract: str, formats: str, head: str) -> None:
    kept = [kill for kill in KILLS if (checkout / "vectors" / head.partition("__")[0] / f"{head}__{kill}.mem").is_file()]
    planned = [kill for kill in KILLS if f"{head}__directed" in rows_of_stems(kill)]
    size = sum(find(f"{head}__{kill}").size for kill in planned if kill not in kept)
    assert requested(vector_pages(checkout)["vectors/README.md"], contract, formats) == str(size or "")
    assert bool(size) == (not head.startswith("decode"))
