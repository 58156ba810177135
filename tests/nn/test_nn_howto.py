"""The examples of docs/howto_training.md print what the page says."""

from __future__ import annotations

import doctest
import importlib
import os
from pathlib import Path

import pytest

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")


def test_the_examples_of_the_page(checkout: Path) -> None:
    text = (checkout / "docs" / "howto_training.md").read_text(encoding="utf-8").replace("```python", "").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, "howto_training.md", None, 0)
    result = doctest.DocTestRunner().run(examples)
    assert (result.failed, result.attempted) == (0, 16)
