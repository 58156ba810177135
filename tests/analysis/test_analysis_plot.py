"""plot_reports: a picture of each kind, the same bytes every time."""

import io

import pytest

from emu.analysis.plot import plot_kind, plot_reports
from emu.analysis.report import Report
from emu.base.errors import FileError, OperandError

REPORTS = [
    Report("nvfp4_te_ref", transform, 8, 4.0, error, -0.1, 0, 1, (1, 2, 3, 2))
    for transform in (None, "rht16_ufp4")
    for error in (0.1, 0.2, float("nan"), 0.0)
]
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def picture(reports, kind):
    stream = io.BytesIO()
    plot_reports(reports, stream, kind, "title")
    return stream.getvalue()


@pytest.mark.parametrize("kind", MAGIC)
def test_picture_of_each_kind(kind):
    found = picture(REPORTS, kind)
    assert found.startswith(MAGIC[kind])
    assert len(found) > 2000
    assert found == picture(REPORTS, kind)


def test_names_are_in_the_picture():
    text = picture(REPORTS, "svg").decode()
    assert all(word in text for word in ("nvfp4_te_ref", "SQNR, dB", "with rotation", "title"))
    assert "with rotation" not in picture(REPORTS[:1], "svg").decode()


def test_a_recipe_says_what_it_is():
    text = picture(REPORTS, "svg").decode()
    assert all(word in text for word in ("NVFP4 of Transformer Engine", "blocks of 1x16"))


def test_faults_are_named():
    with pytest.raises(OperandError, match="at least one report"):
        picture([], "png")
    with pytest.raises(FileError, match="one of png, svg, pdf"):
        plot_kind(".bmp")
    assert plot_kind(".PNG") == "png"
