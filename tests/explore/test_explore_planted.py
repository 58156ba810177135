"""Every planted fault of the page's tests finds its place in the sources of the page, also those that are tried before a release alone."""

import importlib.util
from pathlib import Path

import pytest

import emu.explore

HERE = Path(__file__).parent
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((Path(emu.explore.__file__).parent / "page").glob("*.[jch]*s*")))
FILES = [path for path in sorted(HERE.glob("test_*.py")) if "def test_a_fault_of" in path.read_text(encoding="utf-8")]


def faults(path: Path) -> list[tuple]:
    """The cases of the tests of a file that plant a fault: tuples that end with what is replaced and by what."""
    spec = importlib.util.spec_from_file_location(f"planted_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    held = {
        name: case for value in vars(module).values() if isinstance(value, dict) for name, case in value.items() if isinstance(name, str)
    }
    marks = [mark for name, test in vars(module).items() if name.startswith("test_a_fault_of") for mark in getattr(test, "pytestmark", ())]
    cases = [case for mark in marks if mark.name == "parametrize" for case in mark.args[1]]
    return [case for case in (held[case] if isinstance(case, str) else case for case in cases) if isinstance(case, tuple)]


@pytest.mark.parametrize("path", [path for path in FILES if path != Path(__file__)], ids=lambda path: path.stem)
def test_each_place_is_there_once(path):
    found = faults(path)
    places = [[part for part in case if isinstance(part, str)][-2] for case in found]
    assert places and [(place, SOURCES.count(place)) for place in places if SOURCES.count(place) != 1] == []
