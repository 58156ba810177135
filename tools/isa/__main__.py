"""`python -m tools.isa build --out DIR`: the ISA proposal as HTML, PDF and AsciiDoc parts, run from the clone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from emu.base.atomic import check_target, whole_file, write_text
from emu.base.errors import EmuError, FileError, ToolError
from tools.isa import PAGE
from tools.isa.asciidoc import asciidoc_parts
from tools.isa.printed import browser, html_text, pdf_bytes

MISUSE, TOOL_MISSING = 2, 5
NAME = "isa_proposal"


def build(root: Path, out: Path, pdf: bool, force: bool) -> list[Path]:
    """Write the files of the proposal into a folder; return their paths. Nothing is written before everything is made.

    Raises: FileError (no page in the tree, a file that is there, an unwritable folder), ToolError (no Chromium).
    """
    try:
        page = (root / PAGE).read_text(encoding="utf-8")
    except OSError:
        raise FileError(f"{root / PAGE}: no such page: run in the source tree, or say --root DIR") from None
    html = html_text(page)
    texts = {out / f"{NAME}.html": html} | {out / "riscv" / name: text for name, text in asciidoc_parts(page).items()}
    printed = {out / f"{NAME}.pdf": pdf_bytes(html, browser())} if pdf else {}
    for path in (*texts, *printed):
        path.parent.mkdir(parents=True, exist_ok=True)
        check_target(path, force)
    for path, text in texts.items():
        write_text(path, text, force=force)
    for path, data in printed.items():
        with whole_file(path, force=force) as handle:
            handle.write(data)
    return [*texts, *printed]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 done, 2 misuse or a faulty file, 5 no Chromium (one line on stderr)."""
    parser = argparse.ArgumentParser(prog="python -m tools.isa", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="Write HTML, PDF and AsciiDoc into a folder.")
    command.add_argument("--out", metavar="DIR", required=True, type=Path, help="The folder to write into.")
    command.add_argument("--root", metavar="DIR", default=Path(), type=Path, help="The source tree; default: this folder.")
    command.add_argument("--no-pdf", action="store_true", help="Leave the PDF out, which needs Chromium.")
    command.add_argument("--force", action="store_true", help="Replace files that are there.")
    given = parser.parse_args(words)
    try:
        for path in build(given.root, given.out, not given.no_pdf, given.force):
            print(path)
    except EmuError as error:
        print(f"emu: {error}", file=sys.stderr)
        return TOOL_MISSING if isinstance(error, ToolError) else MISUSE
    return 0


if __name__ == "__main__":
    sys.exit(main())
