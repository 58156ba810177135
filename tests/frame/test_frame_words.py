"""The words of docs/glossary.md: names, docstrings, messages, help texts and pages say none that was withdrawn, in the sense it had.

Words that have a meaning in the field too (a column of a matrix, a form of an instruction, an edge of a clock) are found by patterns
of the withdrawn sense. EXCEPTIONS holds what may stay, each with its reason; an exception that nothing needs fails.
Not here: the words of CHANGELOG.md, which speaks of what was, and of tools/compare_*, which read the old tree.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import emu
from emu.cli.main import commands as emu_commands

ROOT = Path(__file__).resolve().parents[2]
ENGINES = r"(?:NumPy|numpy|[Tt]orch|exact|native|fast|C|c_ref|Triton)"

# Withdrawn sense -> how it shows in a sentence, and what is said instead.
TEXT = {
    "oracle": (r"\boracles?\b", "reference model"),
    "law": (r"\b[Tt]he law\b|\b[Ll]aws? of (?:the )?(?:contract|handshake)|\b(?:failing|same) laws?\b", "reference model"),
    "witness": (r"\bwitness(?:es)?\b", "worked example, or discriminating row"),
    "column": (rf"\b{ENGINES} columns?\b|\bcolumns? agrees?\b|\b(?:engine|implementation)s? columns?\b|\bthis column does\b", "engine"),
    "conversion": (r"\bspec/conversion\b|\bconversion/\w+|\bconversion (?:policy|policies|kind)\b|\bkind conversion\b", "policy"),
    "fast": (
        r"\bfast engine\b|\bengine `?fast\b|--engine fast\b|--fast\b|\bemu fast\b|\bengine=.fast\b|`fast`|\bemu\.fast\b|\bfast/\w+\.py",
        "numpy",
    ),
    "place": (r"\b(?:level|scale|value)s? (?:has|have|with) (?:a|the|their) place\b|\bclass Place\b|\.Place\b", "granularity, or extent"),
    "asked": (r"\bthe asked\b(?! result)|\ban asked\b", "requested, or measured"),
    "turned": (r"\bturned (?:tensor|matrix|operand|codes|levels)\b|\bthe turned\b", "transposed, or rotated"),
    "able": (r"\bable (?:engine|recipe|profile|plan)s?\b|\bthe able\b|\bable\.\w+", "what an engine can do"),
    "edge": (r"\bedge of (?:a|the) (?:format|grid)\b", "boundary"),
    "form": (r"\bform of (?:witnesses|worked examples)\b", "notation"),
}

# Parts of a name, as a name writes them: oracle_pages, WITNESSES, NumPyColumn.
NAME = {
    "oracle": r"(?:^|_)oracles?(?:_|$)|Oracle",
    "law": r"(?:^|_)laws?(?:_|$)",
    "witness": r"(?:^|_)witness(?:es)?(?:_|$)|Witness",
    "column": r"(?:^|_)(?:numpy|torch|c|exact|native|fast)_columns?(?:_|$)|Column(?:Of)?Engine|dot_columns$",
    "conversion": r"^[Cc]onversions?$",
    "fast": r"^fast(?:_engine)?$",
    "place": r"^Places?$",
    "asked": r"^_?asked$",
    "turned": r"^_?turned$",
    "able": r"^_?able$",
    "edge": r"^_?edges?$",
}

# Page or module, and the text that may stand in it -> why.
EXCEPTIONS = {
    ("docs/howto_kernel.md", "exec:./kernel --fast"): "an option of the reader's own kernel",
}

PUBLIC = ("emu", "emu.spec", "emu.torch", "emu.nn", "emu.testing", "emu.strategies")


def words(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word as it stands, and what is said instead, of each withdrawn word of a text."""
    for word, (pattern, instead) in TEXT.items():
        for found in re.finditer(pattern, text, re.IGNORECASE if word in ("oracle", "witness") else 0):
            yield text.count("\n", 0, found.start()) + 1, found[0], instead


def parts(name: str) -> Iterator[str]:
    """The withdrawn words that a name is made of."""
    yield from (word for word, pattern in NAME.items() if re.search(pattern, name.lower() if name.isupper() else name))


def sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring, and of every string of a raise statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                yield first.lineno, first.value.value
        elif isinstance(node, ast.Raise):
            texts = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
            yield from ((part.lineno, part.value) for part in texts if isinstance(part.value, str))


def defined(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every class and function of a module, methods among them; without those that begin with an underscore."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.lineno, node.name


def in_module(text: str) -> list[str]:
    """What is wrong in the text of a module, each with its line."""
    tree = ast.parse(text)
    found = [f"{line}: the name {name} says {word}" for line, name in defined(tree) for word in parts(name)]
    for line, said in sentences(tree):
        found += [f"{line + offset - 1}: says {word!r}: say {instead}" for offset, word, instead in words(said)]
    return found


def in_page(text: str, name: str = "") -> list[str]:
    """What is wrong in a page but for what EXCEPTIONS leaves to the page of that name."""
    for page, kept in EXCEPTIONS:
        text = text.replace(kept, "") if page == name else text
    return [f"{line}: says {word!r}: say {instead}" for line, word, instead in words(text)]


def _in_file(path: Path) -> list[str]:
    return in_page(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())


def modules() -> list[Path]:
    """Every module of the package, of tools and of research; what compares two builds (tools/compare*) speaks of the old one too."""
    found = [path for name in ("emu", "tools", "research") for path in (ROOT / name).rglob("*.py")]
    return sorted(path for path in found if not path.relative_to(ROOT).as_posix().startswith("tools/compare"))


def pages() -> list[Path]:
    """Pages that people write, templates and drawings: the rest is generated from modules, the spec and templates."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *ROOT.glob("vectors/bench/**/*.md")]
    found += [path for folder in ("emu", "tools", "research") for path in (ROOT / folder).rglob("*.j2")]
    found += (ROOT / "docs").glob("*.svg")
    return sorted(path for path in found if path != ROOT / "docs" / "glossary.md")


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below one, with the words that call it."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            assert below is not None, f"{name} {word}"
            yield from commands(below, f"{name} {word}")


@pytest.mark.exhaustive
def test_modules_keep_to_the_glossary() -> None:
    found = [f"{path.relative_to(ROOT)}:{wrong}" for path in modules() for wrong in in_module(path.read_text(encoding="utf-8"))]
    assert len(modules()) > 400
    assert found == [], "\n".join(found)


def test_pages_and_templates_keep_to_the_glossary() -> None:
    found = [f"{path.relative_to(ROOT)}:{wrong}" for path in pages() for wrong in _in_file(path)]
    assert len(pages()) > 40
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(("page", "kept"), EXCEPTIONS)
def test_exceptions_are_needed(page: str, kept: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert kept in text and in_page(text) != in_page(text, page)


def test_help_texts_keep_to_the_glossary() -> None:
    known = list(commands(emu_commands, "emu"))
    found = []
    for name, command in known:
        text = command.get_help(
            click.Context(command, info_name=name, **emu_commands.context_settings)
        )  # click keeps the option -h with a command
        found += [f"{name} --help: says {word!r}: say {instead}" for _, word, instead in words(text)]
        found += [f"{name} {option.name}: says {word}" for option in command.params for word in parts(option.name or "")]
    assert len(known) > 30
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_keep_to_the_glossary(package: str) -> None:
    if package in ("emu.torch", "emu.nn"):
        pytest.importorskip("torch", reason="the package needs torch")
    module = importlib.import_module(package)
    public = [name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")]
    wrong = [f"{package}.{name} says {word}" for name in public for word in parts(name)]
    for name in public:
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            wrong += [f"{package}.{name}({key}) says {word}" for key in inspect.signature(thing).parameters for word in parts(key)]
    assert len(public) >= 3, package
    assert wrong == []


def test_files_keep_to_the_glossary() -> None:
    names = [path.stem for folder in ("emu", "tools", "research", "tests") for path in (ROOT / folder).rglob("*.py")]
    names += [path.stem for path in (ROOT / "docs").glob("*.md")] + [path.name for path in (ROOT / "docs" / "reference").iterdir()]
    assert len(names) > 700
    assert [name for name in names for _ in parts(name)] == []


def test_the_glossary_names_every_withdrawn_word() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert [word for word in TEXT if not re.search(rf"\b{word}\b", text)] == []
    assert all(hasattr(emu, name) for name in emu.__all__)


PLANTED = {
    "oracle": "equal to the oracle, bit for bit",
    "law": "the package is the law: what it returns is right",
    "witness": "a witness (`expect`) checks it by hand",
    "column": "the torch column and the NumPy column",
    "conversion": "an object of spec/conversion",
    "fast": "computed by the engine fast",
    "asked": "the asked engine is slow",
    "turned": "the turned matrix is read again",
    "able": "an able engine takes the plan",
    "edge": "the edge of the format",
    "form": "the form of worked examples",
}
SAID_RIGHT = (
    "a column of the suite, the columns of a matrix, row and column",
    "the conversion of binary32 to E2M1 takes the fast path; -ffast-math is off",
    "a form of the instruction; the rising edge of the clock; what it is asked for; turned into text; able to hold every sum",
    "a power law of the loss; in place; places of a small tensor",
)


@pytest.mark.parametrize("word", PLANTED)
def test_planted_sentences_are_seen_in_docstring_message_and_page(word: str) -> None:
    said = PLANTED[word]
    for text in (f'"""{said}"""\n', f'def f() -> None:\n    """{said}"""\n', f'x = 1\nraise ValueError(f"{{x}}: {said}")\n'):
        assert in_module(text), text
    assert in_page(f"# Page\n\n{said}\n")[0].startswith("3: says ")


NAMED = ["oracle_pages", "Witness", "witnesses", "FoundWitness", "numpy_column", "law", "fast", "turned", "able", "Place", "asked", "edges"]


@pytest.mark.parametrize("name", NAMED)
def test_planted_names_are_seen(name: str) -> None:
    assert in_module(f"def {name}() -> None: ...\n") and in_module(f"class {name}: ...\n")


@pytest.mark.parametrize("said", SAID_RIGHT)
def test_words_of_the_field_are_left_alone(said: str) -> None:
    assert in_module(f'"""{said}"""\n') == in_page(said) == []


@pytest.mark.parametrize("name", ["row_and_column", "columns", "convert", "is_edge", "lawful", "stage_columns", "placed", "transposed"])
def test_names_of_the_field_are_left_alone(name: str) -> None:
    assert in_module(f"def {name}() -> None: ...\n") == []
