"""docs/tutorial_kernel.md: its commands print what it says, the kernels in Triton's interpreter.

EMU_NEED_TORCH: a missing torch or triton fails instead of being skipped.
"""

import importlib.util
import os
from pathlib import Path

import pytest
from support.console import followed

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial_kernel.md"
MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]


@pytest.mark.skipif(bool(MISSING) and not os.environ.get("EMU_NEED_TORCH"), reason=f"no {' and no '.join(MISSING)} here")
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    assert not MISSING
    followed(PAGE, tmp_path, 8)
