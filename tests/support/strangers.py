"""Text of strangers: what it may hold, spec files full of it, and what of it is live on a terminal."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SIGNS = (
    "x */ __attribute__((constructor)) void INJECTED(void) /* <script>INJECTED()</script> <img src=INJECTED> </textarea> "
    "[a](javascript:INJECTED) ![b](http://INJECTED) ` <svg onload=INJECTED> `` | <!-- INJECTED ??/"
)
SHOWN = "[red]MARKUP[/red] [link=http://a.b]MARKUP[/link] $(INJECTED) ${INJECTED} {{ 7*7 }} {% if %} !!python/name:os.system -- // '"
MOVING = "\x1b]0;title\x07 \x1b[2J \x9b31m \x85 \u2028 \u202e\u2066 \u200b\U000e0041 \u3164 \r \x08 \x7f \x0c \t\nINJECTED "
HOSTILE = f"x{SIGNS} {SHOWN} {MOVING}"
FILE = "a\x1b]0;t\x07\u202e\n[red]MARKUP[|red] $(INJECTED) `INJECTED` '\""  # a name that a file may have
OBJECTS = {
    "format": "e2m1", "rounding": "sr_ptx_share16", "policy": "nvidia", "block": "nvfp4", "transform": "rht16_te", "recipe": "nvfp4_te_ref",
    "datapath": "late_c", "instruction": "prop_rht_quantize", "layout": "sf128x4", "checkpoint": "gguf_nvfp4", "training": "ufp4",
    "coverage": "dot", "series": "p3109", "epilogue": "te_nvfp4",
}  # fmt: skip
PROSE = re.compile(r'(?<=title: |where: )"[^"\n]*"')


def twin(kind: str) -> str:
    """The text of a shipped object under an id of a user's own."""
    name = OBJECTS[kind]
    lines = (ROOT / "spec" / kind / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("aliases:")).replace(f'id: "{name}"', f'id: "my_{name}"', 1)
    text = text.replace("cvt_rht16", "my_cvt_rht16").replace("cvt.rht16", "my_cvt.rht16").replace('"binary', '"my_binary')
    return re.sub(r"^(id: .*)$", r'\1\naliases: ["my_other"]', text, count=1, flags=re.MULTILINE) + "\n"


def write_spec(folder: Path, words: str) -> Path:
    """Write a spec file of each kind whose prose all holds some text."""
    for kind, name in OBJECTS.items():
        (folder / kind).mkdir(parents=True)
        (folder / kind / f"my_{name}.yaml").write_text(f'"{words}"'.join(PROSE.split(twin(kind))), encoding="utf-8")
    return folder


def live(text: str) -> list[str]:
    """What of a text a terminal would obey, or a reader would take for a line of emu."""
    moving = [letter for letter in text if letter not in "\n\t" and (not letter.isprintable() or letter == "\u3164")]
    eaten = re.findall(r"(?<!\])MARKUP.*", text)  # rich took the mark before it
    return [*map(ascii, moving), *eaten, *re.findall(r"^INJECTED.*", text, re.MULTILINE)]


def spoiled(data: Any, words: str = HOSTILE) -> Any:
    """Some JSON with the text in the place of every other text; names of members stay."""
    if isinstance(data, dict):
        return {key: spoiled(value, words) for key, value in data.items()}
    return [spoiled(value, words) for value in data] if isinstance(data, list) else words if isinstance(data, str) else data


def gguf(path: Path, words: str) -> Path:
    """Write a GGUF file with one MXFP4 tensor; its name, a key and a text of its metadata hold some text."""
    text = struct.pack("<Q", len(words.encode())) + words.encode()
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text + struct.pack("<I", 8) + text + text + struct.pack("<IQIQ", 1, 32, 39, 0)
    path.write_bytes(header + bytes(-len(header) % 32) + bytes(17))
    return path


def safetensors(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> Path:
    """Write a .safetensors file of float32 tensors under any names."""
    header: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at := at + array.nbytes]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values()))
    return path
