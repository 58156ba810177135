"""The process that derives rows with faults in: `python -m support.mutation_worker FOLDER`, faults as JSON on its standard input.

For each fault a child is forked. It forgets every module of emu; it takes the changed copy first on the path, or the changed C library in
the place of the extension, or replaces one fact; and it derives the rows. One line of JSON a fault: rows derived, ids of those that differ.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import types
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

from support.mutation import Fault, Library, c_folder, write_package
from support.mutation_derive import expected
from support.mutation_rows import Suite, read_suites

ENGINES: Final = {"spec": "exact", "exact": "exact", "numpy": "numpy", "c": "c_ref"}
SECONDS: Final = 600


def main() -> None:
    """Read faults, fork for each, print what differs."""
    folder = Path(sys.argv[1])
    faults = [Fault(*fields) for fields in json.load(sys.stdin)]
    ops = sorted({op for fault in faults for op in fault.ops})
    held = {op: read_suites(folder, op) for op in ops if (folder / f"{op}.json").is_file()}
    wanted = {suite.stem: expected(suite) for suites in held.values() for suite in suites}
    if any(fault.layer == "c" for fault in faults):
        declarations()
    for fault in faults:
        read_end, write_end = os.pipe()
        child = os.fork()
        if not child:
            os.close(read_end)
            signal.alarm(SECONDS)
            answer = tried(folder, fault, [suite for op in fault.ops for suite in held.get(op, ())], wanted)
            with os.fdopen(write_end, "w") as stream:
                stream.write(json.dumps(answer))
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as stream:
            text = stream.read()
        status = os.waitpid(child, 0)[1]
        print(text or json.dumps({"id": fault.id, "error": f"its process ended with status {status}"}), flush=True)


def tried(folder: Path, fault: Fault, suites: Sequence[Suite], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what a fault changes, or why that could not be found out."""
    try:
        return {"id": fault.id, **derive(folder, fault, suites, wanted)}
    except Exception as error:
        return {"id": fault.id, "error": f"{type(error).__name__}: {error}"}


def derive(folder: Path, fault: Fault, suites: Sequence[Suite], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return {derived: rows, found: stem -> ids that differ}."""
    right = not fault.text
    ffi: Any = declarations() if fault.layer == "c" else None
    if fault.layer in ("exact", "numpy"):
        write_package(folder / fault.id, None if right else fault)
        sys.path.insert(0, str(folder / fault.id))
    library = Library(folder / "c", shared=True).make(None if right else fault) if fault.layer == "c" else None
    for name in [name for name in sys.modules if name.partition(".")[0] in ("emu", "support")]:  # support holds names of emu
        del sys.modules[name]
    if library is not None:
        module: Any = types.ModuleType("emu.engines.c_ref._c")
        module.ffi, module.lib = ffi, ffi.dlopen(str(library))
        sys.modules["emu.engines.c_ref._c"] = module
    from support import mutation_derive

    changing, keys = changed(fault)
    out: dict[str, Any] = {"derived": 0, "found": {}}
    with changing:
        for suite in suites:
            if keys and not keys & reach(suite.spec):
                continue
            found, derived = mutation_derive.differing(suite, ENGINES[fault.layer], wanted[suite.stem])
            out["derived"] += derived
            out["found"] |= {suite.stem: found} if found else {}
    return out


_made: list[Any] = []


def declarations() -> Any:
    """Return the parsed declarations of the header; the children inherit them."""
    if not _made:
        from cffi import FFI

        header = (c_folder() / "emu_ref.h").read_text(encoding="utf-8")
        _made.append(FFI())
        _made[0].cdef(header.split("/* cdef begin */")[1].split("/* cdef end */")[0])
    return _made[0]


def changed(fault: Fault) -> tuple[AbstractContextManager[None], set[str]]:
    """Return a context in which the fact of a fault of the spec is replaced, and the object whose suites it may change.

    In it the loader does not judge the objects that name this one: it would refuse a recipe that needs the fact as it was, and no row
    of any other could say what it notices.
    """
    if not fault.change:
        return nullcontext(), set()
    from support import mutants, mutation

    from emu.spec import registry

    registry.hand_over(lambda *_: None, registry._asking.settled, registry._asking.family_line)
    mutant = mutation.Fault(*fault).mutant()
    return registry.replaced(mutants.validated(mutant)), {f"{mutant.kind}/{mutant.id}"}


def reach(names: tuple[str, ...]) -> set[str]:
    """Return the objects of these names and all that they name, as kind/id."""
    from emu.spec import get

    found, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [f"{kind}/{other}" for kind, other, _ in get(*name.split("/")).references()]
    return found


if __name__ == "__main__":
    main()
