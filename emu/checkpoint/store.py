"""Which store holds the tensors of a container: by names, types and what the file says of itself. No tensor is read here.

Two stores with the same names are told apart later, by what their scales hold (read.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emu.base.errors import FileError
from emu.checkpoint.container import FORMATS, Container, Entry, placed_beside
from emu.files.stored import block_said
from emu.spec import get, names
from emu.spec.models import Checkpoint
from emu.spec.models.checkpoint import Declared

SCALES_ALONE = "F8_E8M0"  # a type that holds nothing but scales


@dataclass(frozen=True)
class Match:
    """One weight as a store sees it. module: name without suffix.   parts: codes and levels by name, or record.   declared: by the file."""

    store: Checkpoint
    module: str
    parts: Mapping[str, Entry]
    declared: str | None

    @property
    def weight(self) -> str:
        """Name of the weight in a file that is not quantized."""
        return self.module + self.store.facts.weights[0]


def matches(container: Container) -> list[tuple[Match, ...]]:
    """Return, for each quantized tensor of a container, the stores that it fits; those the file declares, else the fullest.

    Raises: FileError when a tensor of codes lacks what every store needs beside it.
    """
    stores = [get("checkpoint", name) for name in names("checkpoint")]
    stores = [store for store in stores if store.facts.container == container.kind]
    of_file = {store.id: declaration(store, container) for store in stores}
    speaking = _speaking(container, stores)
    stores = [
        store
        for store in stores
        if of_file[store.id] or declaration(store, container, "*") or (store.facts.told_by == "names" and not speaking)
    ]
    found: dict[str, list[Match]] = {}
    lacking: dict[str, list[tuple[int, str, str]]] = {}
    for entry in container.entries.values():
        for store in stores:
            for module, needed in _places(store, entry):
                said = declaration(store, container, module) if store.facts.by_module == "yes" else of_file[store.id]
                if _of_another(container, store, module, said):
                    continue
                lacks = [_lack(container, name, dtypes) for name, dtypes in needed.values()]
                missing = [lack for lack in lacks if lack is not None]
                if not missing:
                    parts = {role: container.entries[name] for role, (name, _) in needed.items()}
                    found.setdefault(entry.name, []).append(Match(store, module, parts, said))
                elif len(needed) - len(missing) > 1 or said:
                    part, text = missing[0]
                    lacking.setdefault(entry.name, []).append((len(missing), part, f"{store.id} needs {text}"))
    for name, texts in lacking.items():
        if name not in found:
            _, part, text = min(texts)
            raise _of_no_store(container, name, part, text)
    _check_modules(container, [store for store in stores if store.facts.by_module == "yes"], set(found))
    best = [_best(items) for _, items in sorted(found.items())]
    _check_scales(container, [item for items in best for item in items])
    belonging = companions(container, [item for items in best for item in items])
    for entry in container.entries.values():
        if entry.dtype == SCALES_ALONE and entry.name not in belonging:
            raise _of_no_store(container, entry.name, "", "")
    return best


def _of_no_store(container: Container, name: str, part: str, needed: str) -> FileError:
    """Return the refusal of a tensor that is codes or scales of no store: what was found, what the nearest store needs, how to go on.

    part: the tensor that is missing.   needed: in words.
    """
    where = None if part in container.entries or not part else placed_beside(container.path, part)
    if where is not None:
        placed = f"the index says that it is in {where}: name the folder, with that file in it"
        return FileError(f"{container.path}: {name} is alone: {needed}; {placed}")
    stem = name.removesuffix(name[name.rfind(".") :]) if "." in name else name
    beside = [entry for name, entry in container.entries.items() if name.startswith(stem) and "." not in name.removeprefix(stem)[1:]]
    have = ", ".join(f"{entry.name} {entry.dtype} {[*entry.shape]}" for entry in beside[:4])
    near = f" ({needed})" if needed else ""
    own = "a store of your own (--spec DIR) can say what they are"
    return FileError(f"{container.path}: {name} is of no store: the spec has none with {have}{near}: {own}")


def _speaking(container: Container, stores: list[Checkpoint]) -> bool:
    """Tell whether the file speaks of its weights in the words of some store: names and types are no evidence for another then."""
    said = {(item.where, item.keys[0]) for store in stores if store.facts.described_by is None for item in store.facts.declared}
    header = any(where == "header" and key in container.metadata for where, key in said)
    return header or any(where == "tensor" and any(name.endswith(key) for name in container.entries) for where, key in said)


def _check_scales(container: Container, found: list[Match]) -> None:
    """Refuse scales, of the stores that were found, whose codes are missing or of another type. Raises: FileError.

    Scales that are plain numbers are left out: other libraries have some beside integers.
    """
    belonging = {entry.name for match in found for entry in match.parts.values()}
    for store in {match.store.id: match.store for match in found}.values():
        codes, scale = store.facts.codes, next((item for item in store.facts.levels if item.meaning == "scale"), None)
        if codes is None or scale is None or set(FORMATS) & set(scale.dtypes):
            continue
        for entry in container.entries.values():
            for suffix, beside in zip(scale.suffixes, codes.suffixes, strict=True):
                if entry.name in belonging or not entry.name.endswith(suffix) or entry.dtype not in scale.dtypes:
                    continue
                module = entry.name.removesuffix(suffix)
                if _of_another(container, store, module, declaration(store, container, module)):
                    continue
                lack = _lack(container, module + beside, codes.dtypes)
                if lack is not None:
                    raise _of_no_store(container, entry.name, lack[0], f"{store.id} needs {lack[1]}")


def _check_modules(container: Container, stores: list[Checkpoint], found: set[str]) -> None:
    """Refuse codes with scales beside them that are of none of some stores, by what the file says of their module. Raises: FileError."""
    for entry in container.entries.values() if stores else ():
        for module, needed in _places(stores[0], entry):
            if entry.name in found or sum(name in container.entries for name, _ in needed.values()) < 2:
                continue
            ways = (way for item in stores[0].facts.declared for way in (within(stores[0], item.keys, module), item.keys))
            words = (f"{'.'.join(way)} = {word}" for way in ways for data in container.config.values() for word in at(data, way))
            said = next(words, "the files beside it do not say how it is quantized")
            raise FileError(f"{container.path}: {entry.name} is of no store: {said}")


def _best(items: list[Match]) -> tuple[Match, ...]:
    """Return what the file declares where it declares any; of those, the ones with most parts."""
    declared = [item for item in items if item.declared] or items
    most = max(len(item.parts) for item in declared)
    return tuple(item for item in declared if len(item.parts) == most)


def _places(store: Checkpoint, entry: Entry) -> Iterator[tuple[str, dict[str, tuple[str, tuple[str, ...]]]]]:
    """Yield the module that an entry may hold the codes of, and every part by role: its name and the types it may bear."""
    facts = store.facts
    if facts.record is not None:
        if entry.dtype == facts.record.type and entry.name.endswith(facts.record.suffix):
            module = entry.name.removesuffix(facts.record.suffix)
            beside = {level.level: (module + level.suffixes[0], level.dtypes) for level in facts.levels}
            yield module, {"record": (entry.name, (facts.record.type,)), **beside}
        return
    assert facts.codes is not None
    for number, suffix in enumerate(facts.codes.suffixes):
        if entry.name.endswith(suffix) and entry.dtype in facts.codes.dtypes:
            module = entry.name.removesuffix(suffix)
            needed: dict[str, tuple[str, tuple[str, ...]]] = {"codes": (entry.name, facts.codes.dtypes)}
            needed |= {level.level: (module + level.suffixes[number], level.dtypes) for level in facts.levels}
            yield module, needed


def _of_another(container: Container, store: Checkpoint, module: str, said: str | None) -> bool:
    """Tell whether the file says, weight by weight, which blocks it holds, and that this weight's are not the store's.

    said: declaration() of the module.
    """
    if store.facts.by_module == "yes" and said is None:
        return True
    key = store.facts.described_by
    block = None if key is None else block_said(container.metadata.get(key), module)
    return block is not None and block not in store.facts.blocks


def _lack(container: Container, name: str, dtypes: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the name of a tensor that is missing, or of another type, and that in words; None: it is there."""
    entry = container.entries.get(name)
    if entry is None:
        return name, f"{name}, which is missing"
    return None if entry.dtype in dtypes else (name, f"{name} as {' or '.join(dtypes)}, which is {entry.dtype}")


def declaration(store: Checkpoint, container: Container, module: str = "") -> str | None:
    """Return where and in which word the file says that it is of a store, or None.

    module: whose weight is asked about, "*" of any: what stands under its name holds for it; "": of the file as a whole.
    """
    for item in store.facts.declared:
        for name, data in _sources(container, item):
            if item.where == "tensor":
                word = next((found for found in at(data, item.keys[1:]) if found in item.words), None)
                if word is not None:
                    return f"{name}: {'.'.join(item.keys[1:])} = {word}"
                continue
            own = within(store, item.keys, module)
            way = own if any(True for _ in at(data, own)) else item.keys
            word = next((found for found in at(data, way) if found in item.words), None)
            if word is not None:
                return f"{name}: {'.'.join(way)} = {word}"
    return None


def _sources(container: Container, item: Declared) -> Iterator[tuple[str, Any]]:
    """Yield name and JSON of what may state a store: files beside the tensors, the header, tensors of a name."""
    if item.where == "config":
        yield from container.config.items()
    elif item.where == "header":
        yield "header", container.metadata
    else:
        yield from ((entry.name, container.said(entry)) for entry in container.entries.values() if entry.name.endswith(item.keys[0]))


def within(store: Checkpoint, keys: tuple[str, ...], module: str) -> tuple[str, ...]:
    """Return the way to what holds for one module in the place of an entry; the way itself where the store has none of these."""
    return (*keys[:-1], module, keys[-1]) if module and store.facts.by_module == "yes" else keys


def at(data: Any, keys: tuple[str, ...]) -> Iterator[Any]:
    """Yield what stands at the end of a way through nested keys; * goes through all of them."""
    if not keys:
        yield data
    elif isinstance(data, Mapping):
        for key in data if keys[0] == "*" else [keys[0]]:
            if key in data:
                yield from at(data[key], keys[1:])


def companions(container: Container, chosen: list[Match]) -> set[str]:
    """Return the names of all tensors that belong to quantized ones."""
    found = {entry.name for match in chosen for entry in match.parts.values()}
    for match in chosen:
        found |= {match.module + suffix for suffix in (*match.store.facts.companions, *match.store.facts.zeros)}
    return found & set(container.entries)
