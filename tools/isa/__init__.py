"""The ISA proposal: its page, the pseudo-code that the page prints and a test runs, and the printed HTML, PDF and AsciiDoc."""

from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
PAGE: Final = "docs/isa_proposal.md"
