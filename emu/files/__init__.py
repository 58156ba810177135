"""Tensor files: reading .npy, .npz and .safetensors one tensor at a time, whole-or-nothing writing, and files of quantized tensors.

Not here: what is done with a tensor (emu.ops.quantized, emu.analysis), which tensors a command takes on the command line (emu.cli).
"""

from emu.base.atomic import whole_file
from emu.files.recipes import Pattern, Recipes, distinct
from emu.files.stored import StoredFile, StoredTensor, StoredWriter
from emu.files.take import is_model, kept_reason, skip_reason
from emu.files.tensors import TensorFile, TensorInfo, open_tensors
from emu.files.writers import TensorWriter, tensor_writer

__all__ = [
    "Pattern",
    "Recipes",
    "StoredFile",
    "StoredTensor",
    "StoredWriter",
    "TensorFile",
    "TensorInfo",
    "TensorWriter",
    "distinct",
    "is_model",
    "kept_reason",
    "open_tensors",
    "skip_reason",
    "tensor_writer",
    "whole_file",
]
