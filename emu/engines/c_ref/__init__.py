"""The engine `c_ref`: the binding of the C reference. Descriptors come from spec models; no arithmetic in Python.

convert.py decodes and converts, block.py quantizes and dequantizes, transform.py rotates, datapath.py multiplies; descriptors.py and
program.py copy facts into structs. The C runs without the interpreter lock. Not here: the choice of an engine (emu.engines.table).
"""

from importlib.resources import files
from pathlib import Path


def c_reference() -> Path:
    """Return the folder of the C sources: of the installed package, or of the checkout for an editable install."""
    root = Path(str(files("emu")))
    packaged = root / "_c_ref"
    return packaged if packaged.is_dir() else root.parent / "c_ref"
