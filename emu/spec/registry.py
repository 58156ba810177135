"""Finding spec objects by id or alias: the shipped folder, EMU_SPEC_PATH, and folders added by load_spec.

Files are read one at a time, when their id is asked for. All of it is safe to use from several threads: what is known is published whole,
and one lock guards the way there. Not here: the YAML rules (loader.py), the keys (models/), the checks (check.py).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from emu.base import caches
from emu.base.errors import SpecError
from emu.base.forks import fork_safe_lock
from emu.spec.known import Key, Known, base_of, kind_of, shipped_root, source_ids, validate, with_base
from emu.spec.loader import Document, read
from emu.spec.models import KINDS, Series, SpecObject
from emu.spec.models.common import digest_json
from emu.spec.models.series import MEMBER_KINDS
from emu.spec.series import choice_of, choices, member_document, member_id, near_line

__all__ = [
    "Registry",
    "added",
    "added_folders",
    "broken",
    "broken_causes",
    "digest",
    "get",
    "isolated",
    "load_spec",
    "names",
    "replaced",
    "restored",
    "shipped_root",
]


class Registry:
    """Spec objects by id or alias.

    root: folder of the shipped spec.   path: folders added at first use, separated as in PATH; None: those of EMU_SPEC_PATH.

    An object that is known is found without the lock. What is not yet known is read, checked and published under the lock, so that no
    thread meets an object that is not checked, or a folder of which only some files are there.
    """

    def __init__(self, root: Path | None = None, path: str | None = None) -> None:
        self._lock = fork_safe_lock("outer")
        self._root, self._path = root, path
        self._known = Known()
        self._trial: Known | None = None  # a folder that is being added: seen by the thread that has the lock
        self._unchecked: dict[Key, SpecObject] = {}  # read, and being checked by the thread that has the lock
        self._pending: list[str] = []  # files whose base is being read

    def get(self, kind: str, name: str | SpecObject) -> Any:
        """Return the spec object of an id or alias; a model is returned as it is. Raises: SpecError, see `emu.spec.get`."""
        if isinstance(name, SpecObject):
            if name.kind != kind:
                raise SpecError(f"{name.id} is a {name.kind}, not a {kind}")
            return name
        if isinstance(name, str):
            found = self._known.models.get((kind, name))
            if found is not None:
                return found
        with self._lock:
            return self._find(kind, name)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the ids of a kind, sorted. Raises: SpecError for another kind."""
        with self._lock:
            if kind not in KINDS:
                self._now()
                raise SpecError(f"kind {kind!r} is unknown: one of {', '.join(KINDS)}")
            return tuple(sorted(self._now().paths[kind]))

    def digest(self, thing: SpecObject) -> str:
        """Return the sha256 of an object's facts and of everything they refer to (no ids, titles, sources or worked examples of it)."""
        key = (thing.kind, thing.facts_digest)
        found = self._known.digests.get(key)
        if found is not None:
            return found
        with self._lock:
            needed = {(kind, name): self.digest(self.get(kind, name)) for kind, name, _ in thing.references()}
            found = digest_json([thing.facts_digest, sorted([kind, name, value] for (kind, name), value in needed.items())])
            return self._now().digests.setdefault(key, found)

    def added_folders(self) -> tuple[str, ...]:
        """Return the folders of spec files beside the shipped one, for a process that is to know the same objects."""
        with self._lock:
            return tuple(str(root.resolve()) for root in self._now().folders[1:])

    def added(self, kind: str, name: str) -> bool:
        """Tell whether a known object is of an added folder: by its file, or by that of its series."""
        with self._lock:
            if name in self._now().paths[kind]:
                return self._added_after(kind, name) > 0
            return any(self._added_after("series", item.id) > 0 for item in self._series_of(kind) if choice_of(item, name) is not None)

    def knows(self, kind: str, name: str) -> bool:
        """Tell whether an object has this id or alias, or a series a member of this id."""
        with self._lock:
            if name in self._now().paths[kind] or name in self._alias_table(kind):
                return True
            return any(choice_of(series, name) is not None for series in self._series_of(kind))

    def broken(self) -> dict[Path, str]:
        """Return the files that load_spec left out, and what is wrong with each."""
        with self._lock:
            return dict(self._now().broken)

    def load_spec(self, folder: str | Path, *, skip_broken: bool = False) -> tuple[str, ...]:
        """Add every spec file below a folder; returns "kind/id" of what was added. Raises: SpecError, see `emu.spec.load_spec`."""
        with self._lock:
            outer = self._trial  # the folders of EMU_SPEC_PATH are added while the first state is being made
            self._trial = trial = self._now().copy()
            try:
                added = self._add(Path(folder), skip_broken)
            except BaseException:
                self._trial = outer
                raise
            if outer is None:
                self._known, self._trial = trial, None
            return added

    @contextmanager
    def isolated(self, root: Path) -> Iterator[None]:
        """Work on the spec below one folder alone; at the end all is as before. See `emu.spec.registry.isolated`."""
        with self.restored():
            self._known = Known.of(root)
            caches.clear(names_only=True)
            yield

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Take out at the end what load_spec adds inside. See `emu.spec.registry.restored`."""
        with self._lock:
            before = self._trial or self._known  # where nothing was used yet, nothing is read: a broken folder of the environment either
        try:
            yield
        finally:
            self._known = before
            caches.clear(names_only=True)

    @contextmanager
    def replaced(self, model: SpecObject) -> Iterator[None]:
        """Work with another model under the id of a known object. See `emu.spec.registry.replaced`."""
        key = (model.kind, model.id)
        self.get(*key)
        with self.restored():
            users = self._users(key)
            known = self._known.copy()
            for item in [item for item in known.models if item[1] not in known.paths[item[0]]]:  # members of series: made again
                known.forget(item)
            known.models[key] = model
            known.digests.clear()
            self._known = known
            caches.clear(names_only=True)
            for item in (key, *users):
                self._check(known.models[item], known.documents[item])
            yield

    def _now(self) -> Known:
        """Return what the thread that has the lock sees; at first use the shipped folder and those of the environment."""
        if self._trial is None and not self._known.folders:
            self._start()
        return self._trial or self._known

    def _start(self) -> None:
        self._trial = Known.of(self._root or shipped_root())
        path = os.environ.get("EMU_SPEC_PATH", "") if self._path is None else self._path
        try:
            for folder in filter(None, path.split(os.pathsep)):
                self.load_spec(folder)
            self._known = self._trial
        except SpecError as error:
            raise SpecError(f"EMU_SPEC_PATH: {error}") from None
        finally:
            self._trial = None

    def _find(self, kind: str, name: Any) -> SpecObject:
        known = self.names(kind)
        if not isinstance(name, str):
            raise SpecError(f"a {kind} is named by a string or a model, not {type(name).__name__}")
        now = self._now()
        found = now.models.get((kind, name)) or self._unchecked.get((kind, name))
        if found is not None:
            return found
        if name in now.paths[kind]:
            return self._load(kind, now.paths[kind][name])
        aliases = self._alias_table(kind)
        if name in aliases:
            return self._find(kind, aliases[name])
        member = self._member(kind, name)
        if member is not None:
            return member
        for path, fault in now.broken.items():
            if path.stem == name:
                raise SpecError(fault)
        if kind == "recipe":
            line = _asking.family_line(name)
            if line is not None:
                raise SpecError(f"recipe {name!r} {line}")
        for series in self._series_of(kind):
            line = near_line(series, name)
            if line is not None:
                raise SpecError(f"{kind} {name!r} {line}")
        close = difflib.get_close_matches(name, [*known, *aliases], n=3, cutoff=0.5)
        near = list(dict.fromkeys(aliases.get(item, item) for item in close))  # an alias is accepted, never printed
        raise SpecError(f"{kind} {name!r} is unknown: " + (f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(known)}"))

    def _member(self, kind: str, name: str) -> SpecObject | None:
        """Return the member of a series that an id means, read and checked as if it had a file; None where no series has it."""
        for series in self._series_of(kind):
            choice = choice_of(series, name)
            if choice is not None:
                document = self._now().documents["series", series.id]
                return self._checked(kind, name, member_document(series, document, choice))
        return None

    def _series_of(self, kind: str) -> Iterator[Series]:
        """Yield the series whose members are of a kind; of a kind that none can have no file is read."""
        for name in self._now().paths["series"] if kind in MEMBER_KINDS else ():
            series = self._find("series", name)
            assert isinstance(series, Series)
            if series.facts.of == kind:
                yield series

    def _alias_table(self, kind: str) -> dict[str, str]:
        """Return alias -> id of every file of a kind (reads them all, once)."""
        now = self._now()
        if kind not in now.aliases:
            table: dict[str, str] = {}
            for name in sorted(self.names(kind), key=lambda name: (self._added_after(kind, name), name)):
                for number, alias in enumerate(self._find(kind, name).accepted):
                    if alias in now.paths[kind] and self._added_after(kind, alias) > self._added_after(kind, name):
                        where, other = now.documents[kind, alias].where(("id",)), name
                        raise SpecError(f"{where}: id {alias!r} is an alias of {kind} {other}: rename yours")
                    if alias in table or alias in now.paths[kind] or self._member(kind, alias) is not None:
                        where = now.documents[kind, name].where(("aliases", number))
                        raise SpecError(f"{where}: alias {alias!r} already names {kind} {table.get(alias, alias)}: remove it")
                    table[alias] = name
            now.aliases[kind] = table
        return now.aliases[kind]

    def _added_after(self, kind: str, name: str) -> int:
        """Return how many folders were there before the one that holds a file."""
        now = self._now()
        path = now.paths[kind][name]
        return max((number for number, root in enumerate(now.folders) if path.is_relative_to(root)), default=0)

    def _users(self, key: Key) -> list[Key]:
        """Return the known objects that name an object, directly or through others."""
        things = [self.get(kind, name) for kind in KINDS for name in self.names(kind)]
        names_of = {(thing.kind, thing.id): {(kind, name) for kind, name, _ in thing.references()} for thing in things}
        found: list[Key] = []
        news = {key}
        while news:
            news = {item for item, named in names_of.items() if named & news and item not in found and item != key}
            found += sorted(news)
        return found

    def _add(self, root: Path, skip_broken: bool) -> tuple[str, ...]:
        """Register the files of a folder in the trial, then read and check each. Raises: SpecError; the caller drops the trial then."""
        now = self._now()
        if not root.is_dir():
            raise SpecError(f"{root}: no such folder: give one with .yaml files")
        added: list[Key] = []
        found: list[tuple[str, Path, Document]] = []
        for path in sorted(p for p in root.rglob("*") if p.suffix.lower() in (".yaml", ".yml") and p.name != "sources.yaml"):
            try:
                if path.suffix != ".yaml":
                    raise SpecError(f"{path}: files that end in {path.suffix} are not read: rename it to {path.stem}.yaml")
                document = read(path)
                found.append((kind_of(document, path), path, document))
            except SpecError as error:
                if not skip_broken:
                    raise
                now.broken[path] = str(error)
        now.folders = (*now.folders, root)
        for kind, path, document in found:
            known = now.paths[kind].get(path.stem)
            if known is not None and known != path:
                other = self._find(kind, path.stem)
                mine = _asking.settled(validate(kind, self._with_base(kind, document), path.stem))
                if other.facts_digest != mine.facts_digest:
                    raise SpecError(f"{path}:1: {kind} {path.stem} is already defined in {known} with other facts: rename yours")
            elif known is None:
                now.paths[kind][path.stem] = path
                added.append((kind, path.stem))
        now.aliases.clear()
        good = self._read(added, skip_broken)
        clashes = dict(self._clashes([key for key in added if "/".join(key) in good]))
        for key, why in clashes.items():
            if not skip_broken:
                raise SpecError(why)
            now.broken[now.paths[key[0]][key[1]]] = why
            now.forget(key)
        return tuple(item for item in good if tuple(item.split("/")) not in clashes)

    def _clashes(self, added: list[Key]) -> Iterator[tuple[Key, str]]:
        """Yield what was added and is called as a member of a series, or has a member called as something else; and the line to say."""
        now = self._now()
        for kind, name in added:
            owner = next((item for item in self._series_of(kind) if choice_of(item, name) is not None), None)
            if owner is not None:
                yield (kind, name), f"{now.paths[kind][name]}:1: {kind} {name} is a member of the series {owner.id}: rename yours"
        news = {name for kind, name in added if kind == "series"}
        for series in (item for kind in MEMBER_KINDS if news for item in self._series_of(kind) if item.id in news):
            others = [item for item in self._series_of(series.facts.of) if item.id != series.id]
            for member in (member_id(series, choice) for choice in choices(series)):
                other = next((item for item in others if choice_of(item, member) is not None), None)
                if other is not None or member in now.paths[series.facts.of]:
                    what = f"a member of the series {other.id}" if other else f"a {series.facts.of}"
                    where = now.documents["series", series.id].where(("facts", "name"))
                    yield ("series", series.id), f"{where}: {member} is {what} already: rename yours"
                    break

    def _read(self, left: list[Key], skip_broken: bool) -> tuple[str, ...]:
        """Read and check registered files; return "kind/id" of those that are good. Raises: SpecError (unless broken ones are skipped)."""
        now = self._now()
        while left:
            try:
                for kind, name in left:
                    self._find(kind, name)
                    self._alias_table(kind)
                return tuple(f"{kind}/{name}" for kind, name in left)
            except SpecError as error:
                if not skip_broken:
                    raise
                said = [key for key in left if str(error).startswith(f"{now.paths[key[0]][key[1]]}:")]  # of two with one alias the later
                key = said[0] if said else (kind, name)
                now.broken[now.paths[key[0]][key[1]]] = str(error)
                left.remove(key)
                now.forget(key)
        return ()

    def _load(self, kind: str, path: Path) -> SpecObject:
        """Read, validate and check one file, then keep it."""
        document = read(path)
        if kind_of(document, path) != kind:
            raise SpecError(f"{document.where(('kind',))}: kind {document.data['kind']!r} where a {kind} is needed")
        return self._checked(kind, path.stem, self._with_base(kind, document))

    def _checked(self, kind: str, name: str, document: Document) -> SpecObject:
        """Validate and check one document, then keep it."""
        now, key = self._now(), (kind, name)
        model = validate(kind, document, name)
        self._unchecked[key] = model
        try:
            self._check(model, document)
            model = _asking.settled(model)
        finally:
            del self._unchecked[key]
        now.documents[key] = document
        now.models[key] = model
        return model

    def _with_base(self, kind: str, document: Document) -> Document:
        """Return a document with the facts of the object it is based on filled in where it says nothing. Raises: SpecError."""
        data, base = document.data, base_of(kind, document)
        if base is None:
            return document
        where, known = document.where(("based_on",)), self.names(kind)
        if base not in known:
            near = difflib.get_close_matches(base, known, n=1)
            raise SpecError(f"{where}: {kind} {base!r} is unknown: " + (f"did you mean {near[0]}?" if near else "see `emu list`"))
        if base == data.get("id") or document.file in self._pending:
            raise SpecError(f"{where}: {base!r} is based on this file again: name another")
        self._pending.append(document.file)
        try:
            self._find(kind, base)
        finally:
            self._pending.pop()
        return with_base(document, self._now().documents[kind, base].data["facts"])

    def _check(self, model: SpecObject, document: Document) -> None:
        """Check what one file cannot know: names of other objects, sources, and that programs type-check."""
        for kind, name, path in model.references():
            try:
                target = self.get(kind, name)
            except SpecError as error:
                raise SpecError(str(error) if ".yaml:" in str(error) else f"{document.where(path)}: {error}") from None
            if target.id != name:
                raise SpecError(f"{document.where(path)}: {kind} {name!r} is an alias: write {target.id}")
        known = source_ids((self._trial or self._known).folders)
        for number, source in enumerate(model.sources):
            if source.ref not in known:
                near = difflib.get_close_matches(source.ref, known, n=1)
                hint = f"did you mean {near[0]}?" if near else "add a sources.yaml with it to the folder, or write sources: []"
                raise SpecError(f"{document.where(('sources', number, 'ref'))}: source {source.ref!r} is not in sources.yaml: {hint}")
        _asking.check_facts(model, document)


class Asking:
    """What reading a file needs of modules that ask the registry for other objects: `emu.spec` hands it over when it is imported.

    check_facts: checks an object against the others.   settled: brings one that passed to the form that engines ask.
    family_line: what an unknown recipe name says when it is the name of a family.
    """

    check_facts: Callable[[SpecObject, Document], None]
    settled: Callable[[SpecObject], SpecObject]
    family_line: Callable[[str], str | None]


_asking: Final = Asking()


def hand_over(
    check_facts: Callable[[SpecObject, Document], None],
    settled: Callable[[SpecObject], SpecObject],
    family_line: Callable[[str], str | None],
) -> None:
    """Take what reading a file needs of modules above this one."""
    _asking.check_facts, _asking.settled, _asking.family_line = check_facts, settled, family_line


_DEFAULT: Final = Registry()


def names(kind: str) -> tuple[str, ...]:
    """Return the ids of a kind, sorted.

    kind: a key of KINDS, such as format.   Raises: SpecError for another kind.
    """
    return _DEFAULT.names(kind)


def get(kind: str, name: str | SpecObject) -> Any:
    """Return the spec object of an id or alias; a model is returned as it is.

    Raises: SpecError (unknown name with the nearest ones; a fault of the file with file and line).
    """
    return _DEFAULT.get(kind, name)


def digest(thing: SpecObject) -> str:
    """Return the sha256 of an object's facts and of everything they refer to (no ids, titles, sources or worked examples of it)."""
    return _DEFAULT.digest(thing)


def added_folders() -> tuple[str, ...]:
    """Return the folders of spec files beside the shipped one, for a process that is to know the same objects."""
    return _DEFAULT.added_folders()


def added(kind: str, name: str) -> bool:
    """Tell whether a known object is of a folder added beside the shipped one: by its file, or by that of its series."""
    return _DEFAULT.added(kind, name)


def knows(kind: str, name: str) -> bool:
    """Tell whether an object has this id or alias, or a series a member of this id: no message is made where none has."""
    return _DEFAULT.knows(kind, name)


def load_spec(folder: str | Path, *, skip_broken: bool = False) -> tuple[str, ...]:
    """Add every spec file below a folder to the registry.

    folder: holds *.yaml files, in sub-folders per kind or flat; a sources.yaml adds sources. A *.yml is a bad file.
    skip_broken: leave a bad file out, and what needs it; `emu.spec.registry.broken` lists them, and asking for one by its id raises.
    Returns: "kind/id" of what was added.
    Raises: SpecError (bad file; an id that is already known with other facts); nothing is added then, and no thread has seen any of it.
    """
    return _DEFAULT.load_spec(folder, skip_broken=skip_broken)


def broken() -> dict[Path, str]:
    """Return the files that load_spec left out, and what is wrong with each."""
    return _DEFAULT.broken()


def broken_causes() -> dict[str, str]:
    """Return what is wrong with the files that load_spec left out, each cause once: its line -> the file left out, and how many need it."""
    files: dict[str, list[Path]] = {}
    for path, fault in broken().items():
        files.setdefault(fault, []).append(path)
    told = {}
    for fault, paths in files.items():
        own = next((path for path in paths if fault.startswith(f"{path}:")), paths[0])
        others = len(paths) - 1
        need = "" if not others else " and one more that needs it" if others == 1 else f" and {others} more that need it"
        told[fault] = f"{own.name}{need} {'are' if others else 'is'} left out"
    return told


def isolated(root: Path) -> AbstractContextManager[None]:
    """Work on the spec below one folder alone: not the shipped one, not EMU_SPEC_PATH; at the end all is as before.

    root: holds a folder per kind and sources.yaml.   The whole process works on it: not while other threads use the registry.
    """
    return _DEFAULT.isolated(root)


def restored() -> AbstractContextManager[None]:
    """Take out at the end what load_spec adds inside. For the whole process: not while other threads use the registry."""
    return _DEFAULT.restored()


def replaced(model: SpecObject) -> AbstractContextManager[None]:
    """Work with another model under the id of a known object; all that names it is checked again, and at the end all is as before.

    model: its id must be known.   Raises: SpecError when it, or what names it, is refused.
    For the whole process: not while other threads use the registry.
    """
    return _DEFAULT.replaced(model)
