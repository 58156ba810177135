"""Generated files of the repository: C tables, SystemVerilog package, schemas, reference pages, pages of records; and their drift."""

from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
