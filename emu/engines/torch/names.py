"""Spec objects under names that a registered operation can carry: an id, or for a model that the registry does not hold, id#digest."""

from __future__ import annotations

from typing import Any

from emu.base.errors import SpecError
from emu.spec.registry import digest, get

_models: dict[tuple[str, str], Any] = {}


def name_of(kind: str, item: Any) -> str:
    """Return the name of an id or model. Raises: SpecError (unknown id)."""
    if isinstance(item, str):
        return item
    try:
        if digest(get(kind, item.id)) == digest(item):
            return str(item.id)
    except SpecError:
        pass
    name = f"{item.id}#{digest(item)}"
    _models[kind, name] = item
    return name


def named(kind: str, name: str) -> Any:
    """Return the object of a name. Raises: SpecError (unknown)."""
    return _models[kind, name] if (kind, name) in _models else get(kind, name)
