"""A source tree of its own, to change and to mend."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A source tree of its own: spec/, docs/reference/, the reference model's source, the generated C, texts with one example each."""
    from tools.docs import examples  # here: the clone is on the path when the session has started

    left_out = shutil.ignore_patterns("*.o", "*.a", "*.so", "tool", "build.py", "__pycache__")
    for folder in ("spec", "docs/reference", "emu/engines/exact", "c_ref"):
        shutil.copytree(checkout / folder, tmp_path / folder, ignore=left_out)
    shutil.copy(checkout / "docs/portmap.schema.json", tmp_path / "docs")
    for name in examples.TEXTS:
        (tmp_path / name).write_text("```python\n>>> 2**0.5 > 1\nTrue\n```\n", encoding="utf-8")
    return tmp_path
