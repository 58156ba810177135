"""Mutants of C sources: changes of nodes of the syntax tree, as tree-sitter reads it. Not here: which are drawn (draw.py).

Operators, numbers, conditions, the order of two answers, whole statements. Left out: what the grammar does not read (macros that stand
for words of a declaration), sizes of arrays, files that are generated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

PREFIX: Final = "c/"
GENERATED: Final = "Do not edit."
_SWAPS: Final = {  # token -> the tokens that it becomes
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|", "&&": "||", "||": "&&",
    "==": "!=", "!=": "==", "<": "<= >", "<=": "< >", ">": ">= <", ">=": "> <", "++": "--", "--": "++",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "^=": "|=", "<<=": ">>=", ">>=": "<<=",
}  # fmt: skip
_WITH_TOKEN: Final = ("binary_expression", "assignment_expression", "update_expression")
_CONDITIONS: Final = ("if_statement", "while_statement", "for_statement", "conditional_expression", "do_statement")
_INTEGER: Final = re.compile(r"(?P<number>0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)(?P<suffix>[uUlL]*)")


class Change(NamedTuple):
    """first, stop: bytes of the node that is drawn.   operator: its name.   edit: first and last byte of what is replaced, and by what."""

    first: int
    stop: int
    operator: str
    edit: tuple[int, int, bytes]


def changes(source: bytes) -> list[Change]:
    """Return every change of a source, in its order. Raises: ImportError (no tree-sitter)."""
    import tree_sitter_c
    from tree_sitter import Language, Parser

    nodes = [Parser(Language(tree_sitter_c.language())).parse(source).root_node]
    found = []
    while nodes:
        node = nodes.pop()
        if node.type != "ERROR":
            found += [Change(node.start_byte, node.end_byte, name, edit) for name, edit in _of(node)]
            nodes += node.children
    return sorted(found)


def changed(source: bytes, operator: str, occurrence: int) -> bytes:
    """Return the source with one change. Raises: IndexError (it has no such change)."""
    first, stop, text = [each.edit for each in changes(source) if each.operator == operator][occurrence]
    return source[:first] + text + source[stop:]


def _of(node: Any) -> Iterator[tuple[str, tuple[int, int, bytes]]]:
    """Yield name and edit of the changes of one node."""
    text, place = node.text, (node.start_byte, node.end_byte)
    if node.type in _WITH_TOKEN:
        token = node.child_by_field_name("operator")
        for other in _SWAPS.get(token.text.decode(), "").split() if token is not None else ():
            yield f"{token.text.decode()} becomes {other}", (token.start_byte, token.end_byte, other.encode())
    elif node.type == "unary_expression" and node.children[0].type in ("!", "~", "-"):
        yield f"without {node.children[0].type}", (node.children[0].start_byte, node.children[0].end_byte, b"")
    elif node.type == "number_literal" and (number := _INTEGER.fullmatch(text.decode())) and not _is_size(node):
        value = int(number["number"], 0)
        for name, near in (("number + 1", value + 1), ("number - 1", value - 1)):
            if near >= 0:
                yield name, (*place, f"{near}{number['suffix']}".encode())
    elif node.type in ("expression_statement", "break_statement", "continue_statement") and text != b";":
        yield "no statement", (*place, b";")
    condition = node.child_by_field_name("condition") if node.type in _CONDITIONS else None
    if condition is not None:
        yield "not", (condition.start_byte, condition.end_byte, b"(!(" + condition.text + b"))")
    if node.type == "conditional_expression":
        one, other = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if one is not None and other is not None:
            between = node.text[one.end_byte - node.start_byte : other.start_byte - node.start_byte]
            yield "answers the other way round", (one.start_byte, other.end_byte, other.text + between + one.text)


def _is_size(node: Any) -> bool:
    """Whether a number is the size of an array that is declared."""
    return node.parent is not None and node.parent.type == "array_declarator" and node.parent.child_by_field_name("size") == node
