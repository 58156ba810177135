"""What was found, in words: one sentence per library and per kernel that departs. The counts and inputs are in the record.

Each says what the version named in the record does, on a CPU. Where a library documents a choice, it is a choice and not a fault.
"""

from __future__ import annotations

from typing import Final

FINDINGS: Final[dict[str, str]] = {
    "amd_quark": "values, not codes; E2M1 by nearest even, E5M3 unsigned",
    "amd_quark.e2m1": "-0 and what rounds to zero lose their sign; Inf stays Inf and has no code.",
    "amd_quark.e2m3": "-0 and what rounds to zero lose their sign; Inf stays Inf and has no code.",
    "amd_quark.e3m2": "-0 and what rounds to zero lose their sign; Inf stays Inf and has no code.",
    "amd_quark.mxfp4_even": (
        "as torchao's even rule but: Inf, and maxima of 1.75 * 2^127 and more, give the scale 2^127; -0 and what rounds to zero"
        " lose their sign; elements are divided by the true 2^-127, where torchao uses 2^-126."
    ),
    "amd_quark.mxfp4_floor": (
        "the exponent is floor(log2) in float32: just below a power of two the last 1 to 44 floats go up (1 below 8, 11 below 2^20,"
        " 44 below 2^100 and 2^-100; none below 1, 2 and 4); a zero block gets the scale 2^-23; "
        "scales below 2^-127 are kept as floats (no E8M0 code: read as 0x00, so that the elements look larger); "
        "-0 and what rounds to zero lose their sign."
    ),
    "amd_quark.ue5m3": "negative numbers are clamped to zero, where the nvidia policy drops the sign; NaN gives 0xFC, a finite 98304.",
    "apytypes": "IEEE-like formats: the top exponent is Inf and NaN in every width",
    "apytypes.bf16": "only the bits of NaN differ: its payload is kept; a signalling NaN stays signalling.",
    "apytypes.e2m1": "a documented choice, not E2M1 of OCP: codes 6 and 7 are Inf and NaN, so that 3.5 and more is Inf.",
    "apytypes.e5m2": "only the bits of NaN differ: its payload is kept.",
    "apytypes.fp16": "only the bits of NaN differ: its payload is kept; a signalling NaN stays signalling.",
    "compressed_tensors": "NVFP4 is `nvfp4_compressed_tensors` to the bit; MXFP4 follows the even rule",
    "compressed_tensors.e2m1": "-0 gives 0x0, while negative numbers that round to zero keep their sign; all other patterns equal.",
    "compressed_tensors.mxfp4": (
        "the even rule and its elements, but: NaN or Inf in a block, or a maximum of 1.75 * 2^127 and more, gives the scale 1; "
        "-0 gives 0x0; elements are divided by the true 2^-127, where torchao uses 2^-126."
    ),
    "fouroversix": "its recipes to the bit while the tensor maximum is the true one, but for MXFP4 blocks of zeros",
    "fouroversix.e2m1": (
        "does not saturate, its callers scale first: 8 gives the nibble of -0, larger numbers and Inf other nibbles; -0 gives 0x0."
    ),
    "fouroversix.if4_abs_max": "as if4_mse: only with a tensor maximum below the true one.",
    "fouroversix.if4_mae": "as if4_mse: only with a tensor maximum below the true one.",
    "fouroversix.if4_mse": (
        "directed rows with a tensor maximum below the true one: 10.5 is rounded in steps of 2 and its nibble cut, the recipe's "
        "`wrap` rounds in steps of 4."
    ),
    "fouroversix.mxfp4_static_4": "as mxfp4_static_6: blocks of zeros, and of maxima so small that a quarter of them rounds to zero.",
    "fouroversix.mxfp4_static_6": (
        "a block whose scale byte is 0x00 (zeros, or maxima so small that a sixth of them rounds to zero) is divided by 0.0: every"
        " element is NaN, whose nibble is 0xB on x86; all other blocks equal."
    ),
    "fouroversix.nvfp4_static_4": "as if4_mse: only with a tensor maximum below the true one.",
    "fouroversix.nvfp4_mse": "as if4_mse: only with a tensor maximum below the true one.",
    "fouroversix.nvfp4_mae": "as if4_mse: only with a tensor maximum below the true one.",
    "fouroversix.nvfp4_abs_max": "as if4_mse: only with a tensor maximum below the true one.",
    "fouroversix.nvfp4_static_6": "as if4_mse: only with a tensor maximum below the true one.",
    "gfloat": "every float format to the bit; E8M0 through arrays is not usable below 2^-127 and for negative numbers",
    "gfloat.e8m0_sat": (
        "round_ndarray and encode_ndarray: numbers below 2^-127 and negative numbers get codes outside 0..255 (2^-149 gives "
        "2^64 - 22, -1 gives 2^64 - 1), read here modulo 256; 0 gives 0x00 here and 0xFF through round_float and encode_float; "
        "ties go to the even code."
    ),
    "gguf": "MXFP4 of its own rule: no -0, ties to the lower code; its UE4M3 scales saturate from 248 on",
    "gguf.decode_ue4m3": "0x7F decodes to 0, not to NaN.",
    "gguf.dequantize_mxfp4": "code 8 decodes to +0, and scale 0xFF is 2^128, not NaN.",
    "gguf.mxfp4": (
        "scales: floor(log2) in float32, one too high just below a power of two; below 2^-125 the byte wraps (2^-149 gives "
        "232), NaN and Inf give 0. Elements: -0 and what rounds to zero give 0x0, a tie goes to the first of two equal errors, "
        "so 0.75 gives 0.5."
    ),
    "gguf.ue4m3": (
        "numbers from 248 on all give 0x7E, which is 448: 256 to 416 are lost; ties round up; NaN gives 0x7E, or 0x00. Negative"
        " numbers give 0x00 in the library; magnitudes are asked here."
    ),
    "microxcaling": "values; exponents by float32 logarithms",
    "microxcaling.e2m1_even": (
        "0x3E7FFFFF, the number below the tie of zero, gives 0.5: floor(x + 0.5) rounds up in float32. Numbers close below "
        "2^128 become NaN or Inf, Inf stays; zeros lose their sign."
    ),
    "microxcaling.e2m1_nearest": "ties away; the number below the tie of zero goes up as well; Inf stays; zeros lose their sign.",
    "microxcaling.e2m3_even": "as e2m1_even, at 0x3D7FFFFF.",
    "microxcaling.e3m2_even": "as e2m1_even, at 0x3CFFFFFF.",
    "microxcaling.e4m3_even": "as e2m1_even, at 0x3A7FFFFF.",
    "microxcaling.mxfp4_even": (
        "the floor rule; near the largest float32 the block is Inf or NaN, and so is a block with Inf; zeros lose their sign; "
        "elements are divided by the true 2^-127."
    ),
    "microxcaling.mxint4_even": (
        "the E1M2 grid and the floor rule, with floor(log2) in float32, one too high just below a power of two. Maxima near the"
        " largest float32 make the block NaN; zeros lose their sign."
    ),
    "ml_dtypes": "every 4-, 6- and 8-bit float to the bit from float32; float64 is rounded twice; E8M0 and int4 are of another kind",
    "ml_dtypes.bf16": "only NaN differs: the sign of NaN is kept.",
    "ml_dtypes.e2m1_from_fp64": (
        "float64 is rounded to float32 first: what lies less than half an ulp of float32 beside a tie becomes the tie."
    ),
    "ml_dtypes.e4m3_from_fp64": "float64 is rounded to float32 first, as for E2M1.",
    "ml_dtypes.e8m0": (
        "numbers in (2^-127, 1.5 * 2^-127) give 0x01 where 0x00 is nearer; 0, -0, negative numbers, Inf and what rounds beyond "
        "2^127 give NaN, 0xFF: a choice for an unsigned format."
    ),
    "ml_dtypes.int4": "an integer cast and no quantizer: the fraction is cut, and the low four bits are kept, so that 8 gives -8.",
    "modelopt": "NVFP4 is `nvfp4_modelopt` to the bit; MXFP4 departs in ties, zeros, NaN and scales",
    "modelopt.dequantize_mxfp4": (
        "scale 0xFF is 2^128, so that a block with a NaN scale decodes to Inf, or to NaN where the code is zero."
    ),
    "modelopt.e2m1": ("-0 gives 0x0, while negative numbers that round to zero keep their sign; all other patterns equal. NaN gives 0x7."),
    "modelopt.mxfp4": (
        "the ties 0.75, 1.75 and 3.5 go down to the odd code; +0 gives 0x8, -0 too; a NaN or Inf in a block gives scale 0x00; "
        "the scale is ceil(log2) in float32, one too low within 22 ulp above 6 times a power of two."
    ),
    "modelopt.mxfp4_te_pow2": "as modelopt.mxfp4: beside another rule for tiny scales.",
    "onnx": "the reference evaluator is ml_dtypes with saturation in front; its page and its code differ on NaN",
    "onnx.e2m1": (
        "every NaN: the format page says 6, the evaluator gives 0x8 for +NaN and 0x0 for -NaN; equal to the evaluator's own policy."
    ),
    "onnx.e8m0_down": "Inf gives 0xFF although saturation is asked for.",
    "onnx.e8m0_nearest": (
        "numbers in (2^-127, 1.5 * 2^-127) give 0x01 where 0x00 is nearer; Inf gives 0xFF although saturation is asked for."
    ),
    "onnx.e8m0_up": "every number from 2^-149 to 2^-127, that one included although it is exact, gives 0x01; Inf gives 0xFF.",
    "onnx.int4": "Cast of float to INT4 is that of ml_dtypes: cut, and the low four bits kept.",
    "pychop": "values; the floor rule by a logarithm in float32",
    "pychop.mxfp4": (
        "the exponent is floor(log2) in float32, one too high just below a power of two, so that the largest numbers become Inf; "
        "-0 and what rounds to zero lose their sign; elements are divided by the true 2^-127, where torchao uses 2^-126."
    ),
    "qtorch": "values; E2M1 by nearest, ties away from zero",
    "qtorch.e2m1": (
        "ties go away from zero; four numbers just below the tie 0.25 and one below 0.75 (0x3E7FFFFC, 0x3F3FFFFF) go up too; -0 and"
        " what rounds to zero lose their sign; NaN gives 6."
    ),
    "qtorch.e2m1_away": "as qtorch.e2m1: beside the ties.",
    "qtorch_plus": "values; another grid than E2M1, and a table of values whose ties go toward zero",
    "qtorch_plus.e2m1": (
        "the values 0.5, 0.75, 1, 1.5, 2 and 3 (0.75 has no code), zero below, 3 for everything beyond, Inf and NaN; ties go away "
        "from zero; -0 and what rounds to zero lose their sign."
    ),
    "qtorch_plus.e2m1_table": (
        "ties go toward zero; more than 100005, Inf and NaN give 0; -0 gives 0, while negative numbers that round to zero keep their sign."
    ),
    "torch": "FP8 to the bit; E8M0 wrong in one region; every NaN to bf16 is 0xFFFF",
    "torch.bf16": "only NaN differs: every NaN, of either sign, gives 0xFFFF.",
    "torch.e8m0": "numbers in (2^-127, 1.5 * 2^-127) give 0x01 where 0x00 is nearer; Inf and what rounds beyond 2^127 give NaN.",
    "torch.e8m0_from_bf16": (
        "numbers in (2^-127, 1.5 * 2^-127) give 0x01 where 0x00 is nearer; Inf and what rounds beyond 2^127 give NaN."
    ),
    "torch.fp16": "only NaN differs: its payload is kept.",
    "torchao": "its recipes to the bit; RCEIL scales in eager mode by a float32 logarithm",
    "torchao.mxfp4_rceil": (
        "eager mode takes ceil(log2) in float32: the scale is one too low where maximum / 6 lies some ulp above a power of two."
    ),
    "transformer_engine": "the reference quantizer is `nvfp4_te_ref` and its relatives to the bit",
    "transformer_engine.e2m1": "-0 gives 0x0, while negative numbers that round to zero keep their sign; all other patterns equal.",
    "transformer_engine.mxfp4_pow2": (
        "ceil(log2) in float32: the scale is one too low where maximum / 6 lies some ulp above a power of two."
    ),
}
LEFT_OUT: Final[dict[str, str]] = {
    "CUDA and Triton kernels of these libraries": (
        "no accelerator in this survey; a file target (`emu check --emit`, `--results`) runs them elsewhere"
    ),
    "stochastic rounding of torchao, fouroversix and amd-quark": "they draw from a global generator and take no random operand",
    "transformer_engine as a package": (
        "it refuses to import without its compiled core; the reference quantizer in the wheel is run from its file"
    ),
}
