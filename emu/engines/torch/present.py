"""Whether torch is there. Nothing here imports it."""

from __future__ import annotations

from importlib.util import find_spec

from emu.base.caches import bounded
from emu.base.errors import EngineError


@bounded(1)
def has_torch() -> bool:
    """Tell whether torch is installed."""
    return find_spec("torch") is not None


def need_torch() -> None:
    """Refuse to go on without torch. Raises: EngineError."""
    if not has_torch():
        raise EngineError("engine torch needs torch, which is not installed: pip install 'fp4emu[torch]'")
