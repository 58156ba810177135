"""Errors of emu: every one derives from EmuError and carries one line that says what, where and how to fix it."""


class EmuError(ValueError):
    """Base of every error that emu raises on purpose."""


class SpecError(EmuError):
    """A spec file or a name in it is wrong: unknown id, bad key, a program that does not type-check."""


class OpenError(SpecError):
    """The asked result is a fact that nobody knows; the spec lists it as open and emu refuses to guess."""


class ShapeError(EmuError):
    """An array has the wrong shape, or a length does not fit the block under the recipe's tail rule."""


class OperandError(EmuError):
    """An operand is missing, unwanted, of the wrong type, or outside its range."""


class EngineError(EmuError):
    """The named engine cannot do the work, or the process changed the floating-point environment."""


class FileError(EmuError):
    """A file cannot be read, is truncated or foreign, or would be overwritten."""


class ToolError(EmuError):
    """A program that the work needs is missing or broken: a simulator, a compiler, a solver."""


class TargetError(EmuError):
    """A kernel under test did what no contract allows.

    It raised, hung, answered with a wrong shape or dtype, changed its input, or was not deterministic.
    verdict: "raises", "hangs", "shape", "dtype", "mutates", "unstable" or "padding".
    """

    def __init__(self, verdict: str, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


for _error in (EmuError, SpecError, OpenError, ShapeError, OperandError, EngineError, FileError):
    _error.__module__ = "emu"  # where users find them: `except emu.ShapeError`, and so it stands in tracebacks
