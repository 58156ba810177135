"""Charts as SVG by matplotlib: what is drawn is data first, and a file says which data it shows. Not here: which figures (the pages)."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS: Final = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#888888")
_STYLE: Final[dict[Any, Any]] = {"svg.hashsalt": "emu", "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 9}


def digest_of(data: Any) -> str:
    """Return what a chart's file says of its data: the SHA-256 of them as JSON. data: what json.dumps takes."""
    return "data sha256 " + hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def same_data(old: str, new: str) -> bool:
    """Tell whether two SVG files show the same data. How they are drawn may differ: that depends on the version of matplotlib."""
    found = [[line.strip() for line in text.splitlines() if "data sha256 " in line] for text in (old, new)]
    return bool(found[0]) and found[0] == found[1]


def as_svg(figure: Figure, data: Any) -> str:
    """Return a figure as SVG text: the same bytes each time, without a date; its description is the digest of the data that it shows."""
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Description": digest_of(data)})
    text = out.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg") :].splitlines()) + "\n"  # a comment may stand first


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, laid out by itself."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        return Figure(figsize=(width, height), layout="constrained")
