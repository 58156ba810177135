"""What people ask first: words as they type them into the search, the place that answers, and what is seen there at once.

Each is a section of docs/questions.md, in this order, which leads to the place. The search finds its page or the section. What is seen is
a command, a row of a table or the sentence that answers: whoever opens the place need not scroll to it.
"""

from typing import Final

QUESTIONS: Final = (
    ("2.5 become in E2M1", "reference/rounding/rne.html#worked-on-the-grid-of-e2m1", "2 .. 3 5/2 2 2 2 3 3"),
    ("NaN infinity too large policy", "reference/policies.html#e2m1", "nvidia"),
    ("difference between MXFP4 and NVFP4", "reference/block/nvfp4.html", "16 E2M1 elements, one UE4M3 scale"),
    ("two libraries give different NVFP4 bits", "families.html", "libraries choose scales, divide and round in ways of their own"),
    ("which recipe does my quantizer follow", "howto_identify.html", "emu identify py:"),
    ("test my quantizer in CI", "howto_kernel.html", "emu check kernels.py:quantize --against"),
    ("is my FP4 GEMM right", "howto_check_matmul.html", "from emu.testing import check_matmul"),
    ("check attention KV cache", "howto_check_attention.html", "from emu.testing import check_attention"),
    ("what does this checkpoint hold", "howto_checkpoint.html", "emu identify --quantized model/"),
    ("convert a checkpoint", "howto_checkpoint.html#from-one-librarys-files-to-anothers", "emu convert-checkpoint"),
    ("golden vectors for my RTL", "rtl.html", "emu vectors deliver"),
    ("MISMATCH why", "tutorial_rtl.html#3-the-first-two-causes", "emu explain mismatch first.log"),
    ("prove my converter", "formal.html", "emu rtl prove convert/"),
    ("describe the datapath of my chip", "datapath_levels.html#a-first-one", "levels:"),
    ("accumulator width", "chips.html", "plan = resolve("),
    ("where does the scale of an element lie", "layouts.html#see-one", "emu layout show"),
    ("E2M1 shrink", "shrinkage.html", "One product of E2M1 operands shrinks"),
    ("random Hadamard transform", "shrinkage.html#what-speaks-against-it", "The rotation does not make E2M1 shrink more as a rule"),
    ("stochastic rounding random bits operand", "reference/rounding/sr_add8.html#rule", "an operand of the caller"),
    ("measured on real hardware GPU", "gpu_evidence.html", "No number on this page was taken on a GPU"),
)
