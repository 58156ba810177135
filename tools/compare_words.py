"""Words that were renamed, and what a text may hold that says nothing about results: one table for `python -m tools.compare_builds`.

Both sides are turned to the new words, so that only what is not a rename is listed. Bits and digests of bits never pass through here.
"""

from __future__ import annotations

import re

RENAMED = (
    (r"\bfast\b", "numpy"),
    (r"\bconversion/", "policy/"),
    (r"\bconversions\b", "policies"),
    (r"\bConversions\b", "Policies"),
    (r"\bconversion\b", "policy"),
    (r"\bConversion\b", "Policy"),
    (r"\bcolumns\b", "engines"),
    (r"\bcolumn\b", "engine"),
    (r"\bwitnesses\b", "examples"),
    (r"\bwitness\b", "example"),
    (r"\b(the )?oracle\b", "reference model"),
    (r"\bworked example", "example"),
)
MASKED = (
    (r"(?:/[\w.+-]+)+/site-packages/emu/", "<emu>/"),
    (r"(?:/[\w.+-]+)+/emu/(?=[\w/]+\.py)", "<emu>/"),
    (r"\b\d+(?:\.\d+)? ?(?:s|ms|us|seconds)\b", "<time>"),
    (r"\b[0-9a-f]{64}(?=  \S+\.json\b)", "<digest of a file that names digests of facts>"),
)
MASKED_KEYS = re.compile(r"digest|seconds|elapsed|python|platform|numpy_version|path$")


def plain(text: str, folder: str = "") -> str:
    """Return a text in the new words, without paths and times. folder: the working folder of the driver."""
    if folder:
        text = text.replace(folder, "<folder>")
    for pattern, word in (*MASKED, *RENAMED):
        text = re.sub(pattern, word, text)
    return text
