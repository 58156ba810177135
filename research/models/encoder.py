"""MiniLM run in torch on many texts at once, products by the caller's function. Not here: its file and tokens (research.minilm)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from research.minilm import EPS, HEADS, LAYERS, PARTS, Tensors
from research.models.smollm import Linear


def weights_of(tensors: Tensors) -> dict[tuple[int, str], Any]:
    """Return (layer, part) -> binary32 weights [N, K]."""
    return {(n, part): tensors[f"encoder.layer.{n}.{name}.weight"] for n in range(LAYERS) for part, name in PARTS.items()}


def sentence_vectors(texts: Sequence[Sequence[int]], tensors: Tensors, linear: Linear) -> Any:
    """Return one vector of length 1 for each text: the mean over its tokens. texts: token numbers of each text; binary32."""
    import torch

    named = {name: torch.from_numpy(item) for name, item in tensors.items()}
    ends = torch.tensor([len(text) for text in texts]).cumsum(0).tolist()
    spans = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def norm(y: Any, name: str) -> Any:
        return torch.nn.functional.layer_norm(y, y.shape[-1:], named[f"{name}.LayerNorm.weight"], named[f"{name}.LayerNorm.bias"], EPS)

    def dense(n: int, part: str, y: Any) -> Any:
        return linear(n, part, y) + named[f"encoder.layer.{n}.{PARTS[part]}.bias"]

    ids = torch.tensor([token for text in texts for token in text])
    places = torch.cat([torch.arange(len(text)) for text in texts])
    x = named["embeddings.word_embeddings.weight"][ids] + named["embeddings.position_embeddings.weight"][places]
    x = norm(x + named["embeddings.token_type_embeddings.weight"][0], "embeddings")
    for n in range(LAYERS):
        sides = [dense(n, part, x) for part in ("query", "key", "value")]
        mixed = torch.empty_like(x)
        for span in spans:
            query, key, value = (side[span].reshape(-1, HEADS, x.shape[1] // HEADS).transpose(0, 1) for side in sides)
            shares = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]), -1)
            mixed[span] = (shares @ value).transpose(0, 1).reshape(-1, x.shape[1])
        x = norm(x + dense(n, "attention", mixed), f"encoder.layer.{n}.attention.output")
        wide = torch.nn.functional.gelu(dense(n, "up", x))
        x = norm(x + dense(n, "down", wide), f"encoder.layer.{n}.output")
    found = torch.stack([x[span].mean(0) for span in spans])
    return found / found.norm(dim=1, keepdim=True)
