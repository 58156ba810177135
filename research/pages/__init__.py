"""Pages written from the records in docs/evidence: a template (templates/) and one module or more for each."""

from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
