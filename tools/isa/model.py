"""The pseudo-code of the proposal: read from the page, checked against its small typed language, and made to run.

The language: functions with types, names given once a type, if, for over range, return; integers, booleans, lists of integers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from emu.base.errors import FileError

_BLOCK: Final = re.compile(r"^```model\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INT, BOOL, LIST = "int", "bool", "list[int]"
BUILTINS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "abs": ((INT,), INT),
    "length": ((INT,), INT),
    "max": ((INT, INT), INT),
    "min": ((INT, INT), INT),
}
_INT_OPS: Final = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_ORDER: Final = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
Signature = tuple[tuple[str, ...], str]


def model_text(page: str) -> str:
    """Return the pseudo-code of a page, block after block. Raises: FileError (the page has none)."""
    found = _BLOCK.findall(page)
    if not found:
        raise FileError("the page holds no block ```model: make it again: python -m tools.docs build")
    return "\n".join(found)


def load(text: str) -> dict[str, Callable[..., Any]]:
    """Return the functions of pseudo-code, ready to run. Raises: FileError (a word that is not of the language; a wrong type)."""
    tree = ast.parse(text)
    check(tree)
    space: dict[str, Any] = {
        "__builtins__": {"abs": abs, "max": max, "min": min, "range": range, "int": int, "bool": bool, "list": list},
        "length": int.bit_length,
    }
    exec(compile(tree, "isa_proposal.md", "exec"), space)  # noqa: S102 - the tree holds nothing but what check lets through
    return {item.name: space[item.name] for item in tree.body if isinstance(item, ast.FunctionDef)}


def check(tree: ast.Module) -> dict[str, Signature]:
    """Check that pseudo-code keeps to its language; return the types of its functions. Raises: FileError."""
    functions = dict(BUILTINS)
    constants: dict[str, str] = {}
    for item in tree.body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and _type(item.value, {}, {}) == INT:
            constants[item.targets[0].id] = INT
        elif isinstance(item, ast.FunctionDef):
            if item.name in functions:
                raise _fault(item, f"{item.name} is defined twice")
            functions[item.name] = (tuple(_named(argument.annotation, item) for argument in item.args.args), _named(item.returns, item))
        else:
            raise _fault(item, "neither a constant nor a function")
    for item in tree.body:
        if isinstance(item, ast.FunctionDef):
            names = constants | dict(zip((argument.arg for argument in item.args.args), functions[item.name][0], strict=True))
            _body(item.body, names, functions, functions[item.name][1])
            if not isinstance(item.body[-1], ast.Return):
                raise _fault(item, f"{item.name} does not end in return")
    return functions


def _body(body: list[ast.stmt], names: dict[str, str], functions: dict[str, Signature], result: str) -> None:
    for item in body:
        if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
            name, found = item.targets[0].id, _type(item.value, names, functions)
            if names.setdefault(name, found) != found or (name.isupper() and name != "F"):
                raise _fault(item, f"{name} changes its type, or is a constant")
        elif isinstance(item, ast.Return) and item.value is not None:
            _want(item.value, result, names, functions)
        elif isinstance(item, ast.If):
            _want(item.test, BOOL, names, functions)
            _body(item.body, names, functions, result)
            _body(item.orelse, names, functions, result)
        elif isinstance(item, ast.For) and isinstance(item.target, ast.Name) and not item.orelse:
            names[item.target.id] = _range(item.iter, names, functions)
            _body(item.body, names, functions, result)
        else:
            raise _fault(item, "not a statement of the language")


def _range(call: ast.expr, names: dict[str, str], functions: dict[str, Signature]) -> str:
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) in (1, 2)):
        raise _fault(call, "for goes over range(n) or range(first, end)")
    _want_all([(argument, INT) for argument in call.args], names, functions)
    return INT


def _type(item: ast.expr, names: dict[str, str], functions: dict[str, Signature]) -> str:
    """Return the type of an expression."""
    if isinstance(item, ast.Constant) and type(item.value) in (int, bool):
        return BOOL if isinstance(item.value, bool) else INT
    if isinstance(item, ast.Name) and item.id in names:
        return names[item.id]
    if isinstance(item, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp):
        return _operation(item, names, functions)
    if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id in functions and not item.keywords:
        types, result = functions[item.func.id]
        if len(types) != len(item.args):
            raise _fault(item, f"{item.func.id} takes {len(types)} operands")
        _want_all(zip(item.args, types, strict=True), names, functions)
        return result
    return _list(item, names, functions)


def _operation(item: ast.expr, names: dict[str, str], functions: dict[str, Signature]) -> str:
    if isinstance(item, ast.BinOp) and isinstance(item.op, _INT_OPS):
        joins = isinstance(item.op, ast.Add) and _type(item.left, names, functions) == LIST
        wanted = LIST if joins else INT
        _want_all([(item.left, wanted), (item.right, wanted)], names, functions)
        return wanted
    if isinstance(item, ast.BoolOp):
        _want_all([(value, BOOL) for value in item.values], names, functions)
        return BOOL
    if isinstance(item, ast.Compare) and len(item.ops) == 1 and isinstance(item.ops[0], _ORDER):
        _want_all([(item.left, INT), (item.comparators[0], INT)], names, functions)
        return BOOL
    if isinstance(item, ast.IfExp):
        _want(item.test, BOOL, names, functions)
        return _want(item.orelse, _type(item.body, names, functions), names, functions)
    raise _fault(item, f"not of the language: {ast.unparse(item)}")


def _list(item: ast.expr, names: dict[str, str], functions: dict[str, Signature]) -> str:
    if isinstance(item, ast.Subscript):
        _want(item.value, LIST, names, functions)
        return _want(item.slice, INT, names, functions)
    if isinstance(item, ast.List):
        _want_all([(value, INT) for value in item.elts], names, functions)
        return LIST
    if isinstance(item, ast.ListComp) and len(item.generators) == 1 and not item.generators[0].ifs:
        target = item.generators[0].target
        if isinstance(target, ast.Name):
            _want(item.elt, INT, names | {target.id: _range(item.generators[0].iter, names, functions)}, functions)
            return LIST
    raise _fault(item, f"not of the language: {ast.unparse(item)}")


def _want_all(items: Iterable[tuple[ast.expr, str]], names: dict[str, str], functions: dict[str, Signature]) -> None:
    for item, wanted in items:
        _want(item, wanted, names, functions)


def _want(item: ast.expr, wanted: str, names: dict[str, str], functions: dict[str, Signature]) -> str:
    found = _type(item, names, functions)
    if found != wanted:
        raise _fault(item, f"{ast.unparse(item)} is {found}, not {wanted}")
    return found


def _named(annotation: ast.expr | None, where: ast.AST) -> str:
    text = "" if annotation is None else ast.unparse(annotation)
    if text not in (INT, BOOL, LIST):
        raise _fault(where, f"{text or 'no type'} is no type of the language")
    return text


def _fault(item: ast.AST, why: str) -> FileError:
    return FileError(f"pseudo-code, line {getattr(item, 'lineno', 0)}: {why}")
