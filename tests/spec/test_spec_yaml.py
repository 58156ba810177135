"""What the strict loader refuses: the exact line and message, on both of PyYAML's parsers. Not here: keys (test_spec_faults.py)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from emu.base.errors import SpecError
from emu.spec.loader import PARSERS, parse, read

BOTH = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]
NAMES = [parser.__name__ for parser in BOTH]

BARE = [
    "no",
    "yes",
    "No",
    "YES",
    "true",
    "off",
    "on",
    "y",
    "n",
    "0101",
    "0o7",
    "1e3",
    "1.5",
    ".5",
    "1:30",
    "0x7",
    "0x7F",
    "null",
    "~",
    "Null",
    "nan",
]
BARE += [".nan", ".inf", "-.inf", "-0", "+1", "1_000", "00", "-01", "e2m1", "2026-01-01", "1/2", "2^3", "=", "9" * 19]

FAULTS = [
    ("duplicate_key", 'a: 1\nb: 2\na: "3"\n', 3, "key a appears twice (first on line 1): keep one"),
    ("duplicate_key_in_flow", "x:\n  - {a: 1, b: 2, a: 1}\n", 2, "key a appears twice (first on line 2): keep one"),
    ("no_value", "a: 1\nb:\nc: 2\n", 2, "a value is missing: write one after the key or the dash"),
    ("no_item", "a:\n  - 1\n  -\n", 3, "a value is missing: write one after the key or the dash"),
    ("single_quotes", "a: 'x'\n", 1, "write strings in double quotes on one line"),
    ("literal_block", "a: 1\nb: |\n  x\n", 2, "write strings in double quotes on one line"),
    ("folded_block", "a: 1\nb: >-\n  x\n", 2, "write strings in double quotes on one line"),
    ("string_of_two_lines", 'a: "x\n  y"\n', 1, "write strings in double quotes on one line"),
    ("anchor", "a: &k 1\n", 1, "anchors and aliases are not allowed: write the value out"),
    ("anchor_of_a_list", "b: 1\na: &k [1]\n", 2, "anchors and aliases are not allowed: write the value out"),
    ("anchor_of_a_key", "b: 1\n&k a: 1\n", 2, "anchors and aliases are not allowed: write the value out"),
    ("alias", "a: 1\nb: *a\n", 2, "anchors and aliases are not allowed: write the value out"),
    ("alias_as_key", "a: 1\n*a : 2\n", 2, "anchors and aliases are not allowed: write the value out"),
    ("tag", "a: 1\nb: !!str x\n", 2, "tag tag:yaml.org,2002:str is not allowed: remove it"),
    ("tag_of_a_map", "b: !!map {a: 1}\n", 1, "tag tag:yaml.org,2002:map is not allowed: remove it"),
    ("local_tag", 'b: !code "1"\n', 1, "tag !code is not allowed: remove it"),
    ("tag_of_a_key", "!!str b: 1\n", 1, "tag tag:yaml.org,2002:str is not allowed: remove it"),
    ("merge_key", "a: 1\n<<: {b: 2}\n", 2, "merge keys (<<) are not allowed: write the keys out"),
    ("quoted_key", '"a": 1\n', 1, "a key must be a bare word of a-z, 0-9 and _, not 'a'"),
    ("upper_case_key", "a: 1\nBias: 1\n", 2, "a key must be a bare word of a-z, 0-9 and _, not 'Bias'"),
    ("number_as_key", "a: 1\n1: 1\n", 2, "a key must be a bare word of a-z, 0-9 and _, not '1'"),
    ("list_as_key", "? [a]\n: 1\n", 1, "a key must be a bare word of a-z, 0-9 and _, not 'a collection'"),
    ("set_item", "{a: 1, b}\n", 1, "a value is missing: write one after the key or the dash"),
    ("second_document", "a: 1\n---\nb: 2\n", 2, "a second document: one object per file"),
    ("tab_indent", "a:\n\tb: 1\n", 2, "a tab character: indent with spaces"),
    ("tab_in_a_comment", "a: 1 #\tx\n", 1, "a tab character: indent with spaces"),
    ("control_character", 'a: 1\nb: "x\x07"\n', 2, "control character U+0007: remove it"),
    ("form_feed", "a: 1\n\x0cb: 1\n", 2, "control character U+000C: remove it"),
    ("line_separator", 'a: "x\u2028y"\n', 1, "control character U+2028: remove it"),
    ("right_to_left", 'a: 1\ntitle: "x\u202ey"\n', 2, "control character U+202E: remove it"),
    ("isolate", 'a: 1\nb:\n  - "\u2066"\n', 3, "control character U+2066: remove it"),
    ("zero_width", 'a: "\u200b"\n', 1, "control character U+200B: remove it"),
    ("tag_letter", 'a: "\U000e0041"\n', 1, "control character U+E0041: remove it"),
    ("mark_inside", 'a: 1\nb: "\ufeff"\n', 2, "control character U+FEFF: remove it"),
    ("escape", 'a: "\\u0041"\n', 1, "a backslash: write the character itself"),
    ("surrogate", 'a: "\\ud800"\n', 1, "a backslash: write the character itself"),
    ("directive", "%YAML 1.2\n---\na: 1\n", 1, "a directive: remove it"),
    ("empty", "", 1, "the file is empty: write one object with kind, id, title, status, facts, sources"),
    ("only_comments", "# a\n\n# b\n", 1, "the file is empty: write one object with kind, id, title, status, facts, sources"),
    ("too_deep", "a: " + "[" * 30 + "]" * 30 + "\n", 1, "nested more than 24 deep: no spec object is"),
    ("far_too_deep", "[" * 5000, 1, "nested more than 24 deep: no spec object is"),
    ("two_values", "a: 1\nb: [1, , 2]\n", 2, "not YAML: expected the node content, but found ','"),
    ("two_scalars", 'a: "x" "y"\n', 1, "not YAML: expected <block end>, but found '<scalar>'"),
    ("open_list", "a: [1,\nb: 2\n", 3, "not YAML: expected ',' or ']', but got '<stream end>'"),
    ("open_string", 'a: 1\nb: "x\n', 3, "not YAML: found unexpected end of stream"),
    ("bad_indent", 'a: "1"\n  b: 2\n', 2, "not YAML: expected <block end>, but found '<block mapping start>'"),
    ("bad_indent_after_a_number", "a: 1\n  b: 2\n", 1, 'bare 1 b is ambiguous in YAML: write "1 b" in double quotes'),
    ("dash_after_key", "a: - 1\n", 1, "not YAML: sequence entries are not allowed here"),
]


def fault(text: str, parser: Any) -> str:
    with pytest.raises(SpecError) as caught:
        parse(text, "f.yaml", parser)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("parser", BOTH, ids=NAMES)
@pytest.mark.parametrize(("text", "line", "message"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_fault(text: str, line: int, message: str, parser: Any) -> None:
    assert fault(text, parser) == f"f.yaml:{line}: {message}"


@pytest.mark.parametrize("parser", BOTH, ids=NAMES)
@pytest.mark.parametrize("word", BARE)
def test_bare_scalar(word: str, parser: Any) -> None:
    wanted = f'bare {word} is ambiguous in YAML: write "{word}" in double quotes'
    assert fault(f"a: 1\nb: {word}\n", parser) == f"f.yaml:2: {wanted}"
    assert fault(f"b:\n  - 1\n  - {word}\n", parser) == f"f.yaml:3: {wanted}"
    assert parse(f'b: "{word}"\n', "f.yaml", parser).data == {"b": word}


@pytest.mark.parametrize("parser", BOTH, ids=NAMES)
def test_what_is_allowed(parser: Any) -> None:
    text = '# c\na: 0\nb: -12  # d\nc: "é # x"\nd: {e: [1, "2", {f: 3}], g: []}\nh:\n  - i: 1\n    j: {}\n'
    wanted = {"a": 0, "b": -12, "c": "é # x", "d": {"e": (1, "2", {"f": 3}), "g": ()}, "h": ({"i": 1, "j": {}},)}
    document = parse(text, "f.yaml", parser)
    assert document.data == wanted
    assert [document.where(path) for path in (("b",), ("d", "e", 2, "f"), ("h", 0, "j"), ("h", 0, "none"), ("none",))] == [
        "f.yaml:3",
        "f.yaml:5",
        "f.yaml:8",
        "f.yaml:7",
        "f.yaml:2",
    ]
    for same in (text.replace("\n", "\r\n"), "\ufeff" + text, f"---\n{text}...\n"):
        assert parse(same, "f.yaml", parser).data == wanted


def test_the_c_parser_is_used_where_it_is_there() -> None:
    assert PARSERS[0] is BOTH[-1]


@pytest.mark.parametrize("name", ["spec", "rows"])
def test_parsers_agree_on_every_shipped_file(name: str, checkout: Path) -> None:
    files = sorted((checkout / "spec").rglob("*.yaml")) if name == "spec" else sorted((checkout / "tests").rglob("*rows*/*.yaml"))[:3]
    assert len(files) >= {"spec": 100, "rows": 3}[name]
    for path in files:
        text = path.read_text(encoding="utf-8")
        both = [parse(text, path.name, parser) for parser in BOTH]
        assert all((one.data, one.lines) == (both[0].data, both[0].lines) for one in both)


def test_unreadable_files(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes('a: 1\nb: "é"\n'.encode("latin-1"))
    with pytest.raises(SpecError) as caught:
        read(latin)
    assert str(caught.value) == f"{latin}:2: byte 0xE9 is not UTF-8 text: save the file as UTF-8"
    (tmp_path / "wide.yaml").write_bytes("a: 1\n".encode("utf-16"))
    with pytest.raises(SpecError, match=r"wide\.yaml:1: byte 0xFF is not UTF-8 text"):
        read(tmp_path / "wide.yaml")
    with pytest.raises(SpecError, match=r"none\.yaml: cannot read: No such file or directory"):
        read(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match=r": cannot read: Is a directory"):
        read(tmp_path)
