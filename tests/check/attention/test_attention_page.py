"""The page about attention: its examples run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "howto_check_attention.md"


def test_the_examples_of_the_page_run():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted >= 15 and not found.failed
