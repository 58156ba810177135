/* tables.c: what the shipped spec says, as descriptors. Generated from spec/ by: python -m tools.docs build. Do not edit.
 *
 * Constants first, one for all objects that mean the same; then the tables that names.c searches, ids before aliases.
 */
#include "tables.h"

/* bf16 (vendor): 16-bit float with the exponent of binary32 */
static const emu_format format_bf16 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 8, .frac_bits = 7, .bias = 127, .subnormals = 1, .neg_zero = 1,
    .inf = EMU_INF_IEEE, .nan = EMU_NAN_IEEE,
};
/* e0m3 (reported): 4-bit uniform grid, sign and 3-bit magnitude */
static const emu_format format_e0m3 = {.format_class = EMU_INTEGER, .bits = 4, .integer_sign = EMU_SIGN_MAGNITUDE};
/* e1m2 (proposed): 4-bit float, 1 exponent bit, 2 fraction bits: the uniform grid k/4 */
static const emu_format format_e1m2 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 1, .frac_bits = 2, .bias = 1, .subnormals = 1, .neg_zero = 1,
};
/* e2m1 (standard): 4-bit float, 2 exponent bits, 1 fraction bit */
static const emu_format format_e2m1 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 2, .frac_bits = 1, .bias = 1, .subnormals = 1, .neg_zero = 1,
};
/* e2m3 (standard): 6-bit float, 2 exponent bits, 3 fraction bits */
static const emu_format format_e2m3 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 2, .frac_bits = 3, .bias = 1, .subnormals = 1, .neg_zero = 1,
};
/* e3m0 (proposed): 4-bit float, 3 exponent bits, no fraction: powers of two */
static const emu_format format_e3m0 = {.format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 3, .bias = 3, .subnormals = 1, .neg_zero = 1};
/* e3m2 (standard): 6-bit float, 3 exponent bits, 2 fraction bits */
static const emu_format format_e3m2 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 3, .frac_bits = 2, .bias = 3, .subnormals = 1, .neg_zero = 1,
};
/* e4m3 (standard): 8-bit float, 4 exponent bits, 3 fraction bits, no Inf */
static const emu_format format_e4m3 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 4, .frac_bits = 3, .bias = 7, .subnormals = 1, .neg_zero = 1, .nan = EMU_NAN_LIST,
    .nan_count = 2, .nan_codes = {0x7f, 0xff},
};
/* e4m3fnuz (vendor): 8-bit float, 4 exponent bits, bias 8, one zero, one NaN in the place of -0 */
static const emu_format format_e4m3fnuz = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 4, .frac_bits = 3, .bias = 8, .subnormals = 1, .nan = EMU_NAN_LIST,
    .nan_count = 1, .nan_codes = {0x80},
};
/* e5m2 (standard): 8-bit float, 5 exponent bits, 2 fraction bits, Inf and NaN as in IEEE 754 */
static const emu_format format_e5m2 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 5, .frac_bits = 2, .bias = 15, .subnormals = 1, .neg_zero = 1,
    .inf = EMU_INF_IEEE, .nan = EMU_NAN_IEEE,
};
/* e5m2fnuz (vendor): 8-bit float, 5 exponent bits, bias 16, one zero, one NaN in the place of -0 */
static const emu_format format_e5m2fnuz = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 5, .frac_bits = 2, .bias = 16, .subnormals = 1, .nan = EMU_NAN_LIST,
    .nan_count = 1, .nan_codes = {0x80},
};
/* e6m2 (source-code): unsigned 8-bit float, 6 exponent bits, 2 fraction bits, no zero: the block scale of HiF4 */
static const emu_format format_e6m2 = {
    .format_class = EMU_FLOAT, .exp_bits = 6, .frac_bits = 2, .bias = 48, .nan = EMU_NAN_LIST, .nan_count = 1, .nan_codes = {0xff},
};
/* e8m0 (standard): 8-bit power of two, the block scale of MX */
static const emu_format format_e8m0 = {
    .format_class = EMU_EXPONENT, .bits = 8, .bias = 127, .nan = EMU_NAN_LIST, .nan_count = 1, .nan_codes = {0xff},
};
/* fp16 (standard): IEEE 754 binary16 */
static const emu_format format_fp16 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 5, .frac_bits = 10, .bias = 15, .subnormals = 1, .neg_zero = 1,
    .inf = EMU_INF_IEEE, .nan = EMU_NAN_IEEE,
};
/* fp32 (standard): IEEE 754 binary32 */
static const emu_format format_fp32 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 8, .frac_bits = 23, .bias = 127, .subnormals = 1, .neg_zero = 1,
    .inf = EMU_INF_IEEE, .nan = EMU_NAN_IEEE,
};
/* fp64 (standard): IEEE 754 binary64 */
static const emu_format format_fp64 = {
    .format_class = EMU_FLOAT, .has_sign = 1, .exp_bits = 11, .frac_bits = 52, .bias = 1023, .subnormals = 1, .neg_zero = 1,
    .inf = EMU_INF_IEEE, .nan = EMU_NAN_IEEE,
};
/* int4 (standard): 4-bit two's complement integer */
static const emu_format format_int4 = {.format_class = EMU_INTEGER, .bits = 4};
/* int8 (standard): 8-bit two's complement integer */
static const emu_format format_int8 = {.format_class = EMU_INTEGER, .bits = 8};
static const int64_t format_nf4_values[] = {
    -134217728, -93441416, -70474112, -53004928, -38177076, -24799870, -12220529, 0, 10681087, 21599686, 33032634, 45354216, 59151072,
    75513176, 97033624, 134217728,
};
/* nf4 (paper): 4-bit NormalFloat: quantiles of the normal distribution */
static const emu_format format_nf4 = {
    .format_class = EMU_CODEBOOK, .bits = 4, .unit_exp = -27, .tie = EMU_TIE_LOWER, .minus_zero_code = -1, .values = format_nf4_values,
};
/* ue1m0 (source-code): 1-bit power of two, the inner scales of HiF4 */
static const emu_format format_ue1m0 = {.format_class = EMU_EXPONENT, .bits = 1};
/* ue4m3 (vendor): unsigned E4M3 in the low 7 bits of a byte, the block scale of NVFP4 */
static const emu_format format_ue4m3 = {
    .format_class = EMU_FLOAT, .exp_bits = 4, .frac_bits = 3, .bias = 7, .subnormals = 1, .unused_high_bits = 1, .nan = EMU_NAN_LIST,
    .nan_count = 1, .nan_codes = {0x7f},
};
/* ue5m3 (vendor): unsigned 8-bit float, 5 exponent bits, 3 fraction bits, one NaN */
static const emu_format format_ue5m3 = {
    .format_class = EMU_FLOAT, .exp_bits = 5, .frac_bits = 3, .bias = 15, .subnormals = 1, .nan = EMU_NAN_LIST, .nan_count = 1,
    .nan_codes = {0xff},
};
/* uint1 (proposed): one bit, 0 or 1: flags */
static const emu_format format_uint1 = {.format_class = EMU_INTEGER, .bits = 1, .integer_sign = EMU_UNSIGNED};
/* odd (paper): whatever is not exact goes to the odd code: a first step that a second rounding cannot spoil */
static const emu_rounding rounding_odd = {
    .choice = {{EMU_TO_ODD_CODE, EMU_TO_ODD_CODE, EMU_TO_ODD_CODE}, {EMU_TO_ODD_CODE, EMU_TO_ODD_CODE, EMU_TO_ODD_CODE}},
    .beyond_max = {EMU_STOP_AT_MAX, EMU_STOP_AT_MAX},
};
/* odd_by_parity (proposed): to odd, also beyond the maximum: a finite value stays there where its code is odd, else goes away (ToOdd of P3109) */
static const emu_rounding rounding_odd_by_parity = {
    .choice = {{EMU_TO_ODD_CODE, EMU_TO_ODD_CODE, EMU_TO_ODD_CODE}, {EMU_TO_ODD_CODE, EMU_TO_ODD_CODE, EMU_TO_ODD_CODE}},
    .beyond_max = {EMU_STOP_AT_ODD, EMU_STOP_AT_ODD},
};
/* rd (standard): toward negative infinity */
static const emu_rounding rounding_rd = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_NEXT, EMU_NEXT, EMU_NEXT}}, .beyond_max = {EMU_STOP_AT_MAX, EMU_GO_AWAY},
};
/* rna (standard): nearest, ties away from zero */
static const emu_rounding rounding_rna = {
    .choice = {{EMU_KEEP, EMU_NEXT, EMU_NEXT}, {EMU_KEEP, EMU_NEXT, EMU_NEXT}}, .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* rne (standard): nearest, ties to the even code */
static const emu_rounding rounding_rne = {
    .choice = {{EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}, {EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}}, .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* ru (standard): toward positive infinity */
static const emu_rounding rounding_ru = {
    .choice = {{EMU_NEXT, EMU_NEXT, EMU_NEXT}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .beyond_max = {EMU_GO_AWAY, EMU_STOP_AT_MAX},
};
/* rz (standard): toward zero */
static const emu_rounding rounding_rz = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .beyond_max = {EMU_STOP_AT_MAX, EMU_STOP_AT_MAX},
};
/* sr_add16 (inferred): stochastic, 16 bits: the top 16 discarded bits plus the random integer carry */
static const emu_rounding rounding_sr_add16 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_CARRY, .random_bits = 16,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* sr_add8 (inferred): stochastic, 8 bits: the top 8 discarded bits plus the random integer carry */
static const emu_rounding rounding_sr_add8 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_CARRY, .random_bits = 8,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* sr_amd22 (inferred): stochastic, 22 bits for binary32 to E2M1: the top bits of the seed are added */
static const emu_rounding rounding_sr_amd22 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_CARRY, .random_bits = 22,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* sr_cmp8 (proposed): stochastic, 8 bits: away from zero when the random integer is below the discarded part */
static const emu_rounding rounding_sr_cmp8 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_COMPARE, .random_bits = 8,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* sr_half8 (proposed): stochastic, 8 bits: the discarded part is rounded to 8 bits before the random integer is added */
static const emu_rounding rounding_sr_half8 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_HALF, .random_bits = 8,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* sr_nearest8 (proposed): stochastic, 8 bits: the discarded part is rounded to 8 bits, ties to even, before the random integer is added (StochasticC of P3109) */
static const emu_rounding rounding_sr_nearest8 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_NEAREST, .random_bits = 8,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
/* sr_te_fma8 (proposed): stochastic, 8 bits: one binary32 fma adds r/256 of the ulp, then the sum is cut */
static const emu_rounding rounding_sr_te_fma8 = {
    .choice = {{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, .add = EMU_ADD_TE_FMA, .random_bits = 8,
    .beyond_max = {EMU_GO_AWAY, EMU_GO_AWAY},
};
static const uint8_t word_sr_b200_bitrev_positions[] = {
    23, 22, 21, 20, 19, 18, 17, 16, 7, 6, 5, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 31, 30, 29, 28, 27, 26,
    25, 24, 15, 14, 13, 12, 11, 10, 9, 8, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31,
};
/* sr_b200_bitrev (inferred): stochastic, one word for 4 elements: one lane of a pair reads its 16 bits backwards */
static const emu_word word_sr_b200_bitrev = {.lanes = 4, .bits = 32, .random_bits = 16, .positions = word_sr_b200_bitrev_positions};
static const uint8_t word_sr_ptx_share16_positions[] = {
    23, 22, 21, 20, 19, 18, 17, 16, 7, 6, 5, 4, 3, 2, 1, 0, 23, 22, 21, 20, 19, 18, 17, 16, 7, 6, 5, 4, 3, 2, 1, 0, 31, 30, 29, 28, 27, 26,
    25, 24, 15, 14, 13, 12, 11, 10, 9, 8, 31, 30, 29, 28, 27, 26, 25, 24, 15, 14, 13, 12, 11, 10, 9, 8,
};
/* sr_ptx_share16 (inferred): stochastic, one word for 4 elements: each pair of lanes shares 16 bits */
static const emu_word word_sr_ptx_share16 = {.lanes = 4, .bits = 32, .random_bits = 16, .positions = word_sr_ptx_share16_positions};
static const uint8_t word_sr_ptx_split8_positions[] = {
    7, 6, 5, 4, 3, 2, 1, 0, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 31, 30, 29, 28, 27, 26, 25, 24,
};
/* sr_ptx_split8 (inferred): stochastic, one word for 4 elements: each lane has 8 bits of its pair's field */
static const emu_word word_sr_ptx_split8 = {.lanes = 4, .bits = 32, .random_bits = 8, .positions = word_sr_ptx_split8_positions};
static const uint8_t word_sr_te_sw8_positions[] = {
    7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28, 27, 26, 25, 24,
};
/* sr_te_sw8 (proposed): stochastic, one word for 4 elements: byte k for element k, in Transformer Engine's software rounder */
static const emu_word word_sr_te_sw8 = {.lanes = 4, .bits = 32, .random_bits = 8, .positions = word_sr_te_sw8_positions};
/* amd on the way to e2m1 */
static const emu_policy policy_amd_e2m1 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7}, {.rule = EMU_BY_CODE, .code = 0xf}},
};
/* amd on the way to e2m3 */
static const emu_policy policy_amd_e2m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x1f}, {.rule = EMU_BY_CODE, .code = 0x3f}},
};
/* amd on the way to e4m3 */
static const emu_policy policy_amd_e4m3 = {
    .overflow = EMU_TO_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* amd on the way to e5m2 */
static const emu_policy policy_amd_e5m2 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7e}, {.rule = EMU_BY_CODE, .code = 0xfe}},
};
/* gfloat_nosat on the way to e4m3 */
static const emu_policy policy_gfloat_nosat_e4m3 = {
    .overflow = EMU_IEEE_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0xff}, {.rule = EMU_BY_CODE, .code = 0xff}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0xff}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* gfloat_nosat on the way to e5m2 */
static const emu_policy policy_gfloat_nosat_e5m2 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0xff}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* gfloat_sat on the way to e2m1 */
static const emu_policy policy_gfloat_sat_e2m1 = {.overflow = EMU_SATURATE, .nan = {{.rule = EMU_IS_REFUSED}, {.rule = EMU_IS_REFUSED}}};
/* gfloat_sat on the way to e4m3 */
static const emu_policy policy_gfloat_sat_e4m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0xff}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* ieee on the way to bf16 */
static const emu_policy policy_ieee_bf16 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7fc0}, {.rule = EMU_BY_CODE, .code = 0x7fc0}},
};
/* ieee on the way to fp16 */
static const emu_policy policy_ieee_fp16 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7e00}, {.rule = EMU_BY_CODE, .code = 0x7e00}},
};
/* ieee on the way to fp32 */
static const emu_policy policy_ieee_fp32 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7fc00000}, {.rule = EMU_BY_CODE, .code = 0x7fc00000}},
};
/* ieee on the way to fp64 */
static const emu_policy policy_ieee_fp64 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7ff8000000000000}, {.rule = EMU_BY_CODE, .code = 0x7ff8000000000000}},
};
/* ml_dtypes on the way to e2m1 */
static const emu_policy policy_ml_dtypes_e2m1 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x8}, {.rule = EMU_BY_CODE}},
};
/* ml_dtypes on the way to e2m3 */
static const emu_policy policy_ml_dtypes_e2m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x20}, {.rule = EMU_BY_CODE}},
};
/* ml_dtypes on the way to e4m3 */
static const emu_policy policy_ml_dtypes_e4m3 = {
    .overflow = EMU_IEEE_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* ml_dtypes on the way to e4m3fnuz */
static const emu_policy policy_ml_dtypes_e4m3fnuz = {
    .overflow = EMU_IEEE_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0x80}, {.rule = EMU_BY_CODE, .code = 0x80}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0x80}, {.rule = EMU_BY_CODE, .code = 0x80}},
};
/* ml_dtypes on the way to e5m2 */
static const emu_policy policy_ml_dtypes_e5m2 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7e}, {.rule = EMU_BY_CODE, .code = 0xfe}},
};
/* nvidia on the way to bf16 */
static const emu_policy policy_nvidia_bf16 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7fff}, {.rule = EMU_BY_CODE, .code = 0x7fff}},
};
/* nvidia on the way to e0m3 */
static const emu_policy policy_nvidia_e0m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7}, {.rule = EMU_BY_CODE, .code = 0x7}},
};
/* nvidia on the way to e2m3 */
static const emu_policy policy_nvidia_e2m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x1f}, {.rule = EMU_BY_CODE, .code = 0x1f}},
};
/* nvidia on the way to e4m3 */
static const emu_policy policy_nvidia_e4m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
};
/* nvidia on the way to e4m3fnuz */
static const emu_policy policy_nvidia_e4m3fnuz = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x80}, {.rule = EMU_BY_CODE, .code = 0x80}},
};
/* nvidia on the way to fp32 */
static const emu_policy policy_nvidia_fp32 = {.overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_IS_OPEN}, {.rule = EMU_IS_OPEN}}};
/* nvidia on the way to nf4 */
static const emu_policy policy_nvidia_nf4 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0xf}, {.rule = EMU_BY_CODE, .code = 0xf}},
};
/* nvidia on the way to ue1m0 */
static const emu_policy policy_nvidia_ue1m0 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x1}, {.rule = EMU_BY_CODE, .code = 0x1}},
};
/* nvidia_nosat on the way to e4m3 */
static const emu_policy policy_nvidia_nosat_e4m3 = {
    .overflow = EMU_IEEE_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* nvidia_nosat on the way to e5m2 */
static const emu_policy policy_nvidia_nosat_e5m2 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
};
/* ocp_saturate on the way to bf16 */
static const emu_policy policy_ocp_saturate_bf16 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7fc0}, {.rule = EMU_BY_CODE, .code = 0x7fc0}},
};
/* ocp_saturate on the way to e0m3 */
static const emu_policy policy_ocp_saturate_e0m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_IS_OPEN}, {.rule = EMU_IS_OPEN}}, .inf = {{.rule = EMU_IS_OPEN}, {.rule = EMU_IS_OPEN}},
};
/* ocp_saturate on the way to e5m2 */
static const emu_policy policy_ocp_saturate_e5m2 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7e}, {.rule = EMU_BY_CODE, .code = 0x7e}},
};
/* ocp_saturate on the way to fp16 */
static const emu_policy policy_ocp_saturate_fp16 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7e00}, {.rule = EMU_BY_CODE, .code = 0x7e00}},
};
/* ocp_saturate on the way to fp32 */
static const emu_policy policy_ocp_saturate_fp32 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7fc00000}, {.rule = EMU_BY_CODE, .code = 0x7fc00000}},
};
/* ocp_saturate on the way to fp64 */
static const emu_policy policy_ocp_saturate_fp64 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7ff8000000000000}, {.rule = EMU_BY_CODE, .code = 0x7ff8000000000000}},
};
/* onnx_reference_sat on the way to e4m3 */
static const emu_policy policy_onnx_reference_sat_e4m3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* riscv_zvfofp8min on the way to e4m3 */
static const emu_policy policy_riscv_zvfofp8min_e4m3 = {
    .overflow = EMU_IEEE_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
};
/* torch on the way to e5m2 */
static const emu_policy policy_torch_e5m2 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
/* torchao on the way to e2m1 */
static const emu_policy policy_torchao_e2m1 = {.overflow = EMU_SATURATE, .nan = {{.rule = EMU_IS_OPEN}, {.rule = EMU_IS_OPEN}}};
/* rht16_butterfly (proposed): 16-point RHT with the additions of the fast algorithm in binary32 */
static const emu_transform transform_rht16_butterfly = {
    .size = 16, .order = EMU_SUM_BUTTERFLY, .signs = {0xd7e8}, .scale_exp = -2, .sum_format = &format_fp32, .result = &format_fp32,
};
/* rht16_exact (proposed): 16-point RHT, the sum of 16 terms rounded once to binary32 */
static const emu_transform transform_rht16_exact = {
    .size = 16, .order = EMU_SUM_EXACT, .signs = {0xd7e8}, .scale_exp = -2, .sum_format = &format_fp32, .result = &format_fp32,
};
/* rht16_te (measured): 16-point RHT of Transformer Engine for bf16 tensors */
static const emu_transform transform_rht16_te = {
    .size = 16, .order = EMU_SUM_EXACT, .signs = {0xd7e8}, .scale_exp = -2, .sum_format = &format_fp32, .result = &format_bf16,
};
/* rht16_te_fp32 (measured): 16-point RHT of Transformer Engine for binary32 tensors, as one CPU build of torch adds */
static const emu_transform transform_rht16_te_fp32 = {
    .size = 16, .order = EMU_SUM_SEQUENTIAL, .signs = {0xd7e8}, .scale_exp = -2, .sum_format = &format_fp32, .result = &format_fp32,
};
/* rht16_ufp4 (proposed): 16-point RHT of UFP4: fast algorithm in binary32, result bf16, signs from the caller */
static const emu_transform transform_rht16_ufp4 = {
    .size = 16, .order = EMU_SUM_BUTTERFLY, .scale_exp = -2, .sum_format = &format_fp32, .result = &format_bf16,
};
static const emu_format *const elements_e2m1_fp32scale[] = {&format_e2m1};
static const emu_block_level block_levels_e2m1_fp32scale[] = {{"scale", &format_fp32, 1, 16}};
/* e2m1_fp32scale (paper): 16 E2M1 elements, one FP32 scale: the baseline of UFP4 */
static const emu_block block_e2m1_fp32scale = {1, 16, 1, elements_e2m1_fp32scale, 1, block_levels_e2m1_fp32scale};
static const emu_format *const elements_e4m3_row[] = {&format_e4m3};
static const emu_block_level block_levels_e4m3_row[] = {{"scale", &format_fp32, 1, 0}};
/* e4m3_row (measured): E4M3 elements, one FP32 scale per row */
static const emu_block block_e4m3_row = {1, 1, 1, elements_e4m3_row, 1, block_levels_e4m3_row};
static const emu_format *const elements_e4m3_row_bf16[] = {&format_e4m3};
static const emu_block_level block_levels_e4m3_row_bf16[] = {{"scale", &format_bf16, 1, 0}};
/* e4m3_row_bf16 (measured): E4M3 elements, one BF16 scale per row */
static const emu_block block_e4m3_row_bf16 = {1, 1, 1, elements_e4m3_row_bf16, 1, block_levels_e4m3_row_bf16};
static const emu_format *const elements_e4m3_tensor[] = {&format_e4m3};
static const emu_block_level block_levels_e4m3_tensor[] = {{"scale", &format_fp32, 0, 0}};
/* e4m3_tensor (measured): E4M3 elements, one FP32 scale for the whole tensor */
static const emu_block block_e4m3_tensor = {1, 1, 1, elements_e4m3_tensor, 1, block_levels_e4m3_tensor};
static const emu_format *const elements_e4m3_tensor_bf16[] = {&format_e4m3};
static const emu_block_level block_levels_e4m3_tensor_bf16[] = {{"scale", &format_bf16, 0, 0}};
/* e4m3_tensor_bf16 (measured): E4M3 elements, one BF16 scale for the whole tensor */
static const emu_block block_e4m3_tensor_bf16 = {1, 1, 1, elements_e4m3_tensor_bf16, 1, block_levels_e4m3_tensor_bf16};
static const emu_format *const elements_e4m3_tile128[] = {&format_e4m3};
static const emu_block_level block_levels_e4m3_tile128[] = {{"scale", &format_fp32, 128, 128}};
/* e4m3_tile128 (measured): E4M3 elements, one FP32 scale for each tile of 128 x 128 */
static const emu_block block_e4m3_tile128 = {128, 128, 1, elements_e4m3_tile128, 1, block_levels_e4m3_tile128};
static const emu_format *const elements_e4m3_tile128_bf16[] = {&format_e4m3};
static const emu_block_level block_levels_e4m3_tile128_bf16[] = {{"scale", &format_bf16, 128, 128}};
/* e4m3_tile128_bf16 (measured): E4M3 elements, one BF16 scale for each tile of 128 x 128 */
static const emu_block block_e4m3_tile128_bf16 = {128, 128, 1, elements_e4m3_tile128_bf16, 1, block_levels_e4m3_tile128_bf16};
static const emu_format *const elements_hif4[] = {&format_e1m2};
static const emu_block_level block_levels_hif4[] = {
    {"scale", &format_e6m2, 1, 64}, {"level8", &format_ue1m0, 1, 8}, {"level4", &format_ue1m0, 1, 4},
};
/* hif4 (source-code): 64 elements k/4, one E6M2 scale, a factor 1 or 2 per 8 and another per 4 elements */
static const emu_block block_hif4 = {1, 64, 1, elements_hif4, 3, block_levels_hif4};
static const emu_format *const elements_if4[] = {&format_e2m1, &format_int4};
static const emu_block_level block_levels_if4[] = {
    {"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}, {"flag", &format_uint1, 1, 16},
};
/* if4 (source-code): 16 elements of E2M1 or of INT4 * 6/7, chosen by a bit, one UE4M3 scale, one FP32 tensor maximum */
static const emu_block block_if4 = {1, 16, 2, elements_if4, 3, block_levels_if4};
static const emu_format *const elements_mxe1m2[] = {&format_e1m2};
static const emu_block_level block_levels_mxe1m2[] = {{"scale", &format_e8m0, 1, 32}};
/* mxe1m2 (proposed): 32 elements of the uniform grid E1M2, one E8M0 scale */
static const emu_block block_mxe1m2 = {1, 32, 1, elements_mxe1m2, 1, block_levels_mxe1m2};
static const emu_format *const elements_mxfp4[] = {&format_e2m1};
static const emu_block_level block_levels_mxfp4[] = {{"scale", &format_e8m0, 1, 32}};
/* mxfp4 (standard): 32 E2M1 elements, one E8M0 scale */
static const emu_block block_mxfp4 = {1, 32, 1, elements_mxfp4, 1, block_levels_mxfp4};
static const emu_format *const elements_mxfp4_16[] = {&format_e2m1};
static const emu_block_level block_levels_mxfp4_16[] = {{"scale", &format_e8m0, 1, 16}};
/* mxfp4_16 (measured): 16 E2M1 elements, one E8M0 scale: the 4-bit KV cache of SGLang */
static const emu_block block_mxfp4_16 = {1, 16, 1, elements_mxfp4_16, 1, block_levels_mxfp4_16};
static const emu_format *const elements_mxfp6_e2m3[] = {&format_e2m3};
static const emu_block_level block_levels_mxfp6_e2m3[] = {{"scale", &format_e8m0, 1, 32}};
/* mxfp6_e2m3 (standard): 32 E2M3 elements, one E8M0 scale */
static const emu_block block_mxfp6_e2m3 = {1, 32, 1, elements_mxfp6_e2m3, 1, block_levels_mxfp6_e2m3};
static const emu_format *const elements_mxfp6_e3m2[] = {&format_e3m2};
static const emu_block_level block_levels_mxfp6_e3m2[] = {{"scale", &format_e8m0, 1, 32}};
/* mxfp6_e3m2 (standard): 32 E3M2 elements, one E8M0 scale */
static const emu_block block_mxfp6_e3m2 = {1, 32, 1, elements_mxfp6_e3m2, 1, block_levels_mxfp6_e3m2};
static const emu_format *const elements_mxfp8_e4m3[] = {&format_e4m3};
static const emu_block_level block_levels_mxfp8_e4m3[] = {{"scale", &format_e8m0, 1, 32}};
/* mxfp8_e4m3 (standard): 32 E4M3 elements, one E8M0 scale */
static const emu_block block_mxfp8_e4m3 = {1, 32, 1, elements_mxfp8_e4m3, 1, block_levels_mxfp8_e4m3};
static const emu_format *const elements_mxfp8_e5m2[] = {&format_e5m2};
static const emu_block_level block_levels_mxfp8_e5m2[] = {{"scale", &format_e8m0, 1, 32}};
/* mxfp8_e5m2 (standard): 32 E5M2 elements, one E8M0 scale */
static const emu_block block_mxfp8_e5m2 = {1, 32, 1, elements_mxfp8_e5m2, 1, block_levels_mxfp8_e5m2};
static const emu_format *const elements_nf4_block64[] = {&format_nf4};
static const emu_block_level block_levels_nf4_block64[] = {{"scale", &format_fp32, 1, 64}};
/* nf4_block64 (measured): NF4 of bitsandbytes, blocks of 64: 64 elements, one FP32 maximum */
static const emu_block block_nf4_block64 = {1, 64, 1, elements_nf4_block64, 1, block_levels_nf4_block64};
static const emu_format *const elements_nve0m3[] = {&format_e0m3};
static const emu_block_level block_levels_nve0m3[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nve0m3 (reported): NVFP4 hierarchy with sign-magnitude integer elements E0M3 */
static const emu_block block_nve0m3 = {1, 16, 1, elements_nve0m3, 2, block_levels_nve0m3};
static const emu_format *const elements_nvfp4[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4 (vendor): 16 E2M1 elements, one UE4M3 scale, one FP32 tensor maximum */
static const emu_block block_nvfp4 = {1, 16, 1, elements_nvfp4, 2, block_levels_nvfp4};
static const emu_format *const elements_nvfp4_1792[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_1792[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4_1792 (source-code): NVFP4 with block maxima at 4: factor 1/(4 * 448) */
static const emu_block block_nvfp4_1792 = {1, 16, 1, elements_nvfp4_1792, 2, block_levels_nvfp4_1792};
static const emu_format *const elements_nvfp4_1level[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_1level[] = {{"scale", &format_ue4m3, 1, 16}};
/* nvfp4_1level (measured): 16 E2M1 elements, one UE4M3 scale, no tensor level */
static const emu_block block_nvfp4_1level = {1, 16, 1, elements_nvfp4_1level, 1, block_levels_nvfp4_1level};
static const emu_format *const elements_nvfp4_256[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_256[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4_256 (source-code): NVFP4 with scales up to 256: room for the larger scales of four-over-six */
static const emu_block block_nvfp4_256 = {1, 16, 1, elements_nvfp4_256, 2, block_levels_nvfp4_256};
static const emu_format *const elements_nvfp4_divisor[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_divisor[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4_divisor (measured): NVFP4 whose tensor level is divided by: 2688 / maximum */
static const emu_block block_nvfp4_divisor = {1, 16, 1, elements_nvfp4_divisor, 2, block_levels_nvfp4_divisor};
static const emu_format *const elements_nvfp4_multiplier[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_multiplier[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4_multiplier (measured): NVFP4 whose tensor level is the factor itself: maximum / 2688 */
static const emu_block block_nvfp4_multiplier = {1, 16, 1, elements_nvfp4_multiplier, 2, block_levels_nvfp4_multiplier};
static const emu_format *const elements_nvfp4_row[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_row[] = {{"row_amax", &format_fp32, 1, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4_row (measured): 16 E2M1 elements, one UE4M3 scale, one FP32 maximum per row */
static const emu_block block_nvfp4_row = {1, 16, 1, elements_nvfp4_row, 2, block_levels_nvfp4_row};
static const emu_format *const elements_nvfp4_tile16[] = {&format_e2m1};
static const emu_block_level block_levels_nvfp4_tile16[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvfp4_tile16 (source-code): 16x16 E2M1 elements under one UE4M3 scale that is stored once per row, one FP32 tensor maximum */
static const emu_block block_nvfp4_tile16 = {16, 16, 1, elements_nvfp4_tile16, 2, block_levels_nvfp4_tile16};
static const emu_format *const elements_nvint4[] = {&format_int4};
static const emu_block_level block_levels_nvint4[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvint4 (source-code): NVFP4 hierarchy with two's complement INT4 elements */
static const emu_block block_nvint4 = {1, 16, 1, elements_nvint4, 2, block_levels_nvint4};
static const emu_format *const elements_nvufp4[] = {&format_e1m2};
static const emu_block_level block_levels_nvufp4[] = {{"tensor", &format_fp32, 0, 0}, {"scale", &format_ue4m3, 1, 16}};
/* nvufp4 (proposed): NVFP4 hierarchy with elements of the uniform grid E1M2 */
static const emu_block block_nvufp4 = {1, 16, 1, elements_nvufp4, 2, block_levels_nvufp4};
static const emu_format *const elements_ufp4[] = {&format_e1m2};
static const emu_block_level block_levels_ufp4[] = {{"scale", &format_fp32, 1, 16}};
/* ufp4 (paper): 16 elements of the uniform grid E1M2, one FP32 scale */
static const emu_block block_ufp4 = {1, 16, 1, elements_ufp4, 1, block_levels_ufp4};
static const emu_digit layout_aiter_e8m0_256x8_digits[] = {
    {.is_row = 1, .step = 16, .count = 2},
    {.is_row = 0, .step = 4, .count = 2},
    {.is_row = 1, .step = 1, .count = 16},
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 0, .step = 8, .count = 0},
    {.is_row = 1, .step = 32, .count = 8},
    {.is_row = 1, .step = 256, .count = 0},
};
/* aiter_e8m0_256x8 (source-code): E8M0 scales of AITER for CDNA4 matrix products, padded to 256 rows and 8 scales */
static const emu_layout layout_aiter_e8m0_256x8 = {
    .holds_scales = 1, .code_bits = 8, .digit_count = 7, .digits = layout_aiter_e8m0_256x8_digits,
};
static const emu_digit layout_deep_gemm_ue8m0_digits[] = {
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 1, .step = 1, .count = 4},
    {.is_row = 1, .step = 4, .count = 0},
    {.is_row = 0, .step = 4, .count = 0},
};
/* deep_gemm_ue8m0 (source-code): UE8M0 scales of DeepGEMM: four of a row in an int32, the int32 of consecutive rows side by side, rows padded to 4 */
static const emu_layout layout_deep_gemm_ue8m0 = {
    .holds_scales = 1, .code_bits = 8, .digit_count = 4, .digits = layout_deep_gemm_ue8m0_digits,
};
static const emu_digit layout_gguf_halves16_digits[] = {
    {.is_row = 0, .step = 8, .count = 2},
    {.is_row = 0, .step = 1, .count = 8},
    {.is_row = 0, .step = 16, .count = 0},
    {.is_row = 1, .step = 1, .count = 0},
};
/* gguf_halves16 (source-code): 4-bit elements of a GGUF record of 4 blocks of 16: byte k of a block holds element k low and element k + 8 high */
static const emu_layout layout_gguf_halves16 = {.holds_scales = 0, .code_bits = 4, .digit_count = 4, .digits = layout_gguf_halves16_digits};
static const emu_digit layout_gguf_halves32_digits[] = {
    {.is_row = 0, .step = 16, .count = 2},
    {.is_row = 0, .step = 1, .count = 16},
    {.is_row = 0, .step = 32, .count = 0},
    {.is_row = 1, .step = 1, .count = 0},
};
/* gguf_halves32 (source-code): 4-bit elements of a GGUF record of 32 elements: byte k of a block holds element k low and element k + 16 high */
static const emu_layout layout_gguf_halves32 = {.holds_scales = 0, .code_bits = 4, .digit_count = 4, .digits = layout_gguf_halves32_digits};
static const emu_digit layout_high_nibble_first_digits[] = {
    {.is_row = 0, .step = 1, .count = 2, .down = 1},
    {.is_row = 0, .step = 2, .count = 0},
    {.is_row = 1, .step = 1, .count = 0},
};
/* high_nibble_first (source-code): 4-bit elements row after row, element 2k in the high nibble of byte k */
static const emu_layout layout_high_nibble_first = {
    .holds_scales = 0, .code_bits = 4, .digit_count = 3, .digits = layout_high_nibble_first_digits,
};
static const emu_digit layout_kv_v_scale_4token_digits[] = {
    {.is_row = 1, .step = 1, .count = 4},
    {.is_row = 0, .step = 1, .count = 0},
    {.is_row = 1, .step = 4, .count = 0},
};
/* kv_v_scale_4token (source-code): scales of the values in one page and head of a 4-bit cache: four tokens side by side, then the scales of a token */
static const emu_layout layout_kv_v_scale_4token = {
    .holds_scales = 1, .code_bits = 8, .digit_count = 3, .digits = layout_kv_v_scale_4token_digits,
};
static const emu_digit layout_low_nibble_first_digits[] = {
    {.is_row = 0, .step = 1, .count = 0},
    {.is_row = 1, .step = 1, .count = 0},
};
/* low_nibble_first (source-code): 4-bit elements row after row, element 2k in the low nibble of byte k */
static const emu_layout layout_low_nibble_first = {
    .holds_scales = 0, .code_bits = 4, .digit_count = 2, .digits = layout_low_nibble_first_digits,
};
static const emu_digit layout_mlx_words4_digits[] = {
    {.is_row = 0, .step = 1, .count = 8},
    {.is_row = 0, .step = 8, .count = 0},
    {.is_row = 1, .step = 1, .count = 0},
};
/* mlx_words4 (source-code): 4-bit elements of MLX: eight in a word of 32 bits, the first in the lowest bits */
static const emu_layout layout_mlx_words4 = {.holds_scales = 0, .code_bits = 4, .digit_count = 3, .digits = layout_mlx_words4_digits};
static const emu_digit layout_mlx_words8_digits[] = {
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 0, .step = 4, .count = 0},
    {.is_row = 1, .step = 1, .count = 0},
};
/* mlx_words8 (source-code): 8-bit elements of MLX: four in a word of 32 bits, the first in the lowest bits */
static const emu_layout layout_mlx_words8 = {.holds_scales = 0, .code_bits = 8, .digit_count = 3, .digits = layout_mlx_words8_digits};
/* row_major (source-code): block scales row after row, without padding */
static const emu_layout layout_row_major = {.holds_scales = 1, .code_bits = 8, .digit_count = 2, .digits = layout_low_nibble_first_digits};
static const emu_digit layout_sf128x4_digits[] = {
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 1, .step = 32, .count = 4},
    {.is_row = 1, .step = 1, .count = 32},
    {.is_row = 0, .step = 4, .count = 0},
    {.is_row = 1, .step = 128, .count = 0},
};
/* sf128x4 (source-code): block scales in tiles of 128 rows and 4 scales, as the block-scaled matrix products of Blackwell read them */
static const emu_layout layout_sf128x4 = {.holds_scales = 1, .code_bits = 8, .digit_count = 5, .digits = layout_sf128x4_digits};
static const emu_digit layout_sf8x4_digits[] = {
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 1, .step = 1, .count = 8},
    {.is_row = 0, .step = 4, .count = 0},
    {.is_row = 1, .step = 8, .count = 0},
};
/* sf8x4 (source-code): block scales in tiles of 8 rows and 4 scales, for the low-latency kernels of TensorRT-LLM and FlashInfer */
static const emu_layout layout_sf8x4 = {.holds_scales = 1, .code_bits = 8, .digit_count = 4, .digits = layout_sf8x4_digits};
static const emu_digit layout_triton_blackwell_digits[] = {
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 1, .step = 32, .count = 4},
    {.is_row = 1, .step = 1, .count = 32},
    {.is_row = 0, .step = 4, .count = 2},
    {.is_row = 0, .step = 8, .count = 0},
    {.is_row = 1, .step = 128, .count = 0},
};
/* triton_blackwell (source-code): block scales of triton_kernels for Blackwell: tiles of 128 rows and 4 scales, two tiles along a row together */
static const emu_layout layout_triton_blackwell = {
    .holds_scales = 1, .code_bits = 8, .digit_count = 6, .digits = layout_triton_blackwell_digits,
};
static const emu_digit layout_triton_cdna4_digits[] = {
    {.is_row = 1, .step = 16, .count = 2},
    {.is_row = 0, .step = 4, .count = 2},
    {.is_row = 1, .step = 1, .count = 16},
    {.is_row = 0, .step = 1, .count = 4},
    {.is_row = 0, .step = 8, .count = 0},
    {.is_row = 1, .step = 32, .count = 0},
};
/* triton_cdna4 (source-code): E8M0 scales of triton_kernels for CDNA4: as AITER's, rows padded to 32 */
static const emu_layout layout_triton_cdna4 = {.holds_scales = 1, .code_bits = 8, .digit_count = 6, .digits = layout_triton_cdna4_digits};
static const emu_digit layout_triton_hopper_8warps_digits[] = {
    {.is_row = 1, .step = 8, .count = 2},
    {.is_row = 0, .step = 1, .count = 2},
    {.is_row = 1, .step = 1, .count = 8},
    {.is_row = 1, .step = 128, .count = 2},
    {.is_row = 0, .step = 2, .count = 0},
    {.is_row = 1, .step = 16, .count = 8},
    {.is_row = 1, .step = 256, .count = 0},
};
/* triton_hopper_8warps (source-code): E8M0 scales of triton_kernels for Hopper, 8 warps: padded to 256 rows and 2 scales */
static const emu_layout layout_triton_hopper_8warps = {
    .holds_scales = 1, .code_bits = 8, .digit_count = 7, .digits = layout_triton_hopper_8warps_digits,
};
static const char *const levels_e1m2_fp32scale[] = {"scale"};
/* e1m2_fp32scale (proposed): blocks of E1M2 with a binary32 scale, not rotated */
static const emu_recipe recipe_e1m2_fp32scale = {"ufp4", &format_e1m2, 1, 1, levels_e1m2_fp32scale, NULL};
static const char *const levels_e2m1_fp32scale[] = {"scale"};
/* e2m1_fp32scale (proposed): blocks of E2M1 with a binary32 scale, not rotated */
static const emu_recipe recipe_e2m1_fp32scale = {"e2m1_fp32scale", &format_e2m1, 1, 1, levels_e2m1_fp32scale, NULL};
static const char *const levels_e4m3_row_bf16_compressed_tensors[] = {"scale"};
/* e4m3_row_bf16_compressed_tensors (measured): FP8 of compressed-tensors in bfloat16, one scale for each row */
static const emu_recipe recipe_e4m3_row_bf16_compressed_tensors = {"e4m3_row_bf16", &format_e4m3, 1, 1, levels_e4m3_row_bf16_compressed_tensors, NULL};
static const char *const levels_e4m3_row_compressed_tensors[] = {"scale"};
/* e4m3_row_compressed_tensors (measured): FP8 of compressed-tensors in binary32, one scale for each row */
static const emu_recipe recipe_e4m3_row_compressed_tensors = {"e4m3_row", &format_e4m3, 1, 1, levels_e4m3_row_compressed_tensors, NULL};
static const char *const levels_e4m3_row_torchao[] = {"scale"};
/* e4m3_row_torchao (measured): FP8 of torchao, one scale for each row */
static const emu_recipe recipe_e4m3_row_torchao = {"e4m3_row", &format_e4m3, 1, 1, levels_e4m3_row_torchao, NULL};
static const char *const levels_e4m3_row_torchao_bf16[] = {"scale"};
/* e4m3_row_torchao_bf16 (measured): FP8 of torchao of weights in bfloat16, one scale for each row */
static const emu_recipe recipe_e4m3_row_torchao_bf16 = {"e4m3_row", &format_e4m3, 1, 1, levels_e4m3_row_torchao_bf16, NULL};
static const char *const levels_e4m3_tensor_bf16_compressed_tensors[] = {"scale"};
/* e4m3_tensor_bf16_compressed_tensors (measured): FP8 of compressed-tensors in bfloat16, one scale for the tensor */
static const emu_recipe recipe_e4m3_tensor_bf16_compressed_tensors = {"e4m3_tensor_bf16", &format_e4m3, 1, 1, levels_e4m3_tensor_bf16_compressed_tensors, NULL};
static const char *const levels_e4m3_tensor_compressed_tensors[] = {"scale"};
/* e4m3_tensor_compressed_tensors (measured): FP8 of compressed-tensors in binary32, one scale for the tensor */
static const emu_recipe recipe_e4m3_tensor_compressed_tensors = {"e4m3_tensor", &format_e4m3, 1, 1, levels_e4m3_tensor_compressed_tensors, NULL};
static const char *const levels_e4m3_tensor_modelopt[] = {"scale"};
/* e4m3_tensor_modelopt (measured): FP8 of ModelOpt, one scale for the tensor */
static const emu_recipe recipe_e4m3_tensor_modelopt = {"e4m3_tensor", &format_e4m3, 1, 1, levels_e4m3_tensor_modelopt, NULL};
static const char *const levels_e4m3_tensor_torchao[] = {"scale"};
/* e4m3_tensor_torchao (measured): FP8 of torchao, one scale for the tensor */
static const emu_recipe recipe_e4m3_tensor_torchao = {"e4m3_tensor", &format_e4m3, 1, 1, levels_e4m3_tensor_torchao, NULL};
static const char *const levels_e4m3_tensor_torchao_bf16[] = {"scale"};
/* e4m3_tensor_torchao_bf16 (measured): FP8 of torchao of weights in bfloat16, one scale for the tensor */
static const emu_recipe recipe_e4m3_tensor_torchao_bf16 = {"e4m3_tensor", &format_e4m3, 1, 1, levels_e4m3_tensor_torchao_bf16, NULL};
static const char *const levels_e4m3_tile128_bf16_compressed_tensors[] = {"scale"};
/* e4m3_tile128_bf16_compressed_tensors (measured): FP8 of compressed-tensors in bfloat16, tiles of 128 x 128 */
static const emu_recipe recipe_e4m3_tile128_bf16_compressed_tensors = {"e4m3_tile128_bf16", &format_e4m3, 1, 1, levels_e4m3_tile128_bf16_compressed_tensors, NULL};
static const char *const levels_e4m3_tile128_compressed_tensors[] = {"scale"};
/* e4m3_tile128_compressed_tensors (measured): FP8 of compressed-tensors in binary32, tiles of 128 x 128 */
static const emu_recipe recipe_e4m3_tile128_compressed_tensors = {"e4m3_tile128", &format_e4m3, 1, 1, levels_e4m3_tile128_compressed_tensors, NULL};
static const char *const levels_e4m3_tile128_deepseek[] = {"scale"};
/* e4m3_tile128_deepseek (source-code): FP8 of DeepSeek's weight_quant, tiles of 128 x 128 (read, not run) */
static const emu_recipe recipe_e4m3_tile128_deepseek = {"e4m3_tile128", &format_e4m3, 1, 1, levels_e4m3_tile128_deepseek, NULL};
static const char *const levels_e4m3_tile128_transformers[] = {"scale"};
/* e4m3_tile128_transformers (measured): FP8 of transformers in the form of DeepSeek, tiles of 128 x 128 */
static const emu_recipe recipe_e4m3_tile128_transformers = {"e4m3_tile128", &format_e4m3, 1, 1, levels_e4m3_tile128_transformers, NULL};
static const char *const levels_f46_nvint4[] = {"tensor", "scale"};
/* f46_nvint4 (measured): NVINT4 of fouroversix: two's complement elements in the NVFP4 hierarchy */
static const emu_recipe recipe_f46_nvint4 = {"nvint4", &format_int4, 1, 2, levels_f46_nvint4, NULL};
static const char *const levels_hif4[] = {"scale", "level8", "level4"};
/* hif4 (measured): HiFloat4: 64 elements, one E6M2 scale, two layers of shared bits */
static const emu_recipe recipe_hif4 = {"hif4", &format_e1m2, 1, 3, levels_hif4, NULL};
static const char *const levels_if4_abs_max[] = {"tensor", "scale", "flag"};
/* if4_abs_max (measured): IF4 of fouroversix: E2M1 or INT4 elements by the smaller largest error */
static const emu_recipe recipe_if4_abs_max = {"if4", &format_e2m1, 2, 3, levels_if4_abs_max, NULL};
static const char *const levels_if4_mae[] = {"tensor", "scale", "flag"};
/* if4_mae (measured): IF4 of fouroversix: E2M1 or INT4 elements by the smaller absolute error */
static const emu_recipe recipe_if4_mae = {"if4", &format_e2m1, 2, 3, levels_if4_mae, NULL};
static const char *const levels_if4_mse[] = {"tensor", "scale", "flag"};
/* if4_mse (measured): IF4 of fouroversix: E2M1 or INT4 elements by the smaller squared error */
static const emu_recipe recipe_if4_mse = {"if4", &format_e2m1, 2, 3, levels_if4_mse, NULL};
static const char *const levels_kvfp4_sglang[] = {"scale"};
/* kvfp4_sglang (measured): FP4 KV cache of SGLang, blocks of 16 under a power of two */
static const emu_recipe recipe_kvfp4_sglang = {"mxfp4_16", &format_e2m1, 1, 1, levels_kvfp4_sglang, NULL};
static const char *const levels_mxe1m2_floor[] = {"scale"};
/* mxe1m2_floor (proposed): MX blocks of the uniform grid E1M2, scale rounded down */
static const emu_recipe recipe_mxe1m2_floor = {"mxe1m2", &format_e1m2, 1, 1, levels_mxe1m2_floor, NULL};
static const char *const levels_mxfp4_aiter_triton[] = {"scale"};
/* mxfp4_aiter_triton (measured): MXFP4 of AITER's Triton kernels */
static const emu_recipe recipe_mxfp4_aiter_triton = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_aiter_triton, NULL};
static const char *const levels_mxfp4_auto_round[] = {"scale"};
/* mxfp4_auto_round (measured): MXFP4 of AutoRound, mx_fp4 without learned rounding */
static const emu_recipe recipe_mxfp4_auto_round = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_auto_round, NULL};
static const char *const levels_mxfp4_deep_gemm[] = {"scale"};
/* mxfp4_deep_gemm (measured): MXFP4 of DeepGEMM's reference, blocks of 32 */
static const emu_recipe recipe_mxfp4_deep_gemm = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_deep_gemm, NULL};
static const char *const levels_mxfp4_f46_static_4[] = {"scale"};
/* mxfp4_f46_static_4 (measured): MXFP4 of fouroversix, block maximum to 4 */
static const emu_recipe recipe_mxfp4_f46_static_4 = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_f46_static_4, NULL};
static const char *const levels_mxfp4_f46_static_6[] = {"scale"};
/* mxfp4_f46_static_6 (measured): MXFP4 of fouroversix, block maximum to 6 */
static const emu_recipe recipe_mxfp4_f46_static_6 = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_f46_static_6, NULL};
static const char *const levels_mxfp4_flashinfer_trace[] = {"scale"};
/* mxfp4_flashinfer_trace (measured): MXFP4 of the reference beside FlashInfer's kernels (not the kernels) */
static const emu_recipe recipe_mxfp4_flashinfer_trace = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_flashinfer_trace, NULL};
static const char *const levels_mxfp4_ggml[] = {"scale"};
/* mxfp4_ggml (measured): MXFP4 of ggml, quantize_row_mxfp4_ref */
static const emu_recipe recipe_mxfp4_ggml = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_ggml, NULL};
static const char *const levels_mxfp4_inc_even[] = {"scale"};
/* mxfp4_inc_even (measured): MXFP4 of neural-compressor, round even */
static const emu_recipe recipe_mxfp4_inc_even = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_inc_even, NULL};
static const char *const levels_mxfp4_inc_floor[] = {"scale"};
/* mxfp4_inc_floor (measured): MXFP4 of neural-compressor, round floor */
static const emu_recipe recipe_mxfp4_inc_floor = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_inc_floor, NULL};
static const char *const levels_mxfp4_inc_nearest[] = {"scale"};
/* mxfp4_inc_nearest (measured): MXFP4 of neural-compressor, round nearest (its default) */
static const emu_recipe recipe_mxfp4_inc_nearest = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_inc_nearest, NULL};
static const char *const levels_mxfp4_mlx_cpu[] = {"scale"};
/* mxfp4_mlx_cpu (measured): MXFP4 of MLX since 0.32.2, mx.quantize on a CPU */
static const emu_recipe recipe_mxfp4_mlx_cpu = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_mlx_cpu, NULL};
static const char *const levels_mxfp4_quark_even[] = {"scale"};
/* mxfp4_quark_even (measured): MXFP4 of AMD Quark, even rounding of the maximum (its default) */
static const emu_recipe recipe_mxfp4_quark_even = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_quark_even, NULL};
static const char *const levels_mxfp4_quark_floor[] = {"scale"};
/* mxfp4_quark_floor (measured): MXFP4 of AMD Quark, real_quantize_mxfp */
static const emu_recipe recipe_mxfp4_quark_floor = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_quark_floor, NULL};
static const char *const levels_mxfp4_te_pow2[] = {"scale"};
/* mxfp4_te_pow2 (measured): MXFP4 of Transformer Engine's reference quantizer, power-of-two scales */
static const emu_recipe recipe_mxfp4_te_pow2 = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_te_pow2, NULL};
static const char *const levels_mxfp4_torchao_ceil[] = {"scale"};
/* mxfp4_torchao_ceil (measured): MXFP4 of torchao, scale rounded up (CEIL) */
static const emu_recipe recipe_mxfp4_torchao_ceil = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_torchao_ceil, NULL};
static const char *const levels_mxfp4_torchao_even[] = {"scale"};
/* mxfp4_torchao_even (measured): MXFP4 of torchao, scale rounded to nearest (EVEN) */
static const emu_recipe recipe_mxfp4_torchao_even = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_torchao_even, NULL};
static const char *const levels_mxfp4_torchao_floor[] = {"scale"};
/* mxfp4_torchao_floor (measured): MXFP4 of torchao, scale rounded down (FLOOR) */
static const emu_recipe recipe_mxfp4_torchao_floor = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_torchao_floor, NULL};
static const char *const levels_mxfp4_torchao_rceil[] = {"scale"};
/* mxfp4_torchao_rceil (measured): MXFP4 of torchao, scale rounded up after division by 6 (RCEIL) */
static const emu_recipe recipe_mxfp4_torchao_rceil = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_torchao_rceil, NULL};
static const char *const levels_mxfp4_triton_down[] = {"scale"};
/* mxfp4_triton_down (measured): MXFP4 of triton_kernels, scale rounded down (ROUND_DOWN) */
static const emu_recipe recipe_mxfp4_triton_down = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_triton_down, NULL};
static const char *const levels_mxfp4_triton_up[] = {"scale"};
/* mxfp4_triton_up (measured): MXFP4 of triton_kernels, scale rounded up (ROUND_UP) */
static const emu_recipe recipe_mxfp4_triton_up = {"mxfp4", &format_e2m1, 1, 1, levels_mxfp4_triton_up, NULL};
static const char *const levels_mxfp6_e2m3_torchao_ceil[] = {"scale"};
/* mxfp6_e2m3_torchao_ceil (measured): MXFP6 E2M3 of torchao, scale rule CEIL */
static const emu_recipe recipe_mxfp6_e2m3_torchao_ceil = {"mxfp6_e2m3", &format_e2m3, 1, 1, levels_mxfp6_e2m3_torchao_ceil, NULL};
static const char *const levels_mxfp6_e2m3_torchao_even[] = {"scale"};
/* mxfp6_e2m3_torchao_even (measured): MXFP6 E2M3 of torchao, scale rule EVEN */
static const emu_recipe recipe_mxfp6_e2m3_torchao_even = {"mxfp6_e2m3", &format_e2m3, 1, 1, levels_mxfp6_e2m3_torchao_even, NULL};
static const char *const levels_mxfp6_e2m3_torchao_floor[] = {"scale"};
/* mxfp6_e2m3_torchao_floor (measured): MXFP6 E2M3 of torchao, scale rule FLOOR */
static const emu_recipe recipe_mxfp6_e2m3_torchao_floor = {"mxfp6_e2m3", &format_e2m3, 1, 1, levels_mxfp6_e2m3_torchao_floor, NULL};
static const char *const levels_mxfp6_e2m3_torchao_rceil[] = {"scale"};
/* mxfp6_e2m3_torchao_rceil (measured): MXFP6 E2M3 of torchao, scale rule RCEIL */
static const emu_recipe recipe_mxfp6_e2m3_torchao_rceil = {"mxfp6_e2m3", &format_e2m3, 1, 1, levels_mxfp6_e2m3_torchao_rceil, NULL};
static const char *const levels_mxfp6_e3m2_torchao_ceil[] = {"scale"};
/* mxfp6_e3m2_torchao_ceil (measured): MXFP6 E3M2 of torchao, scale rule CEIL */
static const emu_recipe recipe_mxfp6_e3m2_torchao_ceil = {"mxfp6_e3m2", &format_e3m2, 1, 1, levels_mxfp6_e3m2_torchao_ceil, NULL};
static const char *const levels_mxfp6_e3m2_torchao_even[] = {"scale"};
/* mxfp6_e3m2_torchao_even (measured): MXFP6 E3M2 of torchao, scale rule EVEN */
static const emu_recipe recipe_mxfp6_e3m2_torchao_even = {"mxfp6_e3m2", &format_e3m2, 1, 1, levels_mxfp6_e3m2_torchao_even, NULL};
static const char *const levels_mxfp6_e3m2_torchao_floor[] = {"scale"};
/* mxfp6_e3m2_torchao_floor (measured): MXFP6 E3M2 of torchao, scale rule FLOOR */
static const emu_recipe recipe_mxfp6_e3m2_torchao_floor = {"mxfp6_e3m2", &format_e3m2, 1, 1, levels_mxfp6_e3m2_torchao_floor, NULL};
static const char *const levels_mxfp6_e3m2_torchao_rceil[] = {"scale"};
/* mxfp6_e3m2_torchao_rceil (measured): MXFP6 E3M2 of torchao, scale rule RCEIL */
static const emu_recipe recipe_mxfp6_e3m2_torchao_rceil = {"mxfp6_e3m2", &format_e3m2, 1, 1, levels_mxfp6_e3m2_torchao_rceil, NULL};
static const char *const levels_mxfp8_e4m3_comfy[] = {"scale"};
/* mxfp8_e4m3_comfy (measured): MXFP8 of comfy-kitchen, eager */
static const emu_recipe recipe_mxfp8_e4m3_comfy = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_comfy, NULL};
static const char *const levels_mxfp8_e4m3_jax[] = {"scale"};
/* mxfp8_e4m3_jax (measured): MXFP8 E4M3 of JAX, scaled_matmul_stablehlo.quantize */
static const emu_recipe recipe_mxfp8_e4m3_jax = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_jax, NULL};
static const char *const levels_mxfp8_e4m3_te[] = {"scale"};
/* mxfp8_e4m3_te (source-code): MXFP8 E4M3 of Transformer Engine (its scale rule is run, the rest is read) */
static const emu_recipe recipe_mxfp8_e4m3_te = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_te, NULL};
static const char *const levels_mxfp8_e4m3_torchao_ceil[] = {"scale"};
/* mxfp8_e4m3_torchao_ceil (measured): MXFP8 E4M3 of torchao, scale rule CEIL */
static const emu_recipe recipe_mxfp8_e4m3_torchao_ceil = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_torchao_ceil, NULL};
static const char *const levels_mxfp8_e4m3_torchao_even[] = {"scale"};
/* mxfp8_e4m3_torchao_even (measured): MXFP8 E4M3 of torchao, scale rule EVEN */
static const emu_recipe recipe_mxfp8_e4m3_torchao_even = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_torchao_even, NULL};
static const char *const levels_mxfp8_e4m3_torchao_floor[] = {"scale"};
/* mxfp8_e4m3_torchao_floor (measured): MXFP8 E4M3 of torchao, scale rule FLOOR */
static const emu_recipe recipe_mxfp8_e4m3_torchao_floor = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_torchao_floor, NULL};
static const char *const levels_mxfp8_e4m3_torchao_rceil[] = {"scale"};
/* mxfp8_e4m3_torchao_rceil (measured): MXFP8 E4M3 of torchao, scale rule RCEIL */
static const emu_recipe recipe_mxfp8_e4m3_torchao_rceil = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_torchao_rceil, NULL};
static const char *const levels_mxfp8_e4m3_triton_down[] = {"scale"};
/* mxfp8_e4m3_triton_down (measured): MXFP8 E4M3 of triton_kernels, scale rounded down (ROUND_DOWN) */
static const emu_recipe recipe_mxfp8_e4m3_triton_down = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_triton_down, NULL};
static const char *const levels_mxfp8_e4m3_triton_up[] = {"scale"};
/* mxfp8_e4m3_triton_up (measured): MXFP8 E4M3 of triton_kernels, scale rounded up (ROUND_UP) */
static const emu_recipe recipe_mxfp8_e4m3_triton_up = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_triton_up, NULL};
static const char *const levels_mxfp8_e4m3_vllm[] = {"scale"};
/* mxfp8_e4m3_vllm (measured): MXFP8 of vLLM, PyTorch path */
static const emu_recipe recipe_mxfp8_e4m3_vllm = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_e4m3_vllm, NULL};
static const char *const levels_mxfp8_e5m2_jax[] = {"scale"};
/* mxfp8_e5m2_jax (measured): MXFP8 E5M2 of JAX, scaled_matmul_stablehlo.quantize */
static const emu_recipe recipe_mxfp8_e5m2_jax = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_jax, NULL};
static const char *const levels_mxfp8_e5m2_te[] = {"scale"};
/* mxfp8_e5m2_te (source-code): MXFP8 E5M2 of Transformer Engine (its scale rule is run, the rest is read) */
static const emu_recipe recipe_mxfp8_e5m2_te = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_te, NULL};
static const char *const levels_mxfp8_e5m2_torchao_ceil[] = {"scale"};
/* mxfp8_e5m2_torchao_ceil (measured): MXFP8 E5M2 of torchao, scale rule CEIL */
static const emu_recipe recipe_mxfp8_e5m2_torchao_ceil = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_torchao_ceil, NULL};
static const char *const levels_mxfp8_e5m2_torchao_even[] = {"scale"};
/* mxfp8_e5m2_torchao_even (measured): MXFP8 E5M2 of torchao, scale rule EVEN */
static const emu_recipe recipe_mxfp8_e5m2_torchao_even = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_torchao_even, NULL};
static const char *const levels_mxfp8_e5m2_torchao_floor[] = {"scale"};
/* mxfp8_e5m2_torchao_floor (measured): MXFP8 E5M2 of torchao, scale rule FLOOR */
static const emu_recipe recipe_mxfp8_e5m2_torchao_floor = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_torchao_floor, NULL};
static const char *const levels_mxfp8_e5m2_torchao_rceil[] = {"scale"};
/* mxfp8_e5m2_torchao_rceil (measured): MXFP8 E5M2 of torchao, scale rule RCEIL */
static const emu_recipe recipe_mxfp8_e5m2_torchao_rceil = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_torchao_rceil, NULL};
static const char *const levels_mxfp8_e5m2_triton_down[] = {"scale"};
/* mxfp8_e5m2_triton_down (measured): MXFP8 E5M2 of triton_kernels, scale rounded down (ROUND_DOWN) */
static const emu_recipe recipe_mxfp8_e5m2_triton_down = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_triton_down, NULL};
static const char *const levels_mxfp8_e5m2_triton_up[] = {"scale"};
/* mxfp8_e5m2_triton_up (measured): MXFP8 E5M2 of triton_kernels, scale rounded up (ROUND_UP) */
static const emu_recipe recipe_mxfp8_e5m2_triton_up = {"mxfp8_e5m2", &format_e5m2, 1, 1, levels_mxfp8_e5m2_triton_up, NULL};
static const char *const levels_mxfp8_mlx_cpu[] = {"scale"};
/* mxfp8_mlx_cpu (measured): MXFP8 of MLX since 0.32.2, mx.quantize on a CPU */
static const emu_recipe recipe_mxfp8_mlx_cpu = {"mxfp8_e4m3", &format_e4m3, 1, 1, levels_mxfp8_mlx_cpu, NULL};
static const char *const levels_nf4_bnb[] = {"scale"};
/* nf4_bnb (measured): NF4 of bitsandbytes, blocks of 64 */
static const emu_recipe recipe_nf4_bnb = {"nf4_block64", &format_nf4, 1, 1, levels_nf4_bnb, NULL};
static const char *const levels_nve0m3[] = {"tensor", "scale"};
/* nve0m3 (proposed): the integer grid E0M3 in the NVFP4 hierarchy */
static const emu_recipe recipe_nve0m3 = {"nve0m3", &format_e0m3, 1, 2, levels_nve0m3, NULL};
static const char *const levels_nvfp4_auto_round[] = {"tensor", "scale"};
/* nvfp4_auto_round (measured): NVFP4 of AutoRound, nv_fp4 without learned rounding */
static const emu_recipe recipe_nvfp4_auto_round = {"nvfp4_divisor", &format_e2m1, 1, 2, levels_nvfp4_auto_round, NULL};
static const char *const levels_nvfp4_comfy[] = {"tensor", "scale"};
/* nvfp4_comfy (measured): NVFP4 of comfy-kitchen, eager */
static const emu_recipe recipe_nvfp4_comfy = {"nvfp4_multiplier", &format_e2m1, 1, 2, levels_nvfp4_comfy, NULL};
static const char *const levels_nvfp4_compressed_tensors[] = {"tensor", "scale"};
/* nvfp4_compressed_tensors (measured): NVFP4 of compressed-tensors, tensor scale stored as a divisor */
static const emu_recipe recipe_nvfp4_compressed_tensors = {"nvfp4_divisor", &format_e2m1, 1, 2, levels_nvfp4_compressed_tensors, NULL};
static const char *const levels_nvfp4_deep_gemm[] = {"scale"};
/* nvfp4_deep_gemm (measured): NVFP4 of DeepGEMM's reference, unit tensor scale */
static const emu_recipe recipe_nvfp4_deep_gemm = {"nvfp4_1level", &format_e2m1, 1, 1, levels_nvfp4_deep_gemm, NULL};
static const char *const levels_nvfp4_f46_abs_max[] = {"tensor", "scale"};
/* nvfp4_f46_abs_max (measured): NVFP4 of fouroversix, block maximum to 6 or 4 by the smaller largest error */
static const emu_recipe recipe_nvfp4_f46_abs_max = {"nvfp4_256", &format_e2m1, 1, 2, levels_nvfp4_f46_abs_max, NULL};
static const char *const levels_nvfp4_f46_mae[] = {"tensor", "scale"};
/* nvfp4_f46_mae (measured): NVFP4 of fouroversix, block maximum to 6 or 4 by the smaller absolute error */
static const emu_recipe recipe_nvfp4_f46_mae = {"nvfp4_256", &format_e2m1, 1, 2, levels_nvfp4_f46_mae, NULL};
static const char *const levels_nvfp4_f46_mse[] = {"tensor", "scale"};
/* nvfp4_f46_mse (measured): NVFP4 of fouroversix, block maximum to 6 or 4 by the smaller squared error */
static const emu_recipe recipe_nvfp4_f46_mse = {"nvfp4_256", &format_e2m1, 1, 2, levels_nvfp4_f46_mse, NULL};
static const char *const levels_nvfp4_f46_static_4[] = {"tensor", "scale"};
/* nvfp4_f46_static_4 (measured): NVFP4 of fouroversix, block maximum to 4 */
static const emu_recipe recipe_nvfp4_f46_static_4 = {"nvfp4_1792", &format_e2m1, 1, 2, levels_nvfp4_f46_static_4, NULL};
static const char *const levels_nvfp4_f46_static_6[] = {"tensor", "scale"};
/* nvfp4_f46_static_6 (measured): NVFP4 of fouroversix, block maximum to 6 */
static const emu_recipe recipe_nvfp4_f46_static_6 = {"nvfp4", &format_e2m1, 1, 2, levels_nvfp4_f46_static_6, NULL};
static const char *const levels_nvfp4_flashinfer_strict[] = {"tensor", "scale"};
/* nvfp4_flashinfer_strict (source-code): NVFP4 of FlashInfer's CUDA kernel without fast mathematics (read, not run) */
static const emu_recipe recipe_nvfp4_flashinfer_strict = {"nvfp4_divisor", &format_e2m1, 1, 2, levels_nvfp4_flashinfer_strict, NULL};
static const char *const levels_nvfp4_flashinfer_trace[] = {"tensor", "scale"};
/* nvfp4_flashinfer_trace (measured): NVFP4 of the reference beside FlashInfer's kernels (not the kernels) */
static const emu_recipe recipe_nvfp4_flashinfer_trace = {"nvfp4_divisor", &format_e2m1, 1, 2, levels_nvfp4_flashinfer_trace, NULL};
static const char *const levels_nvfp4_ggml[] = {"scale"};
/* nvfp4_ggml (measured): NVFP4 of ggml, quantize_row_nvfp4_ref, one of the four parts of a record */
static const emu_recipe recipe_nvfp4_ggml = {"nvfp4_1level", &format_e2m1, 1, 1, levels_nvfp4_ggml, NULL};
static const char *const levels_nvfp4_jax[] = {"tensor", "scale"};
/* nvfp4_jax (measured): NVFP4 of JAX, scaled_matmul_stablehlo.quantize, global scale amax / 2688 */
static const emu_recipe recipe_nvfp4_jax = {"nvfp4_multiplier", &format_e2m1, 1, 2, levels_nvfp4_jax, NULL};
static const char *const levels_nvfp4_mlx_cpu[] = {"scale"};
/* nvfp4_mlx_cpu (measured): NVFP4 of MLX, mx.quantize on a CPU, no global scale */
static const emu_recipe recipe_nvfp4_mlx_cpu = {"nvfp4_1level", &format_e2m1, 1, 1, levels_nvfp4_mlx_cpu, NULL};
static const char *const levels_nvfp4_mlx_cpu_global[] = {"tensor", "scale"};
/* nvfp4_mlx_cpu_global (measured): NVFP4 of MLX, mx.quantize on a CPU with a global scale (the tensor maximum) */
static const emu_recipe recipe_nvfp4_mlx_cpu_global = {"nvfp4", &format_e2m1, 1, 2, levels_nvfp4_mlx_cpu_global, NULL};
static const char *const levels_nvfp4_modelopt[] = {"tensor", "scale"};
/* nvfp4_modelopt (measured): NVFP4 of ModelOpt, tensor scale stored as a multiplier */
static const emu_recipe recipe_nvfp4_modelopt = {"nvfp4_multiplier", &format_e2m1, 1, 2, levels_nvfp4_modelopt, NULL};
static const char *const levels_nvfp4_quartet2_rtn[] = {"tensor", "scale"};
/* nvfp4_quartet2_rtn (source-code): NVFP4 of Quartet II, nearest rounding, one candidate, range 448 * 6 (read, not proven equal) */
static const emu_recipe recipe_nvfp4_quartet2_rtn = {"nvfp4_multiplier", &format_e2m1, 1, 2, levels_nvfp4_quartet2_rtn, NULL};
static const char *const levels_nvfp4_te_2d_ref[] = {"tensor", "scale"};
/* nvfp4_te_2d_ref (measured): NVFP4 of Transformer Engine's reference quantizer, tiles of 16x16 */
static const emu_recipe recipe_nvfp4_te_2d_ref = {"nvfp4_tile16", &format_e2m1, 1, 2, levels_nvfp4_te_2d_ref, NULL};
static const char *const levels_nvfp4_te_4over6_mae_256[] = {"tensor", "scale"};
/* nvfp4_te_4over6_mae_256 (measured): Transformer Engine's four-over-six: block maximum to 6 or 4 by the smaller absolute error, scales up to 256 */
static const emu_recipe recipe_nvfp4_te_4over6_mae_256 = {"nvfp4_256", &format_e2m1, 1, 2, levels_nvfp4_te_4over6_mae_256, NULL};
static const char *const levels_nvfp4_te_4over6_mae_448[] = {"tensor", "scale"};
/* nvfp4_te_4over6_mae_448 (measured): Transformer Engine's four-over-six: block maximum to 6 or 4 by the smaller absolute error, scales up to 448 */
static const emu_recipe recipe_nvfp4_te_4over6_mae_448 = {"nvfp4", &format_e2m1, 1, 2, levels_nvfp4_te_4over6_mae_448, NULL};
static const char *const levels_nvfp4_te_4over6_mse_256[] = {"tensor", "scale"};
/* nvfp4_te_4over6_mse_256 (measured): Transformer Engine's four-over-six: block maximum to 6 or 4 by the smaller squared error, scales up to 256 */
static const emu_recipe recipe_nvfp4_te_4over6_mse_256 = {"nvfp4_256", &format_e2m1, 1, 2, levels_nvfp4_te_4over6_mse_256, NULL};
static const char *const levels_nvfp4_te_4over6_mse_256_fast[] = {"tensor", "scale"};
/* nvfp4_te_4over6_mse_256_fast (measured): Transformer Engine's four-over-six, squared error measured in the scaled domain, scales up to 256 */
static const emu_recipe recipe_nvfp4_te_4over6_mse_256_fast = {"nvfp4_256", &format_e2m1, 1, 2, levels_nvfp4_te_4over6_mse_256_fast, NULL};
static const char *const levels_nvfp4_te_4over6_mse_448[] = {"tensor", "scale"};
/* nvfp4_te_4over6_mse_448 (measured): Transformer Engine's four-over-six: block maximum to 6 or 4 by the smaller squared error, scales up to 448 */
static const emu_recipe recipe_nvfp4_te_4over6_mse_448 = {"nvfp4", &format_e2m1, 1, 2, levels_nvfp4_te_4over6_mse_448, NULL};
static const char *const levels_nvfp4_te_cuda[] = {"tensor", "scale"};
/* nvfp4_te_cuda (source-code): NVFP4 of Transformer Engine's CUDA kernels, blocks of 1x16 */
static const emu_recipe recipe_nvfp4_te_cuda = {"nvfp4", &format_e2m1, 1, 2, levels_nvfp4_te_cuda, NULL};
static const char *const levels_nvfp4_te_ref[] = {"tensor", "scale"};
/* nvfp4_te_ref (measured): NVFP4 of Transformer Engine's reference quantizer, blocks of 1x16 */
static const emu_recipe recipe_nvfp4_te_ref = {"nvfp4", &format_e2m1, 1, 2, levels_nvfp4_te_ref, NULL};
static const char *const levels_nvfp4_te_row_scaled[] = {"row_amax", "scale"};
/* nvfp4_te_row_scaled (measured): NVFP4 of Transformer Engine's reference quantizer, one maximum per row */
static const emu_recipe recipe_nvfp4_te_row_scaled = {"nvfp4_row", &format_e2m1, 1, 2, levels_nvfp4_te_row_scaled, NULL};
static const char *const levels_nvfp4_torchao[] = {"tensor", "scale"};
/* nvfp4_torchao (measured): NVFP4 of torchao with a tensor scale */
static const emu_recipe recipe_nvfp4_torchao = {"nvfp4_multiplier", &format_e2m1, 1, 2, levels_nvfp4_torchao, NULL};
static const char *const levels_nvfp4_torchao_1level[] = {"scale"};
/* nvfp4_torchao_1level (measured): NVFP4 of torchao without a tensor scale */
static const emu_recipe recipe_nvfp4_torchao_1level = {"nvfp4_1level", &format_e2m1, 1, 1, levels_nvfp4_torchao_1level, NULL};
static const char *const levels_nvfp4_vllm_emulation[] = {"tensor", "scale"};
/* nvfp4_vllm_emulation (measured): NVFP4 of vLLM, emulation of machines without it */
static const emu_recipe recipe_nvfp4_vllm_emulation = {"nvfp4_divisor", &format_e2m1, 1, 2, levels_nvfp4_vllm_emulation, NULL};
static const char *const levels_nvufp4[] = {"tensor", "scale"};
/* nvufp4 (proposed): the uniform grid E1M2 in the NVFP4 hierarchy */
static const emu_recipe recipe_nvufp4 = {"nvufp4", &format_e1m2, 1, 2, levels_nvufp4, NULL};
static const char *const levels_ufp4[] = {"scale"};
/* ufp4 (proposed): UFP4: rotated blocks of E1M2 with a binary32 scale */
static const emu_recipe recipe_ufp4 = {"ufp4", &format_e1m2, 1, 1, levels_ufp4, NULL};
static const char *const levels_ufp4_sr[] = {"scale"};
/* ufp4_sr (proposed): UFP4 with stochastic rounding of the elements */
static const emu_recipe recipe_ufp4_sr = {"ufp4", &format_e1m2, 1, 1, levels_ufp4_sr, NULL};
static const emu_register quantize_e1m2_fp32scale_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fe00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* not_nan */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_1 = {.overflow = EMU_SATURATE, .nan = {{.rule = EMU_IS_OPEN}, {.rule = EMU_IS_OPEN}}};
static const emu_step quantize_e1m2_fp32scale_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1}, /* not_nan */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e1m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_e1m2_fp32scale_levels[] = {
    {.reg = 5, .rows = 1, .columns = 16, .format = &format_fp32},
};
static const char *const quantize_e1m2_fp32scale_names[] = {
    "x", "block_amax", NULL, "unit", NULL, "scale", "scaled", NULL, "not_nan", "codes",
};
/* e1m2_fp32scale, quantize */
static const emu_program quantize_e1m2_fp32scale = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 9, .values = -1, .register_count = 10, .step_count = 6, .level_count = 1, .registers = quantize_e1m2_fp32scale_registers,
    .steps = quantize_e1m2_fp32scale_steps, .levels = quantize_e1m2_fp32scale_levels, .names = quantize_e1m2_fp32scale_names,
};
static const emu_register dequantize_e1m2_fp32scale_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_e1m2_fp32scale_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e1m2}, /* code_value */
    {.operation = EMU_OP_MUL, .out = 3, .args = {2, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_e1m2_fp32scale_exact_levels[] = {
    {.reg = 1, .rows = 1, .columns = 16, .format = &format_fp32},
};
static const char *const dequantize_e1m2_fp32scale_exact_names[] = {"codes", "scale", "code_value", "values"};
/* e1m2_fp32scale, exact */
static const emu_program dequantize_e1m2_fp32scale_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 3, .register_count = 4, .step_count = 2, .level_count = 1, .registers = dequantize_e1m2_fp32scale_exact_registers,
    .steps = dequantize_e1m2_fp32scale_exact_steps, .levels = dequantize_e1m2_fp32scale_exact_levels,
    .names = dequantize_e1m2_fp32scale_exact_names,
};
static const emu_register quantize_e2m1_fp32scale_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* not_nan */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e2m1_fp32scale_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1}, /* not_nan */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* e2m1_fp32scale, quantize */
static const emu_program quantize_e2m1_fp32scale = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 9, .values = -1, .register_count = 10, .step_count = 6, .level_count = 1, .registers = quantize_e2m1_fp32scale_registers,
    .steps = quantize_e2m1_fp32scale_steps, .levels = quantize_e1m2_fp32scale_levels, .names = quantize_e1m2_fp32scale_names,
};
static const emu_step dequantize_e2m1_fp32scale_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_MUL, .out = 3, .args = {2, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* e2m1_fp32scale, exact */
static const emu_program dequantize_e2m1_fp32scale_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 3, .register_count = 4, .step_count = 2, .level_count = 1, .registers = dequantize_e1m2_fp32scale_exact_registers,
    .steps = dequantize_e2m1_fp32scale_exact_steps, .levels = dequantize_e1m2_fp32scale_exact_levels,
    .names = dequantize_e1m2_fp32scale_exact_names,
};
static const emu_register quantize_e4m3_row_bf16_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 1}, /* weight */
    {.rows = 1, .columns = 0}, /* row_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 0}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3c000000}, /* constant */
    {.rows = 1, .columns = 0}, /* divisor */
    {.rows = 1, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_2 = {
    .overflow = EMU_IEEE_INF, .nan = {{.rule = EMU_BY_CODE, .code = 0x7fc0}, {.rule = EMU_BY_CODE, .code = 0x7fc0}},
};
static const emu_policy cast_policy_3 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
};
static const emu_step quantize_e4m3_row_bf16_compressed_tensors_steps[] = {
    {.operation = EMU_OP_ROUND, .out = 1, .args = {0, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* weight */
    {.operation = EMU_OP_AMAX, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* row_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 6, .args = {4, 5, 4, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* divisor */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne, .policy = &cast_policy_2}, /* scale */
    {.operation = EMU_OP_DIV, .out = 8, .args = {1, 6, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 10, .args = {8, 9, 8, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CLAMP, .out = 12, .args = {10, 11, 3, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
static const emu_level quantize_e4m3_row_bf16_compressed_tensors_levels[] = {
    {.reg = 7, .rows = 1, .columns = 0, .format = &format_bf16},
};
static const char *const quantize_e4m3_row_bf16_compressed_tensors_names[] = {
    "x", "weight", "row_amax", NULL, "unit", NULL, "divisor", "scale", "scaled", NULL, "plus_zero", NULL, "clamped", "codes",
};
/* e4m3_row_bf16_compressed_tensors, quantize */
static const emu_program quantize_e4m3_row_bf16_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_e4m3_row_bf16_compressed_tensors_registers, .steps = quantize_e4m3_row_bf16_compressed_tensors_steps,
    .levels = quantize_e4m3_row_bf16_compressed_tensors_levels, .names = quantize_e4m3_row_bf16_compressed_tensors_names,
};
static const emu_register dequantize_e4m3_row_bf16_compressed_tensors_bf16_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 0}, /* scale_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_e4m3_row_bf16_compressed_tensors_bf16_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e4m3}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_bf16}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_e4m3_row_bf16_compressed_tensors_bf16_levels[] = {
    {.reg = 1, .rows = 1, .columns = 0, .format = &format_bf16},
};
static const char *const dequantize_e4m3_row_bf16_compressed_tensors_bf16_names[] = {
    "codes", "scale", "code_value", "scale_value", "values",
};
/* e4m3_row_bf16_compressed_tensors, bf16 */
static const emu_program dequantize_e4m3_row_bf16_compressed_tensors_bf16 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_e4m3_row_bf16_compressed_tensors_bf16_registers,
    .steps = dequantize_e4m3_row_bf16_compressed_tensors_bf16_steps, .levels = dequantize_e4m3_row_bf16_compressed_tensors_bf16_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_e4m3_row_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 0}, /* row_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 0}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x34000000}, /* constant */
    {.rows = 1, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_row_compressed_tensors_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* row_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CLAMP, .out = 10, .args = {8, 9, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
static const emu_level quantize_e4m3_row_compressed_tensors_levels[] = {
    {.reg = 5, .rows = 1, .columns = 0, .format = &format_fp32},
};
static const char *const quantize_e4m3_row_compressed_tensors_names[] = {
    "x", "row_amax", NULL, "unit", NULL, "scale", "scaled", NULL, "plus_zero", NULL, "clamped", "codes",
};
/* e4m3_row_compressed_tensors, quantize */
static const emu_program quantize_e4m3_row_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 7, .level_count = 1,
    .registers = quantize_e4m3_row_compressed_tensors_registers, .steps = quantize_e4m3_row_compressed_tensors_steps,
    .levels = quantize_e4m3_row_compressed_tensors_levels, .names = quantize_e4m3_row_compressed_tensors_names,
};
static const emu_register dequantize_e4m3_row_compressed_tensors_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_e4m3_row_compressed_tensors_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e4m3}, /* code_value */
    {.operation = EMU_OP_MUL, .out = 3, .args = {2, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_e4m3_row_compressed_tensors_exact_levels[] = {
    {.reg = 1, .rows = 1, .columns = 0, .format = &format_fp32},
};
/* e4m3_row_compressed_tensors, exact */
static const emu_program dequantize_e4m3_row_compressed_tensors_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 3, .register_count = 4, .step_count = 2, .level_count = 1,
    .registers = dequantize_e4m3_row_compressed_tensors_exact_registers, .steps = dequantize_e4m3_row_compressed_tensors_exact_steps,
    .levels = dequantize_e4m3_row_compressed_tensors_exact_levels, .names = dequantize_e1m2_fp32scale_exact_names,
};
static const emu_register quantize_e4m3_row_torchao_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 0}, /* row_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_4 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0xff}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
static const emu_step quantize_e4m3_row_torchao_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* row_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_DIV, .out = 4, .args = {0, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 6, .args = {4, 5, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const emu_level quantize_e4m3_row_torchao_levels[] = {
    {.reg = 3, .rows = 1, .columns = 0, .format = &format_fp32},
};
static const char *const quantize_e4m3_row_torchao_names[] = {"x", "row_amax", NULL, "scale", "scaled", NULL, "clamped", "codes"};
/* e4m3_row_torchao, quantize */
static const emu_program quantize_e4m3_row_torchao = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 5, .level_count = 1,
    .registers = quantize_e4m3_row_torchao_registers, .steps = quantize_e4m3_row_torchao_steps, .levels = quantize_e4m3_row_torchao_levels,
    .names = quantize_e4m3_row_torchao_names,
};
static const emu_register quantize_e4m3_row_torchao_bf16_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 1}, /* weight */
    {.rows = 1, .columns = 0}, /* row_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_row_torchao_bf16_steps[] = {
    {.operation = EMU_OP_ROUND, .out = 1, .args = {0, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* weight */
    {.operation = EMU_OP_AMAX, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* row_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_DIV, .out = 5, .args = {1, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 7, .args = {5, 6, 3, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 8, .args = {7, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const emu_level quantize_e4m3_row_torchao_bf16_levels[] = {
    {.reg = 4, .rows = 1, .columns = 0, .format = &format_fp32},
};
static const char *const quantize_e4m3_row_torchao_bf16_names[] = {
    "x", "weight", "row_amax", NULL, "scale", "scaled", NULL, "clamped", "codes",
};
/* e4m3_row_torchao_bf16, quantize */
static const emu_program quantize_e4m3_row_torchao_bf16 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 8, .values = -1, .register_count = 9, .step_count = 6, .level_count = 1,
    .registers = quantize_e4m3_row_torchao_bf16_registers, .steps = quantize_e4m3_row_torchao_bf16_steps,
    .levels = quantize_e4m3_row_torchao_bf16_levels, .names = quantize_e4m3_row_torchao_bf16_names,
};
static const emu_register quantize_e4m3_tensor_bf16_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 1}, /* weight */
    {.rows = 0, .columns = 0}, /* amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3c000000}, /* constant */
    {.rows = 0, .columns = 0}, /* divisor */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_tensor_bf16_compressed_tensors_steps[] = {
    {.operation = EMU_OP_ROUND, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* weight */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 7, .args = {5, 6, 5, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* divisor */
    {.operation = EMU_OP_CAST, .out = 8, .args = {7, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne, .policy = &cast_policy_2}, /* scale */
    {.operation = EMU_OP_DIV, .out = 9, .args = {2, 7, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {9, 10, 9, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CLAMP, .out = 13, .args = {11, 12, 4, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 14, .args = {13, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
static const emu_level quantize_e4m3_tensor_bf16_compressed_tensors_levels[] = {
    {.reg = 8, .rows = 0, .columns = 0, .format = &format_bf16},
};
static const char *const quantize_e4m3_tensor_bf16_compressed_tensors_names[] = {
    "x", "tensor_amax", "weight", "amax", NULL, "unit", NULL, "divisor", "scale", "scaled", NULL, "plus_zero", NULL, "clamped", "codes",
};
/* e4m3_tensor_bf16_compressed_tensors, quantize */
static const emu_program quantize_e4m3_tensor_bf16_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 14, .values = -1, .register_count = 15, .step_count = 9, .level_count = 1,
    .registers = quantize_e4m3_tensor_bf16_compressed_tensors_registers, .steps = quantize_e4m3_tensor_bf16_compressed_tensors_steps,
    .levels = quantize_e4m3_tensor_bf16_compressed_tensors_levels, .names = quantize_e4m3_tensor_bf16_compressed_tensors_names,
};
static const emu_register dequantize_e4m3_tensor_bf16_compressed_tensors_bf16_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 0, .columns = 0}, /* scale_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_level dequantize_e4m3_tensor_bf16_compressed_tensors_bf16_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_bf16},
};
/* e4m3_tensor_bf16_compressed_tensors, bf16 */
static const emu_program dequantize_e4m3_tensor_bf16_compressed_tensors_bf16 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_e4m3_tensor_bf16_compressed_tensors_bf16_registers,
    .steps = dequantize_e4m3_row_bf16_compressed_tensors_bf16_steps, .levels = dequantize_e4m3_tensor_bf16_compressed_tensors_bf16_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_e4m3_tensor_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x34000000}, /* constant */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_tensor_compressed_tensors_steps[] = {
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CLAMP, .out = 10, .args = {8, 9, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
static const emu_level quantize_e4m3_tensor_compressed_tensors_levels[] = {
    {.reg = 5, .rows = 0, .columns = 0, .format = &format_fp32},
};
static const char *const quantize_e4m3_tensor_compressed_tensors_names[] = {
    "x", "tensor_amax", NULL, "unit", NULL, "scale", "scaled", NULL, "plus_zero", NULL, "clamped", "codes",
};
/* e4m3_tensor_compressed_tensors, quantize */
static const emu_program quantize_e4m3_tensor_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 6, .level_count = 1,
    .registers = quantize_e4m3_tensor_compressed_tensors_registers, .steps = quantize_e4m3_tensor_compressed_tensors_steps,
    .levels = quantize_e4m3_tensor_compressed_tensors_levels, .names = quantize_e4m3_tensor_compressed_tensors_names,
};
static const emu_register dequantize_e4m3_tensor_compressed_tensors_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_level dequantize_e4m3_tensor_compressed_tensors_exact_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
};
/* e4m3_tensor_compressed_tensors, exact */
static const emu_program dequantize_e4m3_tensor_compressed_tensors_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 3, .register_count = 4, .step_count = 2, .level_count = 1,
    .registers = dequantize_e4m3_tensor_compressed_tensors_exact_registers, .steps = dequantize_e4m3_row_compressed_tensors_exact_steps,
    .levels = dequantize_e4m3_tensor_compressed_tensors_exact_levels, .names = dequantize_e1m2_fp32scale_exact_names,
};
static const emu_register quantize_e4m3_tensor_modelopt_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x800000}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_normal */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_5 = {
    .overflow = EMU_TO_NAN, .nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0x7f}},
    .overflow_nan = {{.rule = EMU_BY_CODE, .code = 0x7f}, {.rule = EMU_BY_CODE, .code = 0xff}},
};
static const emu_step quantize_e4m3_tensor_modelopt_steps[] = {
    {.operation = EMU_OP_SELECT, .out = 3, .args = {1, 2, 1, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* amax */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* amax_normal */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_DIV, .out = 7, .args = {0, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 8, .args = {7, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_5}, /* codes */
};
static const emu_level quantize_e4m3_tensor_modelopt_levels[] = {
    {.reg = 6, .rows = 0, .columns = 0, .format = &format_fp32},
};
static const char *const quantize_e4m3_tensor_modelopt_names[] = {
    "x", "tensor_amax", NULL, "amax", NULL, "amax_normal", "scale", "scaled", "codes",
};
/* e4m3_tensor_modelopt, quantize */
static const emu_program quantize_e4m3_tensor_modelopt = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 8, .values = -1, .register_count = 9, .step_count = 5, .level_count = 1,
    .registers = quantize_e4m3_tensor_modelopt_registers, .steps = quantize_e4m3_tensor_modelopt_steps,
    .levels = quantize_e4m3_tensor_modelopt_levels, .names = quantize_e4m3_tensor_modelopt_names,
};
static const emu_register quantize_e4m3_tensor_torchao_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_tensor_torchao_steps[] = {
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_DIV, .out = 4, .args = {0, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 6, .args = {4, 5, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const emu_level quantize_e4m3_tensor_torchao_levels[] = {
    {.reg = 3, .rows = 0, .columns = 0, .format = &format_fp32},
};
static const char *const quantize_e4m3_tensor_torchao_names[] = {"x", "tensor_amax", NULL, "scale", "scaled", NULL, "clamped", "codes"};
/* e4m3_tensor_torchao, quantize */
static const emu_program quantize_e4m3_tensor_torchao = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 4, .level_count = 1,
    .registers = quantize_e4m3_tensor_torchao_registers, .steps = quantize_e4m3_tensor_torchao_steps,
    .levels = quantize_e4m3_tensor_torchao_levels, .names = quantize_e4m3_tensor_torchao_names,
};
static const emu_register quantize_e4m3_tensor_torchao_bf16_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 1}, /* weight */
    {.rows = 0, .columns = 0}, /* amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_tensor_torchao_bf16_steps[] = {
    {.operation = EMU_OP_ROUND, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* weight */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_DIV, .out = 6, .args = {2, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 8, .args = {6, 7, 4, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const char *const quantize_e4m3_tensor_torchao_bf16_names[] = {
    "x", "tensor_amax", "weight", "amax", NULL, "scale", "scaled", NULL, "clamped", "codes",
};
/* e4m3_tensor_torchao_bf16, quantize */
static const emu_program quantize_e4m3_tensor_torchao_bf16 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 1, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 9, .values = -1, .register_count = 10, .step_count = 6, .level_count = 1,
    .registers = quantize_e4m3_tensor_torchao_bf16_registers, .steps = quantize_e4m3_tensor_torchao_bf16_steps,
    .levels = quantize_e4m3_tensor_compressed_tensors_levels, .names = quantize_e4m3_tensor_torchao_bf16_names,
};
static const emu_register quantize_e4m3_tile128_bf16_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 1}, /* weight */
    {.rows = 128, .columns = 128}, /* tile_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 128, .columns = 128}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3c000000}, /* constant */
    {.rows = 128, .columns = 128}, /* divisor */
    {.rows = 128, .columns = 128}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_level quantize_e4m3_tile128_bf16_compressed_tensors_levels[] = {
    {.reg = 7, .rows = 128, .columns = 128, .format = &format_bf16},
};
static const char *const quantize_e4m3_tile128_bf16_compressed_tensors_names[] = {
    "x", "weight", "tile_amax", NULL, "unit", NULL, "divisor", "scale", "scaled", NULL, "plus_zero", NULL, "clamped", "codes",
};
/* e4m3_tile128_bf16_compressed_tensors, quantize */
static const emu_program quantize_e4m3_tile128_bf16_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 128, .tile_columns = 128, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_e4m3_tile128_bf16_compressed_tensors_registers, .steps = quantize_e4m3_row_bf16_compressed_tensors_steps,
    .levels = quantize_e4m3_tile128_bf16_compressed_tensors_levels, .names = quantize_e4m3_tile128_bf16_compressed_tensors_names,
};
static const emu_register dequantize_e4m3_tile128_bf16_compressed_tensors_bf16_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 128, .columns = 128}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 128, .columns = 128}, /* scale_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_level dequantize_e4m3_tile128_bf16_compressed_tensors_bf16_levels[] = {
    {.reg = 1, .rows = 128, .columns = 128, .format = &format_bf16},
};
/* e4m3_tile128_bf16_compressed_tensors, bf16 */
static const emu_program dequantize_e4m3_tile128_bf16_compressed_tensors_bf16 = {
    .arithmetic = &format_fp32, .tile_rows = 128, .tile_columns = 128, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_e4m3_tile128_bf16_compressed_tensors_bf16_registers,
    .steps = dequantize_e4m3_row_bf16_compressed_tensors_bf16_steps, .levels = dequantize_e4m3_tile128_bf16_compressed_tensors_bf16_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_e4m3_tile128_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 128, .columns = 128}, /* tile_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 128, .columns = 128}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x34000000}, /* constant */
    {.rows = 128, .columns = 128}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_level quantize_e4m3_tile128_compressed_tensors_levels[] = {
    {.reg = 5, .rows = 128, .columns = 128, .format = &format_fp32},
};
static const char *const quantize_e4m3_tile128_compressed_tensors_names[] = {
    "x", "tile_amax", NULL, "unit", NULL, "scale", "scaled", NULL, "plus_zero", NULL, "clamped", "codes",
};
/* e4m3_tile128_compressed_tensors, quantize */
static const emu_program quantize_e4m3_tile128_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 128, .tile_columns = 128, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 7, .level_count = 1,
    .registers = quantize_e4m3_tile128_compressed_tensors_registers, .steps = quantize_e4m3_row_compressed_tensors_steps,
    .levels = quantize_e4m3_tile128_compressed_tensors_levels, .names = quantize_e4m3_tile128_compressed_tensors_names,
};
static const emu_register dequantize_e4m3_tile128_compressed_tensors_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 128, .columns = 128}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_level dequantize_e4m3_tile128_compressed_tensors_exact_levels[] = {
    {.reg = 1, .rows = 128, .columns = 128, .format = &format_fp32},
};
/* e4m3_tile128_compressed_tensors, exact */
static const emu_program dequantize_e4m3_tile128_compressed_tensors_exact = {
    .arithmetic = &format_fp32, .tile_rows = 128, .tile_columns = 128, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 3, .register_count = 4, .step_count = 2, .level_count = 1,
    .registers = dequantize_e4m3_tile128_compressed_tensors_exact_registers, .steps = dequantize_e4m3_row_compressed_tensors_exact_steps,
    .levels = dequantize_e4m3_tile128_compressed_tensors_exact_levels, .names = dequantize_e1m2_fp32scale_exact_names,
};
static const emu_register quantize_e4m3_tile128_deepseek_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 128, .columns = 128}, /* tile_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 128, .columns = 128}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_tile128_deepseek_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* tile_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_DIV, .out = 4, .args = {0, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const emu_level quantize_e4m3_tile128_deepseek_levels[] = {
    {.reg = 3, .rows = 128, .columns = 128, .format = &format_fp32},
};
static const char *const quantize_e4m3_tile128_deepseek_names[] = {"x", "tile_amax", NULL, "scale", "scaled", "codes"};
/* e4m3_tile128_deepseek, quantize */
static const emu_program quantize_e4m3_tile128_deepseek = {
    .arithmetic = &format_fp32, .tile_rows = 128, .tile_columns = 128, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 5, .values = -1, .register_count = 6, .step_count = 4, .level_count = 1,
    .registers = quantize_e4m3_tile128_deepseek_registers, .steps = quantize_e4m3_tile128_deepseek_steps,
    .levels = quantize_e4m3_tile128_deepseek_levels, .names = quantize_e4m3_tile128_deepseek_names,
};
static const emu_register quantize_e4m3_tile128_transformers_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 128, .columns = 128}, /* tile_amax */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 128, .columns = 128}, /* amax */
    {.rows = 128, .columns = 128}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 128, .columns = 128}, /* ratio */
    {.rows = 128, .columns = 128}, /* multiplier */
    {.rows = 128, .columns = 128}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_e4m3_tile128_transformers_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* tile_amax */
    {.operation = EMU_OP_SELECT, .out = 4, .args = {2, 1, 1, 3}, .random = -1, .variant = EMU_TEST_LT}, /* amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MUL, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {2, 1, 7, 3}, .random = -1, .variant = EMU_TEST_LT}, /* multiplier */
    {.operation = EMU_OP_DIV, .out = 9, .args = {3, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 12, .args = {10, 11, 6, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const emu_level quantize_e4m3_tile128_transformers_levels[] = {
    {.reg = 9, .rows = 128, .columns = 128, .format = &format_fp32},
};
static const char *const quantize_e4m3_tile128_transformers_names[] = {
    "x", "tile_amax", NULL, NULL, "amax", "reciprocal", NULL, "ratio", "multiplier", "scale", "scaled", NULL, "clamped", "codes",
};
/* e4m3_tile128_transformers, quantize */
static const emu_program quantize_e4m3_tile128_transformers = {
    .arithmetic = &format_fp32, .tile_rows = 128, .tile_columns = 128, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_e4m3_tile128_transformers_registers, .steps = quantize_e4m3_tile128_transformers_steps,
    .levels = quantize_e4m3_tile128_transformers_levels, .names = quantize_e4m3_tile128_transformers_names,
};
static const emu_register quantize_f46_nvint4_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45440000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_wanted */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_f46_nvint4_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_wanted */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 14, .args = {13, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {11, 8, 16, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {17, 8, 17, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CLAMP, .out = 20, .args = {18, 19, 3, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_int4, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_f46_nvint4_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 10, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_f46_nvint4_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw", NULL, "scale_wanted", "scale", "scale_value",
    NULL, "tensor_factor", "factor", "multiplier", "scaled_raw", "scaled", "plus_zero", NULL, "clamped", "codes",
};
/* f46_nvint4, quantize */
static const emu_program quantize_f46_nvint4 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5440001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 21, .values = -1, .register_count = 22, .step_count = 15, .level_count = 2,
    .registers = quantize_f46_nvint4_registers, .steps = quantize_f46_nvint4_steps, .levels = quantize_f46_nvint4_levels,
    .names = quantize_f46_nvint4_names,
};
static const emu_register dequantize_f46_nvint4_f46_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* product */
    {.rows = 1, .columns = 1}, /* numerator */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45440000}, /* constant */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_f46_nvint4_f46_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_int4}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product */
    {.operation = EMU_OP_MUL, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator */
    {.operation = EMU_OP_DIV, .out = 8, .args = {6, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_f46_nvint4_f46_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 2, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const dequantize_f46_nvint4_f46_names[] = {
    "codes", "tensor", "scale", "code_value", "scale_value", "product", "numerator", NULL, "values",
};
/* f46_nvint4, f46 */
static const emu_program dequantize_f46_nvint4_f46 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5440001,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_f46_nvint4_f46_registers, .steps = dequantize_f46_nvint4_f46_steps, .levels = dequantize_f46_nvint4_f46_levels,
    .names = dequantize_f46_nvint4_f46_names,
};
static const emu_register quantize_hif4_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 4}, /* amax_4 */
    {.rows = 1, .columns = 8}, /* amax_8 */
    {.rows = 1, .columns = 64}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e120000}, /* constant */
    {.rows = 1, .columns = 64}, /* scale_raw */
    {.rows = 1, .columns = 64}, /* scale_rounded */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x27800000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x47400000}, /* constant */
    {.rows = 1, .columns = 64}, /* scale_clamped */
    {.rows = 1, .columns = 64}, /* scale */
    {.rows = 1, .columns = 64}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 64}, /* reciprocal */
    {.rows = 1, .columns = 8}, /* ratio_8 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40800000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40000000}, /* constant */
    {.rows = 1, .columns = 8}, /* factor_8 */
    {.rows = 1, .columns = 8}, /* level8 */
    {.rows = 1, .columns = 4}, /* ratio_4_raw */
    {.rows = 1, .columns = 4}, /* ratio_4 */
    {.rows = 1, .columns = 4}, /* factor_4 */
    {.rows = 1, .columns = 4}, /* level4 */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* magnitude_8 */
    {.rows = 1, .columns = 1}, /* magnitude_4 */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* quarters */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f000000}, /* constant */
    {.rows = 1, .columns = 1}, /* quarters_up */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e800000}, /* constant */
    {.rows = 1, .columns = 1}, /* scaled_up */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_hif4_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* amax_4 */
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* amax_8 */
    {.operation = EMU_OP_AMAX, .out = 3, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MUL, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_ROUND, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* scale_rounded */
    {.operation = EMU_OP_CLAMP, .out = 9, .args = {6, 7, 8, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e6m2, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e6m2}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 11, -1, -1}, .random = -1, .format = &format_bf16, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MUL, .out = 14, .args = {2, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio_8 */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {14, 15, 16, 12}, .random = -1, .variant = EMU_TEST_GE}, /* factor_8 */
    {.operation = EMU_OP_CAST, .out = 18, .args = {17, -1, -1, -1}, .random = -1, .format = &format_ue1m0, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* level8 */
    {.operation = EMU_OP_MUL, .out = 19, .args = {1, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio_4_raw */
    {.operation = EMU_OP_DIV, .out = 20, .args = {19, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio_4 */
    {.operation = EMU_OP_SELECT, .out = 21, .args = {20, 16, 16, 12}, .random = -1, .variant = EMU_TEST_GE}, /* factor_4 */
    {.operation = EMU_OP_CAST, .out = 22, .args = {21, -1, -1, -1}, .random = -1, .format = &format_ue1m0, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* level4 */
    {.operation = EMU_OP_ABS, .out = 23, .args = {0, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_DIV, .out = 24, .args = {23, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* magnitude_8 */
    {.operation = EMU_OP_DIV, .out = 25, .args = {24, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* magnitude_4 */
    {.operation = EMU_OP_MUL, .out = 26, .args = {25, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_MUL, .out = 27, .args = {26, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* quarters */
    {.operation = EMU_OP_ADD, .out = 29, .args = {27, 28, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* quarters_up */
    {.operation = EMU_OP_MUL, .out = 31, .args = {29, 30, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_up */
    {.operation = EMU_OP_NEG, .out = 32, .args = {31, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 33, .args = {0, 32, 31, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 34, .args = {33, -1, -1, -1}, .random = -1, .format = &format_e1m2, .rounding = &rounding_rz, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_hif4_levels[] = {
    {.reg = 10, .rows = 1, .columns = 64, .format = &format_e6m2},
    {.reg = 18, .rows = 1, .columns = 8, .format = &format_ue1m0},
    {.reg = 22, .rows = 1, .columns = 4, .format = &format_ue1m0},
};
static const char *const quantize_hif4_names[] = {
    "x", "amax_4", "amax_8", "block_amax", NULL, "scale_raw", "scale_rounded", NULL, NULL, "scale_clamped", "scale", "scale_value", NULL,
    "reciprocal", "ratio_8", NULL, NULL, "factor_8", "level8", "ratio_4_raw", "ratio_4", "factor_4", "level4", "magnitude", "magnitude_8",
    "magnitude_4", "scaled", "quarters", NULL, "quarters_up", NULL, "scaled_up", "negated", "signed", "codes",
};
/* hif4, quantize */
static const emu_program quantize_hif4 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 64, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 34, .values = -1, .register_count = 35, .step_count = 26, .level_count = 3, .registers = quantize_hif4_registers,
    .steps = quantize_hif4_steps, .levels = quantize_hif4_levels, .names = quantize_hif4_names,
};
static const emu_register dequantize_hif4_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 64}, /* scale */
    {.rows = 1, .columns = 8}, /* level8 */
    {.rows = 1, .columns = 4}, /* level4 */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 64}, /* scale_value */
    {.rows = 1, .columns = 8}, /* factor_8 */
    {.rows = 1, .columns = 4}, /* factor_4 */
    {.rows = 1, .columns = 1}, /* product_8 */
    {.rows = 1, .columns = 1}, /* product_4 */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_hif4_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 4, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e1m2}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e6m2}, /* scale_value */
    {.operation = EMU_OP_DECODE, .out = 6, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue1m0}, /* factor_8 */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {3, -1, -1, -1}, .random = -1, .format = &format_ue1m0}, /* factor_4 */
    {.operation = EMU_OP_MUL, .out = 8, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_8 */
    {.operation = EMU_OP_MUL, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_4 */
    {.operation = EMU_OP_MUL, .out = 10, .args = {9, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_hif4_exact_levels[] = {
    {.reg = 1, .rows = 1, .columns = 64, .format = &format_e6m2},
    {.reg = 2, .rows = 1, .columns = 8, .format = &format_ue1m0},
    {.reg = 3, .rows = 1, .columns = 4, .format = &format_ue1m0},
};
static const char *const dequantize_hif4_exact_names[] = {
    "codes", "scale", "level8", "level4", "code_value", "scale_value", "factor_8", "factor_4", "product_8", "product_4", "values",
};
/* hif4, exact */
static const emu_program dequantize_hif4_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 64, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 10, .register_count = 11, .step_count = 7, .level_count = 3,
    .registers = dequantize_hif4_exact_registers, .steps = dequantize_hif4_exact_steps, .levels = dequantize_hif4_exact_levels,
    .names = dequantize_hif4_exact_names,
};
static const emu_register quantize_if4_abs_max_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_wanted */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes_float */
    {.rows = 1, .columns = 1}, /* rounded_float */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f955555}, /* constant */
    {.rows = 1, .columns = 1}, /* scaled_int */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped_int */
    {.rows = 1, .columns = 1}, /* codes_int */
    {.rows = 1, .columns = 1}, /* code_value_int */
    {.rows = 1, .columns = 1}, /* product_float */
    {.rows = 1, .columns = 1}, /* numerator_float */
    {.rows = 1, .columns = 1}, /* decoded_float */
    {.rows = 1, .columns = 1}, /* difference_float */
    {.rows = 1, .columns = 1}, /* product_int */
    {.rows = 1, .columns = 1}, /* product_amax_int */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f5b6db7}, /* constant */
    {.rows = 1, .columns = 1}, /* numerator_int */
    {.rows = 1, .columns = 1}, /* decoded_int */
    {.rows = 1, .columns = 1}, /* difference_int */
    {.rows = 1, .columns = 16}, /* error_float */
    {.rows = 1, .columns = 16}, /* error_int */
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 16}, /* flag_value */
    {.rows = 1, .columns = 16}, /* flag */
};
static const emu_policy cast_policy_6 = {.overflow = EMU_WRAP, .nan = {{.rule = EMU_IS_OPEN}, {.rule = EMU_IS_OPEN}}};
static const emu_step quantize_if4_abs_max_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_wanted */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 14, .args = {13, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {11, 8, 16, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {17, 8, 17, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_float */
    {.operation = EMU_OP_ROUND, .out = 20, .args = {18, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_float */
    {.operation = EMU_OP_MUL, .out = 22, .args = {18, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_int */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped_int */
    {.operation = EMU_OP_CAST, .out = 26, .args = {25, -1, -1, -1}, .random = -1, .format = &format_int4, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes_int */
    {.operation = EMU_OP_DECODE, .out = 27, .args = {26, -1, -1, -1}, .random = -1, .format = &format_int4}, /* code_value_int */
    {.operation = EMU_OP_MUL, .out = 28, .args = {20, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_float */
    {.operation = EMU_OP_MUL, .out = 29, .args = {28, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_float */
    {.operation = EMU_OP_DIV, .out = 30, .args = {29, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_float */
    {.operation = EMU_OP_SUB, .out = 31, .args = {30, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_float */
    {.operation = EMU_OP_MUL, .out = 32, .args = {27, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_int */
    {.operation = EMU_OP_MUL, .out = 33, .args = {32, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_amax_int */
    {.operation = EMU_OP_MUL, .out = 35, .args = {33, 34, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_int */
    {.operation = EMU_OP_DIV, .out = 36, .args = {35, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_int */
    {.operation = EMU_OP_SUB, .out = 37, .args = {36, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_int */
    {.operation = EMU_OP_AMAX, .out = 38, .args = {31, -1, -1, -1}, .random = -1}, /* error_float */
    {.operation = EMU_OP_AMAX, .out = 39, .args = {37, -1, -1, -1}, .random = -1}, /* error_int */
    {.operation = EMU_OP_SELECT, .out = 40, .args = {39, 38, 26, 19}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
    {.operation = EMU_OP_SELECT, .out = 41, .args = {39, 38, 12, 8}, .random = -1, .variant = EMU_TEST_LT}, /* flag_value */
    {.operation = EMU_OP_CAST, .out = 42, .args = {41, -1, -1, -1}, .random = -1, .format = &format_uint1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* flag */
};
static const emu_level quantize_if4_abs_max_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 10, .rows = 1, .columns = 16, .format = &format_ue4m3},
    {.reg = 42, .rows = 1, .columns = 16, .format = &format_uint1},
};
static const char *const quantize_if4_abs_max_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw", NULL, "scale_wanted", "scale", "scale_value",
    NULL, "tensor_factor", "factor", "multiplier", "scaled_raw", "scaled", "plus_zero", "codes_float", "rounded_float", NULL, "scaled_int",
    NULL, NULL, "clamped_int", "codes_int", "code_value_int", "product_float", "numerator_float", "decoded_float", "difference_float",
    "product_int", "product_amax_int", NULL, "numerator_int", "decoded_int", "difference_int", "error_float", "error_int", "codes",
    "flag_value", "flag",
};
/* if4_abs_max, quantize */
static const emu_program quantize_if4_abs_max = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 40, .values = -1, .register_count = 43, .step_count = 33, .level_count = 3,
    .registers = quantize_if4_abs_max_registers, .steps = quantize_if4_abs_max_steps, .levels = quantize_if4_abs_max_levels,
    .names = quantize_if4_abs_max_names,
};
static const emu_register dequantize_if4_abs_max_f46_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* flag */
    {.rows = 1, .columns = 1}, /* code_value_float */
    {.rows = 1, .columns = 1}, /* code_value_int */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* product_float */
    {.rows = 1, .columns = 1}, /* numerator_float */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 1, .columns = 1}, /* value_float */
    {.rows = 1, .columns = 1}, /* product_int */
    {.rows = 1, .columns = 1}, /* product_amax_int */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f5b6db7}, /* constant */
    {.rows = 1, .columns = 1}, /* numerator_int */
    {.rows = 1, .columns = 1}, /* value_int */
    {.rows = 1, .columns = 16}, /* flag_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_if4_abs_max_f46_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 4, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_float */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {0, -1, -1, -1}, .random = -1, .format = &format_int4}, /* code_value_int */
    {.operation = EMU_OP_DECODE, .out = 6, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_float */
    {.operation = EMU_OP_MUL, .out = 8, .args = {7, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_float */
    {.operation = EMU_OP_DIV, .out = 10, .args = {8, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* value_float */
    {.operation = EMU_OP_MUL, .out = 11, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_int */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_amax_int */
    {.operation = EMU_OP_MUL, .out = 14, .args = {12, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_int */
    {.operation = EMU_OP_DIV, .out = 15, .args = {14, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* value_int */
    {.operation = EMU_OP_DECODE, .out = 16, .args = {3, -1, -1, -1}, .random = -1, .format = &format_uint1}, /* flag_value */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {16, 10, 15, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* values */
};
static const emu_level dequantize_if4_abs_max_f46_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 2, .rows = 1, .columns = 16, .format = &format_ue4m3},
    {.reg = 3, .rows = 1, .columns = 16, .format = &format_uint1},
};
static const char *const dequantize_if4_abs_max_f46_names[] = {
    "codes", "tensor", "scale", "flag", "code_value_float", "code_value_int", "scale_value", "product_float", "numerator_float", NULL,
    "value_float", "product_int", "product_amax_int", NULL, "numerator_int", "value_int", "flag_value", "values",
};
/* if4_abs_max, f46 */
static const emu_program dequantize_if4_abs_max_f46 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 17, .register_count = 18, .step_count = 12, .level_count = 3,
    .registers = dequantize_if4_abs_max_f46_registers, .steps = dequantize_if4_abs_max_f46_steps,
    .levels = dequantize_if4_abs_max_f46_levels, .names = dequantize_if4_abs_max_f46_names,
};
static const emu_register quantize_if4_mae_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_wanted */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes_float */
    {.rows = 1, .columns = 1}, /* rounded_float */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f955555}, /* constant */
    {.rows = 1, .columns = 1}, /* scaled_int */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped_int */
    {.rows = 1, .columns = 1}, /* codes_int */
    {.rows = 1, .columns = 1}, /* code_value_int */
    {.rows = 1, .columns = 1}, /* product_float */
    {.rows = 1, .columns = 1}, /* numerator_float */
    {.rows = 1, .columns = 1}, /* decoded_float */
    {.rows = 1, .columns = 1}, /* difference_float */
    {.rows = 1, .columns = 1}, /* product_int */
    {.rows = 1, .columns = 1}, /* product_amax_int */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f5b6db7}, /* constant */
    {.rows = 1, .columns = 1}, /* numerator_int */
    {.rows = 1, .columns = 1}, /* decoded_int */
    {.rows = 1, .columns = 1}, /* difference_int */
    {.rows = 1, .columns = 1}, /* distance_float */
    {.rows = 1, .columns = 16}, /* error_float */
    {.rows = 1, .columns = 1}, /* distance_int */
    {.rows = 1, .columns = 16}, /* error_int */
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 16}, /* flag_value */
    {.rows = 1, .columns = 16}, /* flag */
};
static const emu_step quantize_if4_mae_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_wanted */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 14, .args = {13, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {11, 8, 16, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {17, 8, 17, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_float */
    {.operation = EMU_OP_ROUND, .out = 20, .args = {18, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_float */
    {.operation = EMU_OP_MUL, .out = 22, .args = {18, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_int */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped_int */
    {.operation = EMU_OP_CAST, .out = 26, .args = {25, -1, -1, -1}, .random = -1, .format = &format_int4, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes_int */
    {.operation = EMU_OP_DECODE, .out = 27, .args = {26, -1, -1, -1}, .random = -1, .format = &format_int4}, /* code_value_int */
    {.operation = EMU_OP_MUL, .out = 28, .args = {20, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_float */
    {.operation = EMU_OP_MUL, .out = 29, .args = {28, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_float */
    {.operation = EMU_OP_DIV, .out = 30, .args = {29, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_float */
    {.operation = EMU_OP_SUB, .out = 31, .args = {30, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_float */
    {.operation = EMU_OP_MUL, .out = 32, .args = {27, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_int */
    {.operation = EMU_OP_MUL, .out = 33, .args = {32, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_amax_int */
    {.operation = EMU_OP_MUL, .out = 35, .args = {33, 34, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_int */
    {.operation = EMU_OP_DIV, .out = 36, .args = {35, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_int */
    {.operation = EMU_OP_SUB, .out = 37, .args = {36, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_int */
    {.operation = EMU_OP_ABS, .out = 38, .args = {31, -1, -1, -1}, .random = -1}, /* distance_float */
    {.operation = EMU_OP_SUM, .out = 39, .args = {38, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_float */
    {.operation = EMU_OP_ABS, .out = 40, .args = {37, -1, -1, -1}, .random = -1}, /* distance_int */
    {.operation = EMU_OP_SUM, .out = 41, .args = {40, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_int */
    {.operation = EMU_OP_SELECT, .out = 42, .args = {41, 39, 26, 19}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
    {.operation = EMU_OP_SELECT, .out = 43, .args = {41, 39, 12, 8}, .random = -1, .variant = EMU_TEST_LT}, /* flag_value */
    {.operation = EMU_OP_CAST, .out = 44, .args = {43, -1, -1, -1}, .random = -1, .format = &format_uint1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* flag */
};
static const emu_level quantize_if4_mae_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 10, .rows = 1, .columns = 16, .format = &format_ue4m3},
    {.reg = 44, .rows = 1, .columns = 16, .format = &format_uint1},
};
static const char *const quantize_if4_mae_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw", NULL, "scale_wanted", "scale", "scale_value",
    NULL, "tensor_factor", "factor", "multiplier", "scaled_raw", "scaled", "plus_zero", "codes_float", "rounded_float", NULL, "scaled_int",
    NULL, NULL, "clamped_int", "codes_int", "code_value_int", "product_float", "numerator_float", "decoded_float", "difference_float",
    "product_int", "product_amax_int", NULL, "numerator_int", "decoded_int", "difference_int", "distance_float", "error_float",
    "distance_int", "error_int", "codes", "flag_value", "flag",
};
/* if4_mae, quantize */
static const emu_program quantize_if4_mae = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 42, .values = -1, .register_count = 45, .step_count = 35, .level_count = 3,
    .registers = quantize_if4_mae_registers, .steps = quantize_if4_mae_steps, .levels = quantize_if4_mae_levels,
    .names = quantize_if4_mae_names,
};
static const emu_step quantize_if4_mse_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_wanted */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 14, .args = {13, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {11, 8, 16, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {17, 8, 17, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_float */
    {.operation = EMU_OP_ROUND, .out = 20, .args = {18, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_float */
    {.operation = EMU_OP_MUL, .out = 22, .args = {18, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_int */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped_int */
    {.operation = EMU_OP_CAST, .out = 26, .args = {25, -1, -1, -1}, .random = -1, .format = &format_int4, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes_int */
    {.operation = EMU_OP_DECODE, .out = 27, .args = {26, -1, -1, -1}, .random = -1, .format = &format_int4}, /* code_value_int */
    {.operation = EMU_OP_MUL, .out = 28, .args = {20, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_float */
    {.operation = EMU_OP_MUL, .out = 29, .args = {28, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_float */
    {.operation = EMU_OP_DIV, .out = 30, .args = {29, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_float */
    {.operation = EMU_OP_SUB, .out = 31, .args = {30, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_float */
    {.operation = EMU_OP_MUL, .out = 32, .args = {27, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_int */
    {.operation = EMU_OP_MUL, .out = 33, .args = {32, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_amax_int */
    {.operation = EMU_OP_MUL, .out = 35, .args = {33, 34, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_int */
    {.operation = EMU_OP_DIV, .out = 36, .args = {35, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_int */
    {.operation = EMU_OP_SUB, .out = 37, .args = {36, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_int */
    {.operation = EMU_OP_MUL, .out = 38, .args = {31, 31, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_float */
    {.operation = EMU_OP_SUM, .out = 39, .args = {38, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_float */
    {.operation = EMU_OP_MUL, .out = 40, .args = {37, 37, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_int */
    {.operation = EMU_OP_SUM, .out = 41, .args = {40, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_int */
    {.operation = EMU_OP_SELECT, .out = 42, .args = {41, 39, 26, 19}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
    {.operation = EMU_OP_SELECT, .out = 43, .args = {41, 39, 12, 8}, .random = -1, .variant = EMU_TEST_LT}, /* flag_value */
    {.operation = EMU_OP_CAST, .out = 44, .args = {43, -1, -1, -1}, .random = -1, .format = &format_uint1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* flag */
};
static const char *const quantize_if4_mse_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw", NULL, "scale_wanted", "scale", "scale_value",
    NULL, "tensor_factor", "factor", "multiplier", "scaled_raw", "scaled", "plus_zero", "codes_float", "rounded_float", NULL, "scaled_int",
    NULL, NULL, "clamped_int", "codes_int", "code_value_int", "product_float", "numerator_float", "decoded_float", "difference_float",
    "product_int", "product_amax_int", NULL, "numerator_int", "decoded_int", "difference_int", "square_float", "error_float", "square_int",
    "error_int", "codes", "flag_value", "flag",
};
/* if4_mse, quantize */
static const emu_program quantize_if4_mse = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 42, .values = -1, .register_count = 45, .step_count = 35, .level_count = 3,
    .registers = quantize_if4_mae_registers, .steps = quantize_if4_mse_steps, .levels = quantize_if4_mae_levels,
    .names = quantize_if4_mse_names,
};
static const emu_register quantize_kvfp4_sglang_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* sixth */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x2edbe6ff}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 1, .columns = 16}, /* logarithm */
    {.rows = 1, .columns = 16}, /* whole */
    {.rows = 1, .columns = 16}, /* power */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_kvfp4_sglang_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* sixth */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_LOG2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_ru}, /* whole */
    {.operation = EMU_OP_POW2, .out = 8, .args = {7, -1, -1, -1}, .random = -1}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_ABS, .out = 11, .args = {10, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_CAST, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rna, .policy = &cast_policy_1}, /* up */
    {.operation = EMU_OP_DECODE, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_NEG, .out = 14, .args = {13, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 15, .args = {10, 14, 13, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_kvfp4_sglang_levels[] = {
    {.reg = 9, .rows = 1, .columns = 16, .format = &format_e8m0},
};
static const char *const quantize_kvfp4_sglang_names[] = {
    "x", "block_amax", NULL, "sixth", NULL, "unit", "logarithm", "whole", "power", "scale", "scaled", "magnitude", "up", "value", "negated",
    "signed", "codes",
};
/* kvfp4_sglang, quantize */
static const emu_program quantize_kvfp4_sglang = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 16, .values = -1, .register_count = 17, .step_count = 14, .level_count = 1,
    .registers = quantize_kvfp4_sglang_registers, .steps = quantize_kvfp4_sglang_steps, .levels = quantize_kvfp4_sglang_levels,
    .names = quantize_kvfp4_sglang_names,
};
static const emu_register dequantize_kvfp4_sglang_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_kvfp4_sglang_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_kvfp4_sglang_exact_levels[] = {
    {.reg = 1, .rows = 1, .columns = 16, .format = &format_e8m0},
};
/* kvfp4_sglang, exact */
static const emu_program dequantize_kvfp4_sglang_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_kvfp4_sglang_exact_registers, .steps = dequantize_kvfp4_sglang_exact_steps,
    .levels = dequantize_kvfp4_sglang_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_mxe1m2_floor_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxe1m2_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 4, .args = {0, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e1m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_mxe1m2_floor_levels[] = {
    {.reg = 2, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxe1m2_floor_names[] = {"x", "block_amax", "scale", "scale_value", "scaled", "codes"};
/* mxe1m2_floor, quantize */
static const emu_program quantize_mxe1m2_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 5, .values = -1, .register_count = 6, .step_count = 5, .level_count = 1, .registers = quantize_mxe1m2_floor_registers,
    .steps = quantize_mxe1m2_floor_steps, .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxe1m2_floor_names,
};
static const emu_register dequantize_mxe1m2_floor_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_mxe1m2_floor_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e1m2}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_mxe1m2_floor_exact_levels[] = {
    {.reg = 1, .rows = 1, .columns = 32, .format = &format_e8m0},
};
/* mxe1m2_floor, exact */
static const emu_program dequantize_mxe1m2_floor_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_KEEP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1, .registers = dequantize_mxe1m2_floor_exact_registers,
    .steps = dequantize_mxe1m2_floor_exact_steps, .levels = dequantize_mxe1m2_floor_exact_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_mxfp4_aiter_triton_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* scale_even */
    {.rows = 1, .columns = 32}, /* even_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f600000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* inverse */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_aiter_triton_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 2, .frac_bits = 1}, /* scale_even */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* even_value */
    {.operation = EMU_OP_SELECT, .out = 6, .args = {1, 4, 3, 5}, .random = -1, .variant = EMU_TEST_LT}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {1, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 11, .args = {10, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rna, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_mxfp4_aiter_triton_levels[] = {
    {.reg = 9, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxfp4_aiter_triton_names[] = {
    "x", "block_amax", "scale_even", "even_value", NULL, NULL, "clamped", NULL, "power", "scale", NULL, "inverse", "scaled", "codes",
};
/* mxfp4_aiter_triton, quantize */
static const emu_program quantize_mxfp4_aiter_triton = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp4_aiter_triton_registers, .steps = quantize_mxfp4_aiter_triton_steps,
    .levels = quantize_mxfp4_aiter_triton_levels, .names = quantize_mxfp4_aiter_triton_names,
};
/* mxfp4_aiter_triton, exact */
static const emu_program dequantize_mxfp4_aiter_triton_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_mxe1m2_floor_exact_registers, .steps = dequantize_kvfp4_sglang_exact_steps,
    .levels = dequantize_mxe1m2_floor_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_mxfp4_auto_round_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40000000}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 1, .columns = 32}, /* power_of_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* twice */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 1}, /* near */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e800000}, /* constant */
    {.rows = 1, .columns = 1}, /* guarded */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_auto_round_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_LOG2, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_SUB, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* exponent */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* power_of_amax */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {1, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_ABS, .out = 11, .args = {10, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* twice */
    {.operation = EMU_OP_ADD, .out = 13, .args = {12, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* up */
    {.operation = EMU_OP_SELECT, .out = 15, .args = {13, 14, 7, 11}, .random = -1, .variant = EMU_TEST_GE}, /* near */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {11, 16, 15, 11}, .random = -1, .variant = EMU_TEST_LT}, /* guarded */
    {.operation = EMU_OP_NEG, .out = 18, .args = {17, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 19, .args = {10, 18, 17, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 20, .args = {19, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_auto_round_names[] = {
    "x", "block_amax", "logarithm", "whole", NULL, "exponent", "power_of_amax", NULL, "power", "scale", "scaled_raw", "magnitude", "twice",
    "up", NULL, "near", NULL, "guarded", "negated", "signed", "codes",
};
/* mxfp4_auto_round, quantize */
static const emu_program quantize_mxfp4_auto_round = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 20, .values = -1, .register_count = 21, .step_count = 16, .level_count = 1,
    .registers = quantize_mxfp4_auto_round_registers, .steps = quantize_mxfp4_auto_round_steps,
    .levels = quantize_mxfp4_aiter_triton_levels, .names = quantize_mxfp4_auto_round_names,
};
static const emu_register quantize_mxfp4_deep_gemm_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x38d1b717}, /* constant */
    {.rows = 1, .columns = 32}, /* floor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* inverse */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* magnitude_code */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* positive */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_deep_gemm_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MAX, .out = 3, .args = {1, 2, -1, -1}, .random = -1}, /* floor_amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* up */
    {.operation = EMU_OP_DECODE, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* magnitude_code */
    {.operation = EMU_OP_SELECT, .out = 14, .args = {12, 13, 12, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* positive */
    {.operation = EMU_OP_CAST, .out = 15, .args = {14, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_mxfp4_deep_gemm_levels[] = {
    {.reg = 6, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxfp4_deep_gemm_names[] = {
    "x", "block_amax", NULL, "floor_amax", NULL, "unit", "scale", "scale_value", NULL, "inverse", "scaled", "up", "magnitude_code", NULL,
    "positive", "codes",
};
/* mxfp4_deep_gemm, quantize */
static const emu_program quantize_mxfp4_deep_gemm = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 15, .values = -1, .register_count = 16, .step_count = 11, .level_count = 1,
    .registers = quantize_mxfp4_deep_gemm_registers, .steps = quantize_mxfp4_deep_gemm_steps, .levels = quantize_mxfp4_deep_gemm_levels,
    .names = quantize_mxfp4_deep_gemm_names,
};
static const emu_register quantize_mxfp4_f46_static_4_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40800000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* kept */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_f46_static_4_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .variant = EMU_RULE_FIELD_UP}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 7, 8, 6}, .random = -1, .variant = EMU_TEST_LE}, /* kept */
    {.operation = EMU_OP_SELECT, .out = 10, .args = {9, 8, 9, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes */
};
static const emu_level quantize_mxfp4_f46_static_4_levels[] = {
    {.reg = 4, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxfp4_f46_static_4_names[] = {
    "x", "block_amax", NULL, "unit", "scale", "scale_value", "scaled", NULL, NULL, "kept", "plus_zero", "codes",
};
/* mxfp4_f46_static_4, quantize */
static const emu_program quantize_mxfp4_f46_static_4 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp4_f46_static_4_registers, .steps = quantize_mxfp4_f46_static_4_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp4_f46_static_4_names,
};
static const emu_register quantize_mxfp4_f46_static_6_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* kept */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
/* mxfp4_f46_static_6, quantize */
static const emu_program quantize_mxfp4_f46_static_6 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp4_f46_static_6_registers, .steps = quantize_mxfp4_f46_static_4_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp4_f46_static_4_names,
};
static const emu_register quantize_mxfp4_flashinfer_trace_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit_or_1 */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_flashinfer_trace_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* unit_or_1 */
    {.operation = EMU_OP_LOG2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_POW2, .out = 8, .args = {7, -1, -1, -1}, .random = -1}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 11, .args = {0, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_ABS, .out = 12, .args = {11, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_NEAREST, .out = 13, .args = {12, 4, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* up */
    {.operation = EMU_OP_DECODE, .out = 14, .args = {13, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_NEG, .out = 15, .args = {14, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 16, .args = {11, 15, 14, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 17, .args = {16, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_flashinfer_trace_names[] = {
    "x", "block_amax", NULL, "unit", NULL, "unit_or_1", "logarithm", "whole", "power", "scale", "scale_value", "scaled", "magnitude", "up",
    "value", "negated", "signed", "codes",
};
/* mxfp4_flashinfer_trace, quantize */
static const emu_program quantize_mxfp4_flashinfer_trace = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 17, .values = -1, .register_count = 18, .step_count = 15, .level_count = 1,
    .registers = quantize_mxfp4_flashinfer_trace_registers, .steps = quantize_mxfp4_flashinfer_trace_steps,
    .levels = quantize_mxfp4_aiter_triton_levels, .names = quantize_mxfp4_flashinfer_trace_names,
};
static const emu_register quantize_mxfp4_ggml_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* amax_number */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x42fa0000}, /* constant */
    {.rows = 1, .columns = 32}, /* shifted */
    {.rows = 1, .columns = 32}, /* unless_zero */
    {.rows = 1, .columns = 32}, /* unless_inf */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43800000}, /* constant */
    {.rows = 1, .columns = 32}, /* around */
    {.rows = 1, .columns = 32}, /* byte */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x42fe0000}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_ggml_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1, .variant = EMU_NAN_DROP}, /* block_amax */
    {.operation = EMU_OP_SELECT, .out = 3, .args = {1, 2, 1, -1}, .random = -1}, /* amax_number */
    {.operation = EMU_OP_LOG2, .out = 4, .args = {3, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_ADD, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* shifted */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {3, 2, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* unless_zero */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {3, 2, 8, -1}, .random = -1, .variant = EMU_TEST_INF}, /* unless_inf */
    {.operation = EMU_OP_ADD, .out = 11, .args = {9, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* around */
    {.operation = EMU_OP_SELECT, .out = 12, .args = {9, 11, 9, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* byte */
    {.operation = EMU_OP_WRAP, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale */
    {.operation = EMU_OP_SUB, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* exponent */
    {.operation = EMU_OP_POW2, .out = 16, .args = {15, -1, -1, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_NEAREST, .out = 17, .args = {0, 16, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* codes */
};
static const emu_level quantize_mxfp4_ggml_levels[] = {
    {.reg = 13, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxfp4_ggml_names[] = {
    "x", "block_amax", NULL, "amax_number", "logarithm", "whole", NULL, "shifted", "unless_zero", "unless_inf", NULL, "around", "byte",
    "scale", NULL, "exponent", "unit", "codes",
};
/* mxfp4_ggml, quantize */
static const emu_program quantize_mxfp4_ggml = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 17, .values = -1, .register_count = 18, .step_count = 13, .level_count = 1, .registers = quantize_mxfp4_ggml_registers,
    .steps = quantize_mxfp4_ggml_steps, .levels = quantize_mxfp4_ggml_levels, .names = quantize_mxfp4_ggml_names,
};
static const emu_register dequantize_mxfp4_ggml_ggml_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40000000}, /* constant */
    {.rows = 1, .columns = 1}, /* doubled */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* halved */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* half_scale */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_mxfp4_ggml_ggml_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* doubled */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* halved */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 8, 7, -1}, .random = -1}, /* half_scale */
    {.operation = EMU_OP_MUL, .out = 10, .args = {4, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const char *const dequantize_mxfp4_ggml_ggml_names[] = {
    "codes", "scale", "code_value", NULL, "doubled", "scale_value", NULL, "halved", NULL, "half_scale", "values",
};
/* mxfp4_ggml, ggml */
static const emu_program dequantize_mxfp4_ggml_ggml = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 10, .register_count = 11, .step_count = 6, .level_count = 1, .registers = dequantize_mxfp4_ggml_ggml_registers,
    .steps = dequantize_mxfp4_ggml_ggml_steps, .levels = dequantize_mxe1m2_floor_exact_levels, .names = dequantize_mxfp4_ggml_ggml_names,
};
static const emu_register quantize_mxfp4_inc_even_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40000000}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 1, .columns = 32}, /* power_of_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* twice */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f000000}, /* constant */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 1}, /* near */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e800000}, /* constant */
    {.rows = 1, .columns = 1}, /* guarded */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_inc_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_LOG2, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_SUB, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* exponent */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* power_of_amax */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {1, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_ABS, .out = 11, .args = {10, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* twice */
    {.operation = EMU_OP_ADD, .out = 14, .args = {12, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* up */
    {.operation = EMU_OP_SELECT, .out = 16, .args = {14, 15, 13, 11}, .random = -1, .variant = EMU_TEST_GE}, /* near */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {11, 17, 16, 11}, .random = -1, .variant = EMU_TEST_LT}, /* guarded */
    {.operation = EMU_OP_NEG, .out = 19, .args = {18, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {10, 19, 18, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_inc_even_names[] = {
    "x", "block_amax", "logarithm", "whole", NULL, "exponent", "power_of_amax", NULL, "power", "scale", "scaled_raw", "magnitude", "twice",
    NULL, "up", NULL, "near", NULL, "guarded", "negated", "signed", "codes",
};
/* mxfp4_inc_even, quantize */
static const emu_program quantize_mxfp4_inc_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 21, .values = -1, .register_count = 22, .step_count = 16, .level_count = 1,
    .registers = quantize_mxfp4_inc_even_registers, .steps = quantize_mxfp4_inc_even_steps, .levels = quantize_mxfp4_aiter_triton_levels,
    .names = quantize_mxfp4_inc_even_names,
};
static const emu_register quantize_mxfp4_inc_floor_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40000000}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 1, .columns = 32}, /* power_of_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_inc_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_LOG2, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_SUB, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* exponent */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* power_of_amax */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {1, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* signed */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rz, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_inc_floor_names[] = {
    "x", "block_amax", "logarithm", "whole", NULL, "exponent", "power_of_amax", NULL, "power", "scale", "signed", "codes",
};
/* mxfp4_inc_floor, quantize */
static const emu_program quantize_mxfp4_inc_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp4_inc_floor_registers, .steps = quantize_mxfp4_inc_floor_steps, .levels = quantize_mxfp4_aiter_triton_levels,
    .names = quantize_mxfp4_inc_floor_names,
};
static const emu_step quantize_mxfp4_inc_nearest_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_LOG2, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_SUB, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* exponent */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* power_of_amax */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {1, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_ABS, .out = 11, .args = {10, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* twice */
    {.operation = EMU_OP_ADD, .out = 14, .args = {12, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* up */
    {.operation = EMU_OP_SELECT, .out = 16, .args = {14, 15, 13, 11}, .random = -1, .variant = EMU_TEST_GE}, /* near */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {11, 17, 16, 11}, .random = -1, .variant = EMU_TEST_LT}, /* guarded */
    {.operation = EMU_OP_NEG, .out = 19, .args = {18, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {10, 19, 18, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rna, .policy = &cast_policy_1}, /* codes */
};
/* mxfp4_inc_nearest, quantize */
static const emu_program quantize_mxfp4_inc_nearest = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 21, .values = -1, .register_count = 22, .step_count = 16, .level_count = 1,
    .registers = quantize_mxfp4_inc_even_registers, .steps = quantize_mxfp4_inc_nearest_steps, .levels = quantize_mxfp4_aiter_triton_levels,
    .names = quantize_mxfp4_inc_even_names,
};
static const emu_register quantize_mxfp4_mlx_cpu_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 1, .columns = 32}, /* whole_power */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* next_whole */
    {.rows = 1, .columns = 32}, /* ceiling */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x42fe0000}, /* constant */
    {.rows = 1, .columns = 32}, /* byte */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_mlx_cpu_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_LOG2, .out = 4, .args = {3, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_ru}, /* whole */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* whole_power */
    {.operation = EMU_OP_ADD, .out = 8, .args = {5, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* next_whole */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {6, 3, 8, 5}, .random = -1, .variant = EMU_TEST_LT}, /* ceiling */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {3, 10, 9, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* exponent */
    {.operation = EMU_OP_ADD, .out = 13, .args = {11, 12, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* byte */
    {.operation = EMU_OP_WRAP, .out = 14, .args = {13, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale */
    {.operation = EMU_OP_POW2, .out = 15, .args = {11, -1, -1, -1}, .random = -1}, /* power */
    {.operation = EMU_OP_DIV, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_NEAREST, .out = 17, .args = {16, 7, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* codes */
};
static const emu_level quantize_mxfp4_mlx_cpu_levels[] = {
    {.reg = 14, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxfp4_mlx_cpu_names[] = {
    "x", "block_amax", NULL, "unit", "logarithm", "whole", "whole_power", NULL, "next_whole", "ceiling", NULL, "exponent", NULL, "byte",
    "scale", "power", "scaled", "codes",
};
/* mxfp4_mlx_cpu, quantize */
static const emu_program quantize_mxfp4_mlx_cpu = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 17, .values = -1, .register_count = 18, .step_count = 13, .level_count = 1,
    .registers = quantize_mxfp4_mlx_cpu_registers, .steps = quantize_mxfp4_mlx_cpu_steps, .levels = quantize_mxfp4_mlx_cpu_levels,
    .names = quantize_mxfp4_mlx_cpu_names,
};
static const emu_register quantize_mxfp4_quark_even_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* scale_even */
    {.rows = 1, .columns = 32}, /* even_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f600000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* positive */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_quark_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 2, .frac_bits = 1}, /* scale_even */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* even_value */
    {.operation = EMU_OP_SELECT, .out = 6, .args = {1, 4, 3, 5}, .random = -1, .variant = EMU_TEST_LT}, /* scale_value */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 8, .args = {0, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* up */
    {.operation = EMU_OP_DECODE, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_SELECT, .out = 12, .args = {10, 11, 10, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* positive */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_mxfp4_quark_even_levels[] = {
    {.reg = 7, .rows = 1, .columns = 32, .format = &format_e8m0},
};
static const char *const quantize_mxfp4_quark_even_names[] = {
    "x", "block_amax", "scale_even", "even_value", NULL, NULL, "scale_value", "scale", "scaled", "up", "value", NULL, "positive", "codes",
};
/* mxfp4_quark_even, quantize */
static const emu_program quantize_mxfp4_quark_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 10, .level_count = 1,
    .registers = quantize_mxfp4_quark_even_registers, .steps = quantize_mxfp4_quark_even_steps, .levels = quantize_mxfp4_quark_even_levels,
    .names = quantize_mxfp4_quark_even_names,
};
static const emu_register quantize_mxfp4_quark_floor_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40000000}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 1, .columns = 32}, /* power_of_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x34000000}, /* constant */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* positive */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_quark_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_LOG2, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_rd}, /* whole */
    {.operation = EMU_OP_SUB, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* exponent */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* power_of_amax */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {1, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_value */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DIV, .out = 10, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* up */
    {.operation = EMU_OP_DECODE, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_SELECT, .out = 14, .args = {12, 13, 12, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* positive */
    {.operation = EMU_OP_CAST, .out = 15, .args = {14, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_quark_floor_names[] = {
    "x", "block_amax", "logarithm", "whole", NULL, "exponent", "power_of_amax", NULL, "scale_value", "scale", "scaled", "up", "value", NULL,
    "positive", "codes",
};
/* mxfp4_quark_floor, quantize */
static const emu_program quantize_mxfp4_quark_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 15, .values = -1, .register_count = 16, .step_count = 12, .level_count = 1,
    .registers = quantize_mxfp4_quark_floor_registers, .steps = quantize_mxfp4_quark_floor_steps,
    .levels = quantize_mxfp4_aiter_triton_levels, .names = quantize_mxfp4_quark_floor_names,
};
static const emu_register quantize_mxfp4_te_pow2_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_7 = {.overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE}, {.rule = EMU_BY_CODE}}};
static const emu_step quantize_mxfp4_te_pow2_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 8, .args = {0, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 10, .args = {8, 9, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 12, .args = {10, 11, 10, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes */
};
static const char *const quantize_mxfp4_te_pow2_names[] = {
    "x", "block_amax", NULL, "unit", "scale", "scale_value", NULL, "multiplier", "scaled", NULL, "clamped", NULL, "plus_zero", "codes",
};
/* mxfp4_te_pow2, quantize */
static const emu_program quantize_mxfp4_te_pow2 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1, .registers = quantize_mxfp4_te_pow2_registers,
    .steps = quantize_mxfp4_te_pow2_steps, .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp4_te_pow2_names,
};
/* mxfp4_te_pow2, exact */
static const emu_program dequantize_mxfp4_te_pow2_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_DROP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1, .registers = dequantize_mxe1m2_floor_exact_registers,
    .steps = dequantize_kvfp4_sglang_exact_steps, .levels = dequantize_mxe1m2_floor_exact_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_mxfp4_torchao_ceil_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x800000}, /* constant */
    {.rows = 1, .columns = 32}, /* divisor */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_torchao_ceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_CEIL, .emax = 2}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_torchao_ceil_names[] = {
    "x", "block_amax", "scale", "scale_value", NULL, "divisor", "scaled", "codes",
};
/* mxfp4_torchao_ceil, quantize */
static const emu_program quantize_mxfp4_torchao_ceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1, .registers = quantize_mxfp4_torchao_ceil_registers,
    .steps = quantize_mxfp4_torchao_ceil_steps, .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
/* mxfp4_torchao_ceil, torchao */
static const emu_program dequantize_mxfp4_torchao_ceil_torchao = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1, .registers = dequantize_mxe1m2_floor_exact_registers,
    .steps = dequantize_kvfp4_sglang_exact_steps, .levels = dequantize_mxe1m2_floor_exact_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_step quantize_mxfp4_torchao_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 2, .frac_bits = 1}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp4_torchao_even, quantize */
static const emu_program quantize_mxfp4_torchao_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1, .registers = quantize_mxfp4_torchao_ceil_registers,
    .steps = quantize_mxfp4_torchao_even_steps, .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp4_torchao_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .emax = 2}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp4_torchao_floor, quantize */
static const emu_program quantize_mxfp4_torchao_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1, .registers = quantize_mxfp4_torchao_ceil_registers,
    .steps = quantize_mxfp4_torchao_floor_steps, .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_register quantize_mxfp4_torchao_rceil_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_torchao_rceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 8, 6, 7}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 12, .args = {10, 11, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_torchao_rceil_names[] = {
    "x", "block_amax", NULL, "unit", "scale", "scale_value", NULL, "reciprocal", NULL, "multiplier", "scaled", NULL, "clamped", "codes",
};
/* mxfp4_torchao_rceil, quantize */
static const emu_program quantize_mxfp4_torchao_rceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1, .registers = quantize_mxfp4_torchao_rceil_registers,
    .steps = quantize_mxfp4_torchao_rceil_steps, .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp4_torchao_rceil_names,
};
static const emu_register quantize_mxfp4_triton_down_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* inverse */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp4_triton_down_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {7, 10, 4, 9}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rna, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp4_triton_down_names[] = {
    "x", "block_amax", NULL, "unit_raw", NULL, "unit", "scale", "scale_value", NULL, "inverse", NULL, "multiplier", "scaled", "codes",
};
/* mxfp4_triton_down, quantize */
static const emu_program quantize_mxfp4_triton_down = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp4_triton_down_registers, .steps = quantize_mxfp4_triton_down_steps, .levels = quantize_mxfp4_deep_gemm_levels,
    .names = quantize_mxfp4_triton_down_names,
};
static const emu_step quantize_mxfp4_triton_up_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .variant = EMU_RULE_FIELD_UP}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {7, 10, 4, 9}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rna, .policy = &cast_policy_1}, /* codes */
};
/* mxfp4_triton_up, quantize */
static const emu_program quantize_mxfp4_triton_up = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp4_triton_down_registers, .steps = quantize_mxfp4_triton_up_steps, .levels = quantize_mxfp4_deep_gemm_levels,
    .names = quantize_mxfp4_triton_down_names,
};
static const emu_step quantize_mxfp6_e2m3_torchao_ceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_CEIL, .emax = 2}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e2m3, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e2m3_torchao_ceil, quantize */
static const emu_program quantize_mxfp6_e2m3_torchao_ceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp6_e2m3_torchao_ceil_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step dequantize_mxfp6_e2m3_torchao_ceil_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m3}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* mxfp6_e2m3_torchao_ceil, exact */
static const emu_program dequantize_mxfp6_e2m3_torchao_ceil_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_mxe1m2_floor_exact_registers, .steps = dequantize_mxfp6_e2m3_torchao_ceil_exact_steps,
    .levels = dequantize_mxe1m2_floor_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_step quantize_mxfp6_e2m3_torchao_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 2, .frac_bits = 3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e2m3, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e2m3_torchao_even, quantize */
static const emu_program quantize_mxfp6_e2m3_torchao_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp6_e2m3_torchao_even_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp6_e2m3_torchao_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .emax = 2}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e2m3, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e2m3_torchao_floor, quantize */
static const emu_program quantize_mxfp6_e2m3_torchao_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp6_e2m3_torchao_floor_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_register quantize_mxfp6_e2m3_torchao_rceil_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40f00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp6_e2m3_torchao_rceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 8, 6, 7}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e2m3, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_mxfp6_e2m3_torchao_rceil_names[] = {
    "x", "block_amax", NULL, "unit", "scale", "scale_value", NULL, "reciprocal", NULL, "multiplier", "scaled", "codes",
};
/* mxfp6_e2m3_torchao_rceil, quantize */
static const emu_program quantize_mxfp6_e2m3_torchao_rceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp6_e2m3_torchao_rceil_registers, .steps = quantize_mxfp6_e2m3_torchao_rceil_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp6_e2m3_torchao_rceil_names,
};
static const emu_step quantize_mxfp6_e3m2_torchao_ceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_CEIL, .emax = 4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e3m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e3m2_torchao_ceil, quantize */
static const emu_program quantize_mxfp6_e3m2_torchao_ceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp6_e3m2_torchao_ceil_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step dequantize_mxfp6_e3m2_torchao_ceil_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e3m2}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* mxfp6_e3m2_torchao_ceil, exact */
static const emu_program dequantize_mxfp6_e3m2_torchao_ceil_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_mxe1m2_floor_exact_registers, .steps = dequantize_mxfp6_e3m2_torchao_ceil_exact_steps,
    .levels = dequantize_mxe1m2_floor_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_step quantize_mxfp6_e3m2_torchao_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 4, .frac_bits = 2}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e3m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e3m2_torchao_even, quantize */
static const emu_program quantize_mxfp6_e3m2_torchao_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp6_e3m2_torchao_even_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp6_e3m2_torchao_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .emax = 4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e3m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e3m2_torchao_floor, quantize */
static const emu_program quantize_mxfp6_e3m2_torchao_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp6_e3m2_torchao_floor_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_register quantize_mxfp6_e3m2_torchao_rceil_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x41e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp6_e3m2_torchao_rceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 8, 6, 7}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e3m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
/* mxfp6_e3m2_torchao_rceil, quantize */
static const emu_program quantize_mxfp6_e3m2_torchao_rceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp6_e3m2_torchao_rceil_registers, .steps = quantize_mxfp6_e3m2_torchao_rceil_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp6_e2m3_torchao_rceil_names,
};
static const emu_register quantize_mxfp8_e4m3_comfy_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* used */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e4m3_comfy_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {5, 6, 7, 5}, .random = -1, .variant = EMU_TEST_LE}, /* used */
    {.operation = EMU_OP_DIV, .out = 9, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 10, .args = {1, 7, 9, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
static const char *const quantize_mxfp8_e4m3_comfy_names[] = {
    "x", "block_amax", NULL, "unit", "scale", "scale_value", NULL, NULL, "used", "scaled_raw", "scaled", "codes",
};
/* mxfp8_e4m3_comfy, quantize */
static const emu_program quantize_mxfp8_e4m3_comfy = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_comfy_registers, .steps = quantize_mxfp8_e4m3_comfy_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp8_e4m3_comfy_names,
};
static const emu_step dequantize_mxfp8_e4m3_comfy_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e4m3}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* mxfp8_e4m3_comfy, exact */
static const emu_program dequantize_mxfp8_e4m3_comfy_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_mxe1m2_floor_exact_registers, .steps = dequantize_mxfp8_e4m3_comfy_exact_steps,
    .levels = dequantize_mxe1m2_floor_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_mxfp8_e4m3_jax_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* used */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e4m3_jax_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {5, 6, 7, 5}, .random = -1, .variant = EMU_TEST_LE}, /* used */
    {.operation = EMU_OP_DIV, .out = 9, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* codes */
};
static const char *const quantize_mxfp8_e4m3_jax_names[] = {
    "x", "block_amax", NULL, "unit", "scale", "scale_value", NULL, NULL, "used", "scaled", "codes",
};
/* mxfp8_e4m3_jax, quantize */
static const emu_program quantize_mxfp8_e4m3_jax = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 10, .values = -1, .register_count = 11, .step_count = 7, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_jax_registers, .steps = quantize_mxfp8_e4m3_jax_steps, .levels = quantize_mxfp4_f46_static_4_levels,
    .names = quantize_mxfp8_e4m3_jax_names,
};
static const emu_register quantize_mxfp8_e4m3_te_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3b124925}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e4m3_te_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MUL, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 9, .args = {7, 8, -1, -1}, .random = -1}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_te, quantize */
static const emu_program quantize_mxfp8_e4m3_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_te_registers, .steps = quantize_mxfp8_e4m3_te_steps, .levels = quantize_mxfp4_f46_static_4_levels,
    .names = quantize_mxfp6_e2m3_torchao_rceil_names,
};
static const emu_step quantize_mxfp8_e4m3_torchao_ceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_CEIL, .emax = 8}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_torchao_ceil, quantize */
static const emu_program quantize_mxfp8_e4m3_torchao_ceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp8_e4m3_torchao_ceil_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp8_e4m3_torchao_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 8, .frac_bits = 3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_torchao_even, quantize */
static const emu_program quantize_mxfp8_e4m3_torchao_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp8_e4m3_torchao_even_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp8_e4m3_torchao_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .emax = 8}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_torchao_floor, quantize */
static const emu_program quantize_mxfp8_e4m3_torchao_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp8_e4m3_torchao_floor_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_register quantize_mxfp8_e4m3_torchao_rceil_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e4m3_torchao_rceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 8, 6, 7}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_torchao_rceil, quantize */
static const emu_program quantize_mxfp8_e4m3_torchao_rceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_torchao_rceil_registers, .steps = quantize_mxfp8_e4m3_torchao_rceil_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp6_e2m3_torchao_rceil_names,
};
static const emu_register quantize_mxfp8_e4m3_triton_down_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* inverse */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e4m3_triton_down_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {7, 10, 4, 9}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_triton_down, quantize */
static const emu_program quantize_mxfp8_e4m3_triton_down = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_triton_down_registers, .steps = quantize_mxfp8_e4m3_triton_down_steps,
    .levels = quantize_mxfp4_deep_gemm_levels, .names = quantize_mxfp4_triton_down_names,
};
static const emu_step quantize_mxfp8_e4m3_triton_up_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .variant = EMU_RULE_FIELD_UP}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {7, 10, 4, 9}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
/* mxfp8_e4m3_triton_up, quantize */
static const emu_program quantize_mxfp8_e4m3_triton_up = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_triton_down_registers, .steps = quantize_mxfp8_e4m3_triton_up_steps,
    .levels = quantize_mxfp4_deep_gemm_levels, .names = quantize_mxfp4_triton_down_names,
};
static const emu_register quantize_mxfp8_e4m3_vllm_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x800000}, /* constant */
    {.rows = 1, .columns = 32}, /* floor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e4m3_vllm_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MAX, .out = 3, .args = {1, 2, -1, -1}, .random = -1}, /* floor_amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_LOG2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_ru}, /* whole */
    {.operation = EMU_OP_POW2, .out = 8, .args = {7, -1, -1, -1}, .random = -1}, /* power */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_rne, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 11, .args = {0, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* codes */
};
static const char *const quantize_mxfp8_e4m3_vllm_names[] = {
    "x", "block_amax", NULL, "floor_amax", NULL, "unit", "logarithm", "whole", "power", "scale", "scale_value", "scaled", "codes",
};
/* mxfp8_e4m3_vllm, quantize */
static const emu_program quantize_mxfp8_e4m3_vllm = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 12, .values = -1, .register_count = 13, .step_count = 10, .level_count = 1,
    .registers = quantize_mxfp8_e4m3_vllm_registers, .steps = quantize_mxfp8_e4m3_vllm_steps, .levels = quantize_mxfp4_aiter_triton_levels,
    .names = quantize_mxfp8_e4m3_vllm_names,
};
static const emu_register quantize_mxfp8_e5m2_jax_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x47600000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* used */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_8 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0xfe}, {.rule = EMU_BY_CODE, .code = 0xfe}},
};
static const emu_step quantize_mxfp8_e5m2_jax_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {5, 6, 7, 5}, .random = -1, .variant = EMU_TEST_LE}, /* used */
    {.operation = EMU_OP_DIV, .out = 9, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_8}, /* codes */
};
/* mxfp8_e5m2_jax, quantize */
static const emu_program quantize_mxfp8_e5m2_jax = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 10, .values = -1, .register_count = 11, .step_count = 7, .level_count = 1,
    .registers = quantize_mxfp8_e5m2_jax_registers, .steps = quantize_mxfp8_e5m2_jax_steps, .levels = quantize_mxfp4_f46_static_4_levels,
    .names = quantize_mxfp8_e4m3_jax_names,
};
static const emu_step dequantize_mxfp8_e5m2_jax_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e5m2}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* mxfp8_e5m2_jax, exact */
static const emu_program dequantize_mxfp8_e5m2_jax_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_mxe1m2_floor_exact_registers, .steps = dequantize_mxfp8_e5m2_jax_exact_steps,
    .levels = dequantize_mxe1m2_floor_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_mxfp8_e5m2_te_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x37924925}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f000000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_9 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7e}, {.rule = EMU_BY_CODE, .code = 0x7e}},
};
static const emu_step quantize_mxfp8_e5m2_te_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MUL, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 9, .args = {7, 8, -1, -1}, .random = -1}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_te, quantize */
static const emu_program quantize_mxfp8_e5m2_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp8_e5m2_te_registers, .steps = quantize_mxfp8_e5m2_te_steps, .levels = quantize_mxfp4_f46_static_4_levels,
    .names = quantize_mxfp6_e2m3_torchao_rceil_names,
};
static const emu_step quantize_mxfp8_e5m2_torchao_ceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_CEIL, .emax = 15}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_torchao_ceil, quantize */
static const emu_program quantize_mxfp8_e5m2_torchao_ceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp8_e5m2_torchao_ceil_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp8_e5m2_torchao_even_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .variant = EMU_RULE_EVEN, .emax = 15, .frac_bits = 2}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_torchao_even, quantize */
static const emu_program quantize_mxfp8_e5m2_torchao_even = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp8_e5m2_torchao_even_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_step quantize_mxfp8_e5m2_torchao_floor_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_E8M0_RULE, .out = 2, .args = {1, -1, -1, -1}, .random = -1, .emax = 15}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {2, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* divisor */
    {.operation = EMU_OP_DIV, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_torchao_floor, quantize */
static const emu_program quantize_mxfp8_e5m2_torchao_floor = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 7, .values = -1, .register_count = 8, .step_count = 6, .level_count = 1,
    .registers = quantize_mxfp4_torchao_ceil_registers, .steps = quantize_mxfp8_e5m2_torchao_floor_steps,
    .levels = quantize_mxe1m2_floor_levels, .names = quantize_mxfp4_torchao_ceil_names,
};
static const emu_register quantize_mxfp8_e5m2_torchao_rceil_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x47600000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e5m2_torchao_rceil_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CAST, .out = 4, .args = {3, -1, -1, -1}, .random = -1, .format = &format_e8m0, .rounding = &rounding_ru, .policy = &cast_policy_4}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 7, .args = {6, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {5, 8, 6, 7}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {0, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_torchao_rceil, quantize */
static const emu_program quantize_mxfp8_e5m2_torchao_rceil = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 11, .values = -1, .register_count = 12, .step_count = 8, .level_count = 1,
    .registers = quantize_mxfp8_e5m2_torchao_rceil_registers, .steps = quantize_mxfp8_e5m2_torchao_rceil_steps,
    .levels = quantize_mxfp4_f46_static_4_levels, .names = quantize_mxfp6_e2m3_torchao_rceil_names,
};
static const emu_register quantize_mxfp8_e5m2_triton_down_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x47600000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* inverse */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x400000}, /* constant */
    {.rows = 1, .columns = 32}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_e5m2_triton_down_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {7, 10, 4, 9}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_triton_down, quantize */
static const emu_program quantize_mxfp8_e5m2_triton_down = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp8_e5m2_triton_down_registers, .steps = quantize_mxfp8_e5m2_triton_down_steps,
    .levels = quantize_mxfp4_deep_gemm_levels, .names = quantize_mxfp4_triton_down_names,
};
static const emu_step quantize_mxfp8_e5m2_triton_up_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_E8M0_RULE, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .variant = EMU_RULE_FIELD_UP}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 9, .args = {8, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {7, 10, 4, 9}, .random = -1, .variant = EMU_TEST_LE}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e5m2, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_e5m2_triton_up, quantize */
static const emu_program quantize_mxfp8_e5m2_triton_up = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 9, .level_count = 1,
    .registers = quantize_mxfp8_e5m2_triton_down_registers, .steps = quantize_mxfp8_e5m2_triton_up_steps,
    .levels = quantize_mxfp4_deep_gemm_levels, .names = quantize_mxfp4_triton_down_names,
};
static const emu_register quantize_mxfp8_mlx_cpu_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 32}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 32}, /* unit */
    {.rows = 1, .columns = 32}, /* logarithm */
    {.rows = 1, .columns = 32}, /* whole */
    {.rows = 1, .columns = 32}, /* whole_power */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 32}, /* next_whole */
    {.rows = 1, .columns = 32}, /* ceiling */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 32}, /* exponent */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x42fe0000}, /* constant */
    {.rows = 1, .columns = 32}, /* byte */
    {.rows = 1, .columns = 32}, /* scale */
    {.rows = 1, .columns = 32}, /* power */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_mxfp8_mlx_cpu_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_LOG2, .out = 4, .args = {3, -1, -1, -1}, .random = -1}, /* logarithm */
    {.operation = EMU_OP_ROUND, .out = 5, .args = {4, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_int8, .rounding = &rounding_ru}, /* whole */
    {.operation = EMU_OP_POW2, .out = 6, .args = {5, -1, -1, -1}, .random = -1}, /* whole_power */
    {.operation = EMU_OP_ADD, .out = 8, .args = {5, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* next_whole */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {6, 3, 8, 5}, .random = -1, .variant = EMU_TEST_LT}, /* ceiling */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {3, 10, 9, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* exponent */
    {.operation = EMU_OP_ADD, .out = 13, .args = {11, 12, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* byte */
    {.operation = EMU_OP_WRAP, .out = 14, .args = {13, -1, -1, -1}, .random = -1, .format = &format_e8m0}, /* scale */
    {.operation = EMU_OP_POW2, .out = 15, .args = {11, -1, -1, -1}, .random = -1}, /* power */
    {.operation = EMU_OP_DIV, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 17, .args = {16, -1, -1, -1}, .random = -1, .format = &format_e4m3, .rounding = &rounding_rne, .policy = &cast_policy_9}, /* codes */
};
/* mxfp8_mlx_cpu, quantize */
static const emu_program quantize_mxfp8_mlx_cpu = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 32, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 17, .values = -1, .register_count = 18, .step_count = 13, .level_count = 1,
    .registers = quantize_mxfp8_mlx_cpu_registers, .steps = quantize_mxfp8_mlx_cpu_steps, .levels = quantize_mxfp4_mlx_cpu_levels,
    .names = quantize_mxfp4_mlx_cpu_names,
};
static const emu_register quantize_nf4_bnb_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 64}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x6ce3ee}, /* constant */
    {.rows = 1, .columns = 64}, /* floor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 64}, /* inverse */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbf800000}, /* constant */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbf591cd8}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbf3239b1}, /* constant */
    {.rows = 1, .columns = 1}, /* v0 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbf1c5270}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbf066b30}, /* constant */
    {.rows = 1, .columns = 1}, /* v1 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbeeb8480}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbeca32a0}, /* constant */
    {.rows = 1, .columns = 1}, /* v2 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbeadea76}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbe91a24d}, /* constant */
    {.rows = 1, .columns = 1}, /* v3 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbe703cec}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbe3d353f}, /* constant */
    {.rows = 1, .columns = 1}, /* v4 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbe0d38bc}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbdba7871}, /* constant */
    {.rows = 1, .columns = 1}, /* v5 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbd3a7871}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* v6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3d22faff}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3da2faff}, /* constant */
    {.rows = 1, .columns = 1}, /* v7 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3df64862}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e24cae3}, /* constant */
    {.rows = 1, .columns = 1}, /* v8 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e5067e0}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e7c04dd}, /* constant */
    {.rows = 1, .columns = 1}, /* v9 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e9582d4}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3ead033a}, /* constant */
    {.rows = 1, .columns = 1}, /* v10 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3ec753f9}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3ee1a4b8}, /* constant */
    {.rows = 1, .columns = 1}, /* v11 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f006d04}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f1007ab}, /* constant */
    {.rows = 1, .columns = 1}, /* v12 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f248daf}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f3913b3}, /* constant */
    {.rows = 1, .columns = 1}, /* v13 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f5c89da}, /* constant */
    {.rows = 1, .columns = 1}, /* v14 */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nf4_bnb_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MAX, .out = 3, .args = {1, 2, -1, -1}, .random = -1}, /* floor_amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {4, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_MUL, .out = 6, .args = {0, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_CLAMP, .out = 8, .args = {6, 7, 4, -1}, .random = -1}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {9, 8, 10, 7}, .random = -1, .variant = EMU_TEST_LT}, /* v0 */
    {.operation = EMU_OP_SELECT, .out = 14, .args = {12, 8, 13, 11}, .random = -1, .variant = EMU_TEST_LT}, /* v1 */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {15, 8, 16, 14}, .random = -1, .variant = EMU_TEST_LT}, /* v2 */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {18, 8, 19, 17}, .random = -1, .variant = EMU_TEST_LT}, /* v3 */
    {.operation = EMU_OP_SELECT, .out = 23, .args = {21, 8, 22, 20}, .random = -1, .variant = EMU_TEST_LT}, /* v4 */
    {.operation = EMU_OP_SELECT, .out = 26, .args = {24, 8, 25, 23}, .random = -1, .variant = EMU_TEST_LT}, /* v5 */
    {.operation = EMU_OP_SELECT, .out = 29, .args = {27, 8, 28, 26}, .random = -1, .variant = EMU_TEST_LT}, /* v6 */
    {.operation = EMU_OP_SELECT, .out = 32, .args = {30, 8, 31, 29}, .random = -1, .variant = EMU_TEST_LT}, /* v7 */
    {.operation = EMU_OP_SELECT, .out = 35, .args = {33, 8, 34, 32}, .random = -1, .variant = EMU_TEST_LT}, /* v8 */
    {.operation = EMU_OP_SELECT, .out = 38, .args = {36, 8, 37, 35}, .random = -1, .variant = EMU_TEST_LT}, /* v9 */
    {.operation = EMU_OP_SELECT, .out = 41, .args = {39, 8, 40, 38}, .random = -1, .variant = EMU_TEST_LT}, /* v10 */
    {.operation = EMU_OP_SELECT, .out = 44, .args = {42, 8, 43, 41}, .random = -1, .variant = EMU_TEST_LT}, /* v11 */
    {.operation = EMU_OP_SELECT, .out = 47, .args = {45, 8, 46, 44}, .random = -1, .variant = EMU_TEST_LT}, /* v12 */
    {.operation = EMU_OP_SELECT, .out = 50, .args = {48, 8, 49, 47}, .random = -1, .variant = EMU_TEST_LT}, /* v13 */
    {.operation = EMU_OP_SELECT, .out = 52, .args = {51, 8, 4, 50}, .random = -1, .variant = EMU_TEST_LT}, /* v14 */
    {.operation = EMU_OP_CAST, .out = 53, .args = {52, -1, -1, -1}, .random = -1, .format = &format_nf4, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nf4_bnb_levels[] = {
    {.reg = 1, .rows = 1, .columns = 64, .format = &format_fp32},
};
static const char *const quantize_nf4_bnb_names[] = {
    "x", "block_amax", NULL, "floor_amax", NULL, "inverse", "scaled_raw", NULL, "scaled", NULL, NULL, "v0", NULL, NULL, "v1", NULL, NULL,
    "v2", NULL, NULL, "v3", NULL, NULL, "v4", NULL, NULL, "v5", NULL, NULL, "v6", NULL, NULL, "v7", NULL, NULL, "v8", NULL, NULL, "v9",
    NULL, NULL, "v10", NULL, NULL, "v11", NULL, NULL, "v12", NULL, NULL, "v13", NULL, "v14", "codes",
};
/* nf4_bnb, quantize */
static const emu_program quantize_nf4_bnb = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 64, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 53, .values = -1, .register_count = 54, .step_count = 21, .level_count = 1,
    .registers = quantize_nf4_bnb_registers, .steps = quantize_nf4_bnb_steps, .levels = quantize_nf4_bnb_levels,
    .names = quantize_nf4_bnb_names,
};
static const emu_register dequantize_nf4_bnb_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 64}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nf4_bnb_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_nf4}, /* code_value */
    {.operation = EMU_OP_MUL, .out = 3, .args = {2, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* nf4_bnb, exact */
static const emu_program dequantize_nf4_bnb_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 64, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 3, .register_count = 4, .step_count = 2, .level_count = 1,
    .registers = dequantize_nf4_bnb_exact_registers, .steps = dequantize_nf4_bnb_exact_steps, .levels = quantize_nf4_bnb_levels,
    .names = dequantize_e1m2_fp32scale_exact_names,
};
static const emu_register quantize_nve0m3_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45440000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e124925}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* reciprocal */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nve0m3_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {8, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_multiplier */
    {.operation = EMU_OP_MUL, .out = 11, .args = {2, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_MIN, .out = 12, .args = {11, 5, -1, -1}, .random = -1}, /* scale_finite */
    {.operation = EMU_OP_CLAMP, .out = 15, .args = {12, 13, 14, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DIV, .out = 17, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DECODE, .out = 18, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 19, .args = {18, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 20, .args = {7, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 21, .args = {20, 5, -1, -1}, .random = -1}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 22, .args = {0, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e0m3, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes */
};
static const emu_level quantize_nve0m3_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 16, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nve0m3_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "tensor_multiplier", NULL, "amax_multiplier", "scale_raw",
    "scale_finite", NULL, NULL, "scale_clamped", "scale", "tensor_factor", "scale_value", "factor", "reciprocal", "multiplier", "scaled",
    NULL, NULL, "clamped", NULL, "plus_zero", "codes",
};
/* nve0m3, quantize */
static const emu_program quantize_nve0m3 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 28, .values = -1, .register_count = 29, .step_count = 18, .level_count = 2, .registers = quantize_nve0m3_registers,
    .steps = quantize_nve0m3_steps, .levels = quantize_nve0m3_levels, .names = quantize_nve0m3_names,
};
static const emu_register dequantize_nve0m3_te_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale_times_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x39a72f05}, /* constant */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nve0m3_te_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e0m3}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {4, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_times_amax */
    {.operation = EMU_OP_MUL, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 8, .args = {3, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const char *const dequantize_nve0m3_te_names[] = {
    "codes", "tensor", "scale", "code_value", "scale_value", "scale_times_amax", NULL, "factor", "values",
};
/* nve0m3, te */
static const emu_program dequantize_nve0m3_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2, .registers = dequantize_nve0m3_te_registers,
    .steps = dequantize_nve0m3_te_steps, .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nve0m3_te_names,
};
static const emu_register quantize_nvfp4_auto_round_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* inverse_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 1, .columns = 16}, /* sixth */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* inverse */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_auto_round_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse_amax */
    {.operation = EMU_OP_MUL, .out = 6, .args = {5, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 8, .args = {2, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* sixth */
    {.operation = EMU_OP_MUL, .out = 9, .args = {6, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CLAMP, .out = 12, .args = {9, 10, 11, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 14, .args = {13, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 15, .args = {3, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 16, .args = {14, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 17, .args = {3, 16, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_SELECT, .out = 19, .args = {16, 18, 17, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 20, .args = {0, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 21, .args = {20, 18, 20, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 22, .args = {21, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_auto_round_levels[] = {
    {.reg = 6, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 13, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_auto_round_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "inverse_amax", NULL, "tensor_multiplier", NULL, "sixth", "scale_raw", NULL, NULL,
    "scale_clamped", "scale", "scale_value", "tensor_factor", "factor", "inverse", NULL, "multiplier", "scaled", "plus_zero", "codes",
};
/* nvfp4_auto_round, quantize */
static const emu_program quantize_nvfp4_auto_round = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 22, .values = -1, .register_count = 23, .step_count = 15, .level_count = 2,
    .registers = quantize_nvfp4_auto_round_registers, .steps = quantize_nvfp4_auto_round_steps, .levels = quantize_nvfp4_auto_round_levels,
    .names = quantize_nvfp4_auto_round_names,
};
static const emu_register dequantize_nvfp4_auto_round_exact_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* raised */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvfp4_auto_round_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* raised */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const char *const dequantize_nvfp4_auto_round_exact_names[] = {
    "codes", "tensor", "scale", "code_value", "scale_value", "raised", "values",
};
/* nvfp4_auto_round, exact */
static const emu_program dequantize_nvfp4_auto_round_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 6, .register_count = 7, .step_count = 4, .level_count = 2,
    .registers = dequantize_nvfp4_auto_round_exact_registers, .steps = dequantize_nvfp4_auto_round_exact_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nvfp4_auto_round_exact_names,
};
static const emu_register quantize_nvfp4_comfy_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_scale */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_capped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* total */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_comfy_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {1, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_scale */
    {.operation = EMU_OP_DIV, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_MIN, .out = 9, .args = {7, 8, -1, -1}, .random = -1}, /* scale_capped */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 12, .args = {6, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* total */
    {.operation = EMU_OP_DIV, .out = 13, .args = {0, 12, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 15, .args = {12, 14, 13, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_comfy_levels[] = {
    {.reg = 6, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 10, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_comfy_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_scale", "scale_raw", NULL, "scale_capped", "scale", "scale_value",
    "total", "scaled_raw", NULL, "scaled", "codes",
};
/* nvfp4_comfy, quantize */
static const emu_program quantize_nvfp4_comfy = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 16, .values = -1, .register_count = 17, .step_count = 11, .level_count = 2,
    .registers = quantize_nvfp4_comfy_registers, .steps = quantize_nvfp4_comfy_steps, .levels = quantize_nvfp4_comfy_levels,
    .names = quantize_nvfp4_comfy_names,
};
static const emu_step dequantize_nvfp4_comfy_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* raised */
    {.operation = EMU_OP_MUL, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* nvfp4_comfy, exact */
static const emu_program dequantize_nvfp4_comfy_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 6, .register_count = 7, .step_count = 4, .level_count = 2,
    .registers = dequantize_nvfp4_auto_round_exact_registers, .steps = dequantize_nvfp4_comfy_exact_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nvfp4_auto_round_exact_names,
};
static const emu_register quantize_nvfp4_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x800000}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_floored */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_reciprocal */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0}, /* ratio_not_nan */
    {.rows = 0, .columns = 0}, /* tensor_divisor */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale_or_zero */
    {.rows = 1, .columns = 16}, /* scale_or_zero_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e000000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_compressed_tensors_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MAX, .out = 4, .args = {1, 3, -1, -1}, .random = -1}, /* amax_floored */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_reciprocal */
    {.operation = EMU_OP_MUL, .out = 8, .args = {6, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {8, 5, 8, -1}, .random = -1}, /* ratio_not_nan */
    {.operation = EMU_OP_SELECT, .out = 10, .args = {9, 5, 9, -1}, .random = -1, .variant = EMU_TEST_INF}, /* tensor_divisor */
    {.operation = EMU_OP_DIV, .out = 12, .args = {2, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_MUL, .out = 13, .args = {10, 12, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CLAMP, .out = 16, .args = {13, 14, 15, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 17, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_or_zero */
    {.operation = EMU_OP_DECODE, .out = 18, .args = {17, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_or_zero_value */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {18, 19, 18, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_value */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DIV, .out = 22, .args = {20, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 23, .args = {0, 22, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {23, 24, 11, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_compressed_tensors_levels[] = {
    {.reg = 10, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 21, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_compressed_tensors_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "amax_floored", NULL, "amax_reciprocal", NULL, "ratio", "ratio_not_nan", "tensor_divisor", NULL,
    "unit", "scale_raw", NULL, NULL, "scale_clamped", "scale_or_zero", "scale_or_zero_value", NULL, "scale_value", "scale", "factor",
    "scaled", NULL, "clamped", NULL, "plus_zero", "codes",
};
/* nvfp4_compressed_tensors, quantize */
static const emu_program quantize_nvfp4_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 28, .values = -1, .register_count = 29, .step_count = 18, .level_count = 2,
    .registers = quantize_nvfp4_compressed_tensors_registers, .steps = quantize_nvfp4_compressed_tensors_steps,
    .levels = quantize_nvfp4_compressed_tensors_levels, .names = quantize_nvfp4_compressed_tensors_names,
};
static const emu_register dequantize_nvfp4_compressed_tensors_compressed_tensors_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvfp4_compressed_tensors_compressed_tensors_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 5, .args = {4, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 6, .args = {3, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const char *const dequantize_nvfp4_compressed_tensors_compressed_tensors_names[] = {
    "codes", "tensor", "scale", "code_value", "scale_value", "factor", "values",
};
/* nvfp4_compressed_tensors, compressed_tensors */
static const emu_program dequantize_nvfp4_compressed_tensors_compressed_tensors = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 6, .register_count = 7, .step_count = 4, .level_count = 2,
    .registers = dequantize_nvfp4_compressed_tensors_compressed_tensors_registers,
    .steps = dequantize_nvfp4_compressed_tensors_compressed_tensors_steps, .levels = dequantize_f46_nvint4_f46_levels,
    .names = dequantize_nvfp4_compressed_tensors_compressed_tensors_names,
};
static const emu_register quantize_nvfp4_deep_gemm_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 1, .columns = 16}, /* sixth */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3b000000}, /* constant */
    {.rows = 1, .columns = 16}, /* floored */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* rounded */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* positive */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_deep_gemm_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_MUL, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* sixth */
    {.operation = EMU_OP_MAX, .out = 5, .args = {3, 4, -1, -1}, .random = -1}, /* floored */
    {.operation = EMU_OP_CAST, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 8, .args = {0, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* rounded */
    {.operation = EMU_OP_DECODE, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_SELECT, .out = 12, .args = {10, 11, 10, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* positive */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_deep_gemm_levels[] = {
    {.reg = 6, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_deep_gemm_names[] = {
    "x", "block_amax", NULL, "sixth", NULL, "floored", "scale", "scale_value", "scaled", "rounded", "value", NULL, "positive", "codes",
};
/* nvfp4_deep_gemm, quantize */
static const emu_program quantize_nvfp4_deep_gemm = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 13, .values = -1, .register_count = 14, .step_count = 10, .level_count = 1,
    .registers = quantize_nvfp4_deep_gemm_registers, .steps = quantize_nvfp4_deep_gemm_steps, .levels = quantize_nvfp4_deep_gemm_levels,
    .names = quantize_nvfp4_deep_gemm_names,
};
static const emu_step dequantize_nvfp4_deep_gemm_exact_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 3, .args = {1, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const emu_level dequantize_nvfp4_deep_gemm_exact_levels[] = {
    {.reg = 1, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
/* nvfp4_deep_gemm, exact */
static const emu_program dequantize_nvfp4_deep_gemm_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1,
    .registers = dequantize_kvfp4_sglang_exact_registers, .steps = dequantize_nvfp4_deep_gemm_exact_steps,
    .levels = dequantize_nvfp4_deep_gemm_exact_levels, .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_nvfp4_f46_abs_max_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44c00000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw_nonzero */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fc00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_4 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_6 */
    {.rows = 1, .columns = 16}, /* scale_value_6 */
    {.rows = 1, .columns = 16}, /* factor_6 */
    {.rows = 1, .columns = 16}, /* multiplier_6 */
    {.rows = 1, .columns = 1}, /* scaled_raw_6 */
    {.rows = 1, .columns = 1}, /* scaled_6 */
    {.rows = 1, .columns = 1}, /* plus_zero_6 */
    {.rows = 1, .columns = 1}, /* codes_6 */
    {.rows = 1, .columns = 1}, /* rounded_6 */
    {.rows = 1, .columns = 1}, /* product_6 */
    {.rows = 1, .columns = 1}, /* numerator_6 */
    {.rows = 1, .columns = 1}, /* decoded_6 */
    {.rows = 1, .columns = 1}, /* difference_6 */
    {.rows = 1, .columns = 16}, /* error_6 */
    {.rows = 1, .columns = 16}, /* scale_4 */
    {.rows = 1, .columns = 16}, /* scale_value_4 */
    {.rows = 1, .columns = 16}, /* factor_4 */
    {.rows = 1, .columns = 16}, /* multiplier_4 */
    {.rows = 1, .columns = 1}, /* scaled_raw_4 */
    {.rows = 1, .columns = 1}, /* scaled_4 */
    {.rows = 1, .columns = 1}, /* plus_zero_4 */
    {.rows = 1, .columns = 1}, /* codes_4 */
    {.rows = 1, .columns = 1}, /* rounded_4 */
    {.rows = 1, .columns = 1}, /* product_4 */
    {.rows = 1, .columns = 1}, /* numerator_4 */
    {.rows = 1, .columns = 1}, /* decoded_4 */
    {.rows = 1, .columns = 1}, /* difference_4 */
    {.rows = 1, .columns = 16}, /* error_4 */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_f46_abs_max_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_nonzero */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_raw_6 */
    {.operation = EMU_OP_MUL, .out = 11, .args = {9, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_4 */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_CAST, .out = 14, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_6 */
    {.operation = EMU_OP_DECODE, .out = 15, .args = {14, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_6 */
    {.operation = EMU_OP_MUL, .out = 16, .args = {13, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_6 */
    {.operation = EMU_OP_DIV, .out = 17, .args = {12, 16, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier_6 */
    {.operation = EMU_OP_MUL, .out = 18, .args = {0, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw_6 */
    {.operation = EMU_OP_SELECT, .out = 19, .args = {15, 8, 18, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled_6 */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {19, 8, 19, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_6 */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_6 */
    {.operation = EMU_OP_ROUND, .out = 22, .args = {20, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_6 */
    {.operation = EMU_OP_MUL, .out = 23, .args = {22, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_6 */
    {.operation = EMU_OP_MUL, .out = 24, .args = {23, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_6 */
    {.operation = EMU_OP_DIV, .out = 25, .args = {24, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_6 */
    {.operation = EMU_OP_SUB, .out = 26, .args = {25, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_6 */
    {.operation = EMU_OP_AMAX, .out = 27, .args = {26, -1, -1, -1}, .random = -1}, /* error_6 */
    {.operation = EMU_OP_CAST, .out = 28, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_4 */
    {.operation = EMU_OP_DECODE, .out = 29, .args = {28, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_4 */
    {.operation = EMU_OP_MUL, .out = 30, .args = {13, 29, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_4 */
    {.operation = EMU_OP_DIV, .out = 31, .args = {12, 30, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier_4 */
    {.operation = EMU_OP_MUL, .out = 32, .args = {0, 31, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw_4 */
    {.operation = EMU_OP_SELECT, .out = 33, .args = {29, 8, 32, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled_4 */
    {.operation = EMU_OP_SELECT, .out = 34, .args = {33, 8, 33, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_4 */
    {.operation = EMU_OP_CAST, .out = 35, .args = {34, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_4 */
    {.operation = EMU_OP_ROUND, .out = 36, .args = {34, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_4 */
    {.operation = EMU_OP_MUL, .out = 37, .args = {36, 29, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_4 */
    {.operation = EMU_OP_MUL, .out = 38, .args = {37, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_4 */
    {.operation = EMU_OP_DIV, .out = 39, .args = {38, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_4 */
    {.operation = EMU_OP_SUB, .out = 40, .args = {39, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_4 */
    {.operation = EMU_OP_AMAX, .out = 41, .args = {40, -1, -1, -1}, .random = -1}, /* error_4 */
    {.operation = EMU_OP_SELECT, .out = 42, .args = {41, 27, 28, 14}, .random = -1, .variant = EMU_TEST_LT}, /* scale */
    {.operation = EMU_OP_SELECT, .out = 43, .args = {41, 27, 35, 21}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
};
static const emu_level quantize_nvfp4_f46_abs_max_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 42, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_f46_abs_max_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw_nonzero", NULL, "scale_raw_6", NULL,
    "scale_raw_4", NULL, "tensor_factor", "scale_6", "scale_value_6", "factor_6", "multiplier_6", "scaled_raw_6", "scaled_6", "plus_zero_6",
    "codes_6", "rounded_6", "product_6", "numerator_6", "decoded_6", "difference_6", "error_6", "scale_4", "scale_value_4", "factor_4",
    "multiplier_4", "scaled_raw_4", "scaled_4", "plus_zero_4", "codes_4", "rounded_4", "product_4", "numerator_4", "decoded_4",
    "difference_4", "error_4", "scale", "codes",
};
/* nvfp4_f46_abs_max, quantize */
static const emu_program quantize_nvfp4_f46_abs_max = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x4c00001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 43, .values = -1, .register_count = 44, .step_count = 37, .level_count = 2,
    .registers = quantize_nvfp4_f46_abs_max_registers, .steps = quantize_nvfp4_f46_abs_max_steps,
    .levels = quantize_nvfp4_f46_abs_max_levels, .names = quantize_nvfp4_f46_abs_max_names,
};
static const emu_register dequantize_nvfp4_f46_abs_max_f46_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* product */
    {.rows = 1, .columns = 1}, /* numerator */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvfp4_f46_abs_max_f46_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product */
    {.operation = EMU_OP_MUL, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator */
    {.operation = EMU_OP_DIV, .out = 8, .args = {6, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* nvfp4_f46_abs_max, f46 */
static const emu_program dequantize_nvfp4_f46_abs_max_f46 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x4c00001,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_f46_abs_max_f46_registers, .steps = dequantize_nvfp4_f46_abs_max_f46_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_f46_nvint4_f46_names,
};
static const emu_register quantize_nvfp4_f46_mae_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44c00000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw_nonzero */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fc00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_4 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_6 */
    {.rows = 1, .columns = 16}, /* scale_value_6 */
    {.rows = 1, .columns = 16}, /* factor_6 */
    {.rows = 1, .columns = 16}, /* multiplier_6 */
    {.rows = 1, .columns = 1}, /* scaled_raw_6 */
    {.rows = 1, .columns = 1}, /* scaled_6 */
    {.rows = 1, .columns = 1}, /* plus_zero_6 */
    {.rows = 1, .columns = 1}, /* codes_6 */
    {.rows = 1, .columns = 1}, /* rounded_6 */
    {.rows = 1, .columns = 1}, /* product_6 */
    {.rows = 1, .columns = 1}, /* numerator_6 */
    {.rows = 1, .columns = 1}, /* decoded_6 */
    {.rows = 1, .columns = 1}, /* difference_6 */
    {.rows = 1, .columns = 1}, /* distance_6 */
    {.rows = 1, .columns = 16}, /* error_6 */
    {.rows = 1, .columns = 16}, /* scale_4 */
    {.rows = 1, .columns = 16}, /* scale_value_4 */
    {.rows = 1, .columns = 16}, /* factor_4 */
    {.rows = 1, .columns = 16}, /* multiplier_4 */
    {.rows = 1, .columns = 1}, /* scaled_raw_4 */
    {.rows = 1, .columns = 1}, /* scaled_4 */
    {.rows = 1, .columns = 1}, /* plus_zero_4 */
    {.rows = 1, .columns = 1}, /* codes_4 */
    {.rows = 1, .columns = 1}, /* rounded_4 */
    {.rows = 1, .columns = 1}, /* product_4 */
    {.rows = 1, .columns = 1}, /* numerator_4 */
    {.rows = 1, .columns = 1}, /* decoded_4 */
    {.rows = 1, .columns = 1}, /* difference_4 */
    {.rows = 1, .columns = 1}, /* distance_4 */
    {.rows = 1, .columns = 16}, /* error_4 */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_f46_mae_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_nonzero */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_raw_6 */
    {.operation = EMU_OP_MUL, .out = 11, .args = {9, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_4 */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_CAST, .out = 14, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_6 */
    {.operation = EMU_OP_DECODE, .out = 15, .args = {14, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_6 */
    {.operation = EMU_OP_MUL, .out = 16, .args = {13, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_6 */
    {.operation = EMU_OP_DIV, .out = 17, .args = {12, 16, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier_6 */
    {.operation = EMU_OP_MUL, .out = 18, .args = {0, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw_6 */
    {.operation = EMU_OP_SELECT, .out = 19, .args = {15, 8, 18, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled_6 */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {19, 8, 19, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_6 */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_6 */
    {.operation = EMU_OP_ROUND, .out = 22, .args = {20, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_6 */
    {.operation = EMU_OP_MUL, .out = 23, .args = {22, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_6 */
    {.operation = EMU_OP_MUL, .out = 24, .args = {23, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_6 */
    {.operation = EMU_OP_DIV, .out = 25, .args = {24, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_6 */
    {.operation = EMU_OP_SUB, .out = 26, .args = {25, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_6 */
    {.operation = EMU_OP_ABS, .out = 27, .args = {26, -1, -1, -1}, .random = -1}, /* distance_6 */
    {.operation = EMU_OP_SUM, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_6 */
    {.operation = EMU_OP_CAST, .out = 29, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_4 */
    {.operation = EMU_OP_DECODE, .out = 30, .args = {29, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_4 */
    {.operation = EMU_OP_MUL, .out = 31, .args = {13, 30, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_4 */
    {.operation = EMU_OP_DIV, .out = 32, .args = {12, 31, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier_4 */
    {.operation = EMU_OP_MUL, .out = 33, .args = {0, 32, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw_4 */
    {.operation = EMU_OP_SELECT, .out = 34, .args = {30, 8, 33, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled_4 */
    {.operation = EMU_OP_SELECT, .out = 35, .args = {34, 8, 34, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_4 */
    {.operation = EMU_OP_CAST, .out = 36, .args = {35, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_4 */
    {.operation = EMU_OP_ROUND, .out = 37, .args = {35, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_4 */
    {.operation = EMU_OP_MUL, .out = 38, .args = {37, 30, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_4 */
    {.operation = EMU_OP_MUL, .out = 39, .args = {38, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_4 */
    {.operation = EMU_OP_DIV, .out = 40, .args = {39, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_4 */
    {.operation = EMU_OP_SUB, .out = 41, .args = {40, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_4 */
    {.operation = EMU_OP_ABS, .out = 42, .args = {41, -1, -1, -1}, .random = -1}, /* distance_4 */
    {.operation = EMU_OP_SUM, .out = 43, .args = {42, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_4 */
    {.operation = EMU_OP_SELECT, .out = 44, .args = {43, 28, 29, 14}, .random = -1, .variant = EMU_TEST_LT}, /* scale */
    {.operation = EMU_OP_SELECT, .out = 45, .args = {43, 28, 36, 21}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
};
static const emu_level quantize_nvfp4_f46_mae_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 44, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_f46_mae_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw_nonzero", NULL, "scale_raw_6", NULL,
    "scale_raw_4", NULL, "tensor_factor", "scale_6", "scale_value_6", "factor_6", "multiplier_6", "scaled_raw_6", "scaled_6", "plus_zero_6",
    "codes_6", "rounded_6", "product_6", "numerator_6", "decoded_6", "difference_6", "distance_6", "error_6", "scale_4", "scale_value_4",
    "factor_4", "multiplier_4", "scaled_raw_4", "scaled_4", "plus_zero_4", "codes_4", "rounded_4", "product_4", "numerator_4", "decoded_4",
    "difference_4", "distance_4", "error_4", "scale", "codes",
};
/* nvfp4_f46_mae, quantize */
static const emu_program quantize_nvfp4_f46_mae = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x4c00001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 45, .values = -1, .register_count = 46, .step_count = 39, .level_count = 2,
    .registers = quantize_nvfp4_f46_mae_registers, .steps = quantize_nvfp4_f46_mae_steps, .levels = quantize_nvfp4_f46_mae_levels,
    .names = quantize_nvfp4_f46_mae_names,
};
static const emu_step quantize_nvfp4_f46_mse_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_nonzero */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_raw_6 */
    {.operation = EMU_OP_MUL, .out = 11, .args = {9, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_4 */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_CAST, .out = 14, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_6 */
    {.operation = EMU_OP_DECODE, .out = 15, .args = {14, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_6 */
    {.operation = EMU_OP_MUL, .out = 16, .args = {13, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_6 */
    {.operation = EMU_OP_DIV, .out = 17, .args = {12, 16, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier_6 */
    {.operation = EMU_OP_MUL, .out = 18, .args = {0, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw_6 */
    {.operation = EMU_OP_SELECT, .out = 19, .args = {15, 8, 18, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled_6 */
    {.operation = EMU_OP_SELECT, .out = 20, .args = {19, 8, 19, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_6 */
    {.operation = EMU_OP_CAST, .out = 21, .args = {20, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_6 */
    {.operation = EMU_OP_ROUND, .out = 22, .args = {20, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_6 */
    {.operation = EMU_OP_MUL, .out = 23, .args = {22, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_6 */
    {.operation = EMU_OP_MUL, .out = 24, .args = {23, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_6 */
    {.operation = EMU_OP_DIV, .out = 25, .args = {24, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_6 */
    {.operation = EMU_OP_SUB, .out = 26, .args = {25, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_6 */
    {.operation = EMU_OP_MUL, .out = 27, .args = {26, 26, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_6 */
    {.operation = EMU_OP_SUM, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_6 */
    {.operation = EMU_OP_CAST, .out = 29, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_4 */
    {.operation = EMU_OP_DECODE, .out = 30, .args = {29, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_4 */
    {.operation = EMU_OP_MUL, .out = 31, .args = {13, 30, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_4 */
    {.operation = EMU_OP_DIV, .out = 32, .args = {12, 31, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier_4 */
    {.operation = EMU_OP_MUL, .out = 33, .args = {0, 32, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw_4 */
    {.operation = EMU_OP_SELECT, .out = 34, .args = {30, 8, 33, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled_4 */
    {.operation = EMU_OP_SELECT, .out = 35, .args = {34, 8, 34, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_4 */
    {.operation = EMU_OP_CAST, .out = 36, .args = {35, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes_4 */
    {.operation = EMU_OP_ROUND, .out = 37, .args = {35, -1, -1, -1}, .random = -1, .variant = EMU_UNBOUNDED, .format = &format_e2m1, .rounding = &rounding_rne}, /* rounded_4 */
    {.operation = EMU_OP_MUL, .out = 38, .args = {37, 30, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_4 */
    {.operation = EMU_OP_MUL, .out = 39, .args = {38, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_4 */
    {.operation = EMU_OP_DIV, .out = 40, .args = {39, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_4 */
    {.operation = EMU_OP_SUB, .out = 41, .args = {40, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_4 */
    {.operation = EMU_OP_MUL, .out = 42, .args = {41, 41, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_4 */
    {.operation = EMU_OP_SUM, .out = 43, .args = {42, -1, -1, -1}, .random = -1, .variant = EMU_SUM_HALVES, .rounding = &rounding_rne}, /* error_4 */
    {.operation = EMU_OP_SELECT, .out = 44, .args = {43, 28, 29, 14}, .random = -1, .variant = EMU_TEST_LT}, /* scale */
    {.operation = EMU_OP_SELECT, .out = 45, .args = {43, 28, 36, 21}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
};
static const char *const quantize_nvfp4_f46_mse_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw_nonzero", NULL, "scale_raw_6", NULL,
    "scale_raw_4", NULL, "tensor_factor", "scale_6", "scale_value_6", "factor_6", "multiplier_6", "scaled_raw_6", "scaled_6", "plus_zero_6",
    "codes_6", "rounded_6", "product_6", "numerator_6", "decoded_6", "difference_6", "square_6", "error_6", "scale_4", "scale_value_4",
    "factor_4", "multiplier_4", "scaled_raw_4", "scaled_4", "plus_zero_4", "codes_4", "rounded_4", "product_4", "numerator_4", "decoded_4",
    "difference_4", "square_4", "error_4", "scale", "codes",
};
/* nvfp4_f46_mse, quantize */
static const emu_program quantize_nvfp4_f46_mse = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x4c00001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 45, .values = -1, .register_count = 46, .step_count = 39, .level_count = 2,
    .registers = quantize_nvfp4_f46_mae_registers, .steps = quantize_nvfp4_f46_mse_steps, .levels = quantize_nvfp4_f46_mae_levels,
    .names = quantize_nvfp4_f46_mse_names,
};
static const emu_register quantize_nvfp4_f46_static_4_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40800000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_wanted */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_f46_static_4_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_wanted */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 14, .args = {13, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {11, 8, 16, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {17, 8, 17, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_6}, /* codes */
};
static const char *const quantize_nvfp4_f46_static_4_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw", NULL, "scale_wanted", "scale", "scale_value",
    NULL, "tensor_factor", "factor", "multiplier", "scaled_raw", "scaled", "plus_zero", "codes",
};
/* nvfp4_f46_static_4, quantize */
static const emu_program quantize_nvfp4_f46_static_4 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x4e00001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 19, .values = -1, .register_count = 20, .step_count = 14, .level_count = 2,
    .registers = quantize_nvfp4_f46_static_4_registers, .steps = quantize_nvfp4_f46_static_4_steps, .levels = quantize_f46_nvint4_levels,
    .names = quantize_nvfp4_f46_static_4_names,
};
static const emu_register dequantize_nvfp4_f46_static_4_f46_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* product */
    {.rows = 1, .columns = 1}, /* numerator */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44e00000}, /* constant */
    {.rows = 1, .columns = 1}, /* values */
};
/* nvfp4_f46_static_4, f46 */
static const emu_program dequantize_nvfp4_f46_static_4_f46 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x4e00001,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_f46_static_4_f46_registers, .steps = dequantize_nvfp4_f46_abs_max_f46_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_f46_nvint4_f46_names,
};
static const emu_register quantize_nvfp4_f46_static_6_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_wanted */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
/* nvfp4_f46_static_6, quantize */
static const emu_program quantize_nvfp4_f46_static_6 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 19, .values = -1, .register_count = 20, .step_count = 14, .level_count = 2,
    .registers = quantize_nvfp4_f46_static_6_registers, .steps = quantize_nvfp4_f46_static_4_steps, .levels = quantize_f46_nvint4_levels,
    .names = quantize_nvfp4_f46_static_4_names,
};
static const emu_register dequantize_nvfp4_f46_static_6_f46_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* product */
    {.rows = 1, .columns = 1}, /* numerator */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 1, .columns = 1}, /* values */
};
/* nvfp4_f46_static_6, f46 */
static const emu_program dequantize_nvfp4_f46_static_6_f46 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_f46_static_6_f46_registers, .steps = dequantize_nvfp4_f46_abs_max_f46_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_f46_nvint4_f46_names,
};
static const emu_register quantize_nvfp4_flashinfer_strict_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 0, .columns = 0}, /* sixth */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* inverse */
    {.rows = 1, .columns = 16}, /* multiplier_raw */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_policy cast_policy_10 = {
    .overflow = EMU_SATURATE, .nan = {{.rule = EMU_BY_CODE, .code = 0x7}, {.rule = EMU_BY_CODE, .code = 0x7}},
};
static const emu_step quantize_nvfp4_flashinfer_strict_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .variant = EMU_NAN_DROP}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 8, .args = {6, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* sixth */
    {.operation = EMU_OP_MUL, .out = 9, .args = {2, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 14, .args = {11, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* inverse */
    {.operation = EMU_OP_MIN, .out = 16, .args = {15, 5, -1, -1}, .random = -1}, /* multiplier_raw */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {2, 17, 16, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 19, .args = {0, 18, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 20, .args = {19, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_10}, /* codes */
};
static const char *const quantize_nvfp4_flashinfer_strict_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "ratio", NULL, "tensor_multiplier", NULL, "sixth", "scale_raw", "scale", "scale_value", NULL,
    "tensor_factor", "factor", "inverse", "multiplier_raw", NULL, "multiplier", "scaled", "codes",
};
/* nvfp4_flashinfer_strict, quantize */
static const emu_program quantize_nvfp4_flashinfer_strict = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 20, .values = -1, .register_count = 21, .step_count = 14, .level_count = 2,
    .registers = quantize_nvfp4_flashinfer_strict_registers, .steps = quantize_nvfp4_flashinfer_strict_steps,
    .levels = quantize_nvfp4_comfy_levels, .names = quantize_nvfp4_flashinfer_strict_names,
};
static const emu_register quantize_nvfp4_flashinfer_trace_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* used */
    {.rows = 1, .columns = 1}, /* raised */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_flashinfer_trace_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CAST, .out = 8, .args = {7, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_SELECT, .out = 11, .args = {9, 10, 9, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* used */
    {.operation = EMU_OP_MUL, .out = 12, .args = {0, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* raised */
    {.operation = EMU_OP_DIV, .out = 13, .args = {12, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_ABS, .out = 14, .args = {13, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_NEAREST, .out = 15, .args = {14, 10, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* up */
    {.operation = EMU_OP_DECODE, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_NEG, .out = 17, .args = {16, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 18, .args = {13, 17, 16, -1}, .random = -1, .variant = EMU_TEST_NEG}, /* signed */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_flashinfer_trace_levels[] = {
    {.reg = 6, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 8, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_flashinfer_trace_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_multiplier", "scale_raw", "scale", "scale_value", NULL, "used", "raised",
    "scaled", "magnitude", "up", "value", "negated", "signed", "codes",
};
/* nvfp4_flashinfer_trace, quantize */
static const emu_program quantize_nvfp4_flashinfer_trace = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 19, .values = -1, .register_count = 20, .step_count = 15, .level_count = 2,
    .registers = quantize_nvfp4_flashinfer_trace_registers, .steps = quantize_nvfp4_flashinfer_trace_steps,
    .levels = quantize_nvfp4_flashinfer_trace_levels, .names = quantize_nvfp4_flashinfer_trace_names,
};
static const emu_register quantize_nvfp4_ggml_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 16}, /* amax_number */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44000000}, /* constant */
    {.rows = 1, .columns = 16}, /* low_units */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f000000}, /* constant */
    {.rows = 1, .columns = 16}, /* low_half */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* low_capped */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3b000000}, /* constant */
    {.rows = 1, .columns = 16}, /* low */
    {.rows = 1, .columns = 16}, /* low_code */
    {.rows = 1, .columns = 16}, /* low_value */
    {.rows = 1, .columns = 16}, /* high_code */
    {.rows = 1, .columns = 16}, /* high_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43800000}, /* constant */
    {.rows = 1, .columns = 16}, /* high */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3c800000}, /* constant */
    {.rows = 1, .columns = 16}, /* both */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_ggml_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1, .variant = EMU_NAN_DROP}, /* block_amax */
    {.operation = EMU_OP_SELECT, .out = 3, .args = {1, 2, 1, -1}, .random = -1}, /* amax_number */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raw */
    {.operation = EMU_OP_MIN, .out = 7, .args = {5, 6, -1, -1}, .random = -1}, /* unit */
    {.operation = EMU_OP_MUL, .out = 9, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* low_units */
    {.operation = EMU_OP_ADD, .out = 11, .args = {9, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* low_half */
    {.operation = EMU_OP_MIN, .out = 13, .args = {11, 12, -1, -1}, .random = -1}, /* low_capped */
    {.operation = EMU_OP_MUL, .out = 15, .args = {13, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* low */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rz, .policy = &cast_policy_3}, /* low_code */
    {.operation = EMU_OP_DECODE, .out = 17, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* low_value */
    {.operation = EMU_OP_CAST, .out = 18, .args = {7, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rna, .policy = &cast_policy_3}, /* high_code */
    {.operation = EMU_OP_DECODE, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* high_value */
    {.operation = EMU_OP_SELECT, .out = 21, .args = {19, 20, 6, 19}, .random = -1, .variant = EMU_TEST_GE}, /* high */
    {.operation = EMU_OP_SELECT, .out = 23, .args = {7, 22, 17, 21}, .random = -1, .variant = EMU_TEST_LT}, /* both */
    {.operation = EMU_OP_CAST, .out = 24, .args = {23, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_NEAREST, .out = 25, .args = {0, 23, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* codes */
};
static const emu_level quantize_nvfp4_ggml_levels[] = {
    {.reg = 24, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_ggml_names[] = {
    "x", "block_amax", NULL, "amax_number", NULL, "unit_raw", NULL, "unit", NULL, "low_units", NULL, "low_half", NULL, "low_capped", NULL,
    "low", "low_code", "low_value", "high_code", "high_value", NULL, "high", NULL, "both", "scale", "codes",
};
/* nvfp4_ggml, quantize */
static const emu_program quantize_nvfp4_ggml = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 25, .values = -1, .register_count = 26, .step_count = 16, .level_count = 1, .registers = quantize_nvfp4_ggml_registers,
    .steps = quantize_nvfp4_ggml_steps, .levels = quantize_nvfp4_ggml_levels, .names = quantize_nvfp4_ggml_names,
};
/* nvfp4_ggml, exact */
static const emu_program dequantize_nvfp4_ggml_exact = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 4, .register_count = 5, .step_count = 3, .level_count = 1, .registers = dequantize_kvfp4_sglang_exact_registers,
    .steps = dequantize_nvfp4_deep_gemm_exact_steps, .levels = dequantize_nvfp4_deep_gemm_exact_levels,
    .names = dequantize_e4m3_row_bf16_compressed_tensors_bf16_names,
};
static const emu_register quantize_nvfp4_jax_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_scale */
    {.rows = 1, .columns = 1}, /* divided */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* capped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x80000000}, /* constant */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_jax_steps[] = {
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_scale */
    {.operation = EMU_OP_DIV, .out = 4, .args = {0, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* divided */
    {.operation = EMU_OP_AMAX, .out = 5, .args = {4, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CLAMP, .out = 10, .args = {7, 8, 9, -1}, .random = -1}, /* capped */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 13, .args = {4, 12, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_raw */
    {.operation = EMU_OP_SELECT, .out = 15, .args = {13, 14, 13, -1}, .random = -1}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_jax_levels[] = {
    {.reg = 3, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 11, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_jax_names[] = {
    "x", "tensor_amax", NULL, "tensor_scale", "divided", "block_amax", NULL, "unit", NULL, NULL, "capped", "scale", "scale_value",
    "scaled_raw", NULL, "scaled", "codes",
};
/* nvfp4_jax, quantize */
static const emu_program quantize_nvfp4_jax = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 16, .values = -1, .register_count = 17, .step_count = 10, .level_count = 2,
    .registers = quantize_nvfp4_jax_registers, .steps = quantize_nvfp4_jax_steps, .levels = quantize_nvfp4_jax_levels,
    .names = quantize_nvfp4_jax_names,
};
static const emu_register quantize_nvfp4_mlx_cpu_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit_number */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_mlx_cpu_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1}, /* unit_number */
    {.operation = EMU_OP_CAST, .out = 6, .args = {5, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 8, .args = {0, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_NEAREST, .out = 10, .args = {8, 9, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* codes */
};
static const char *const quantize_nvfp4_mlx_cpu_names[] = {
    "x", "block_amax", NULL, "unit", NULL, "unit_number", "scale", "scale_value", "scaled", NULL, "codes",
};
/* nvfp4_mlx_cpu, quantize */
static const emu_program quantize_nvfp4_mlx_cpu = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 10, .values = -1, .register_count = 11, .step_count = 7, .level_count = 1, .registers = quantize_nvfp4_mlx_cpu_registers,
    .steps = quantize_nvfp4_mlx_cpu_steps, .levels = quantize_nvfp4_deep_gemm_levels, .names = quantize_nvfp4_mlx_cpu_names,
};
static const emu_register quantize_nvfp4_mlx_cpu_global_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* encode */
    {.rows = 1, .columns = 16}, /* unit_raised */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit_number */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 1}, /* divided */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_mlx_cpu_global_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {5, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* encode */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit_raised */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {7, 8, 7, -1}, .random = -1}, /* unit_number */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 12, .args = {0, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* divided */
    {.operation = EMU_OP_MUL, .out = 13, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_NEAREST, .out = 15, .args = {13, 14, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne}, /* codes */
};
static const char *const quantize_nvfp4_mlx_cpu_global_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "encode", "unit_raised", NULL, "unit_number", "scale", "scale_value", "divided",
    "scaled", NULL, "codes",
};
/* nvfp4_mlx_cpu_global, quantize */
static const emu_program quantize_nvfp4_mlx_cpu_global = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 15, .values = -1, .register_count = 16, .step_count = 10, .level_count = 2,
    .registers = quantize_nvfp4_mlx_cpu_global_registers, .steps = quantize_nvfp4_mlx_cpu_global_steps,
    .levels = quantize_f46_nvint4_levels, .names = quantize_nvfp4_mlx_cpu_global_names,
};
static const emu_register dequantize_nvfp4_mlx_cpu_global_mlx_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_scale */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvfp4_mlx_cpu_global_mlx_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 6, .args = {1, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_scale */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 8, .args = {3, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const char *const dequantize_nvfp4_mlx_cpu_global_mlx_names[] = {
    "codes", "tensor", "scale", "code_value", "scale_value", NULL, "tensor_scale", "factor", "values",
};
/* nvfp4_mlx_cpu_global, mlx */
static const emu_program dequantize_nvfp4_mlx_cpu_global_mlx = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_mlx_cpu_global_mlx_registers, .steps = dequantize_nvfp4_mlx_cpu_global_mlx_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nvfp4_mlx_cpu_global_mlx_names,
};
static const emu_register quantize_nvfp4_modelopt_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_scale */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_divisor */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_nonzero */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3b000000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_floored */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_modelopt_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {1, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_scale */
    {.operation = EMU_OP_MUL, .out = 6, .args = {5, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_divisor */
    {.operation = EMU_OP_DIV, .out = 7, .args = {2, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {7, 8, 7, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_nonzero */
    {.operation = EMU_OP_MAX, .out = 11, .args = {9, 10, -1, -1}, .random = -1}, /* scale_floored */
    {.operation = EMU_OP_CAST, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 14, .args = {13, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 15, .args = {0, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {15, 16, 15, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 18, .args = {17, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_modelopt_levels[] = {
    {.reg = 4, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 12, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_modelopt_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "tensor_scale", NULL, "amax_divisor", "scale_raw", NULL, "scale_nonzero", NULL, "scale_floored",
    "scale", "scale_value", "factor", "scaled", NULL, "plus_zero", "codes",
};
/* nvfp4_modelopt, quantize */
static const emu_program quantize_nvfp4_modelopt = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x8dc0,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 18, .values = -1, .register_count = 19, .step_count = 12, .level_count = 2,
    .registers = quantize_nvfp4_modelopt_registers, .steps = quantize_nvfp4_modelopt_steps, .levels = quantize_nvfp4_modelopt_levels,
    .names = quantize_nvfp4_modelopt_names,
};
static const emu_register dequantize_nvfp4_modelopt_modelopt_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* signed_value */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvfp4_modelopt_modelopt_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* signed_value */
    {.operation = EMU_OP_SELECT, .out = 5, .args = {3, 4, 3, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 6, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 7, .args = {1, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 8, .args = {5, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
static const char *const dequantize_nvfp4_modelopt_modelopt_names[] = {
    "codes", "tensor", "scale", "signed_value", NULL, "code_value", "scale_value", "factor", "values",
};
/* nvfp4_modelopt, modelopt */
static const emu_program dequantize_nvfp4_modelopt_modelopt = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .finite_only = 1, .tensor_amax_min = 0x8dc0,
    .x = -1, .tensor_amax = -1, .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_modelopt_modelopt_registers, .steps = dequantize_nvfp4_modelopt_modelopt_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nvfp4_modelopt_modelopt_names,
};
static const emu_register quantize_nvfp4_quartet2_rtn_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 0, .columns = 0}, /* by_range */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_scale */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale_first */
    {.rows = 1, .columns = 16}, /* first_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* total */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* magnitude */
    {.rows = 1, .columns = 1}, /* up */
    {.rows = 1, .columns = 1}, /* value */
    {.rows = 1, .columns = 1}, /* negated */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* signed */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_quartet2_rtn_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {1, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* by_range */
    {.operation = EMU_OP_DIV, .out = 6, .args = {4, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_scale */
    {.operation = EMU_OP_DIV, .out = 7, .args = {2, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 8, .args = {7, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CAST, .out = 9, .args = {8, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_first */
    {.operation = EMU_OP_DECODE, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* first_value */
    {.operation = EMU_OP_SELECT, .out = 12, .args = {10, 11, 10, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale_value */
    {.operation = EMU_OP_CAST, .out = 13, .args = {12, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_MUL, .out = 14, .args = {12, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* total */
    {.operation = EMU_OP_DIV, .out = 15, .args = {0, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_ABS, .out = 16, .args = {15, -1, -1, -1}, .random = -1}, /* magnitude */
    {.operation = EMU_OP_CAST, .out = 17, .args = {16, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rna, .policy = &cast_policy_1}, /* up */
    {.operation = EMU_OP_DECODE, .out = 18, .args = {17, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* value */
    {.operation = EMU_OP_NEG, .out = 19, .args = {18, -1, -1, -1}, .random = -1}, /* negated */
    {.operation = EMU_OP_SELECT, .out = 21, .args = {20, 15, 18, 19}, .random = -1, .variant = EMU_TEST_LT}, /* signed */
    {.operation = EMU_OP_CAST, .out = 22, .args = {21, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const char *const quantize_nvfp4_quartet2_rtn_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "by_range", NULL, "tensor_scale", "unit", "scale_raw", "scale_first", "first_value", NULL,
    "scale_value", "scale", "total", "scaled", "magnitude", "up", "value", "negated", NULL, "signed", "codes",
};
/* nvfp4_quartet2_rtn, quantize */
static const emu_program quantize_nvfp4_quartet2_rtn = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .x = 0, .tensor_amax = 1,
    .random = -1, .codes = 22, .values = -1, .register_count = 23, .step_count = 17, .level_count = 2,
    .registers = quantize_nvfp4_quartet2_rtn_registers, .steps = quantize_nvfp4_quartet2_rtn_steps,
    .levels = quantize_nvfp4_auto_round_levels, .names = quantize_nvfp4_quartet2_rtn_names,
};
static const emu_register quantize_nvfp4_te_2d_ref_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 16, .columns = 16}, /* tile_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_multiplier */
    {.rows = 16, .columns = 16}, /* scale_raw */
    {.rows = 16, .columns = 16}, /* scale_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 16, .columns = 16}, /* scale_clamped */
    {.rows = 16, .columns = 16}, /* scale */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 16, .columns = 16}, /* scale_value */
    {.rows = 16, .columns = 16}, /* factor */
    {.rows = 16, .columns = 16}, /* reciprocal */
    {.rows = 16, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_te_2d_ref_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* tile_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {8, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_multiplier */
    {.operation = EMU_OP_MUL, .out = 11, .args = {2, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_MIN, .out = 12, .args = {11, 5, -1, -1}, .random = -1}, /* scale_finite */
    {.operation = EMU_OP_CLAMP, .out = 15, .args = {12, 13, 14, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DIV, .out = 17, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DECODE, .out = 18, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 19, .args = {18, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 20, .args = {7, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 21, .args = {20, 5, -1, -1}, .random = -1}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 22, .args = {0, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes */
};
static const char *const quantize_nvfp4_te_2d_ref_names[] = {
    "x", "tensor_amax", "tile_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "tensor_multiplier", NULL, "amax_multiplier", "scale_raw",
    "scale_finite", NULL, NULL, "scale_clamped", "scale", "tensor_factor", "scale_value", "factor", "reciprocal", "multiplier", "scaled",
    NULL, NULL, "clamped", NULL, "plus_zero", "codes",
};
/* nvfp4_te_2d_ref, quantize */
static const emu_program quantize_nvfp4_te_2d_ref = {
    .arithmetic = &format_fp32, .tile_rows = 16, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 28, .values = -1, .register_count = 29, .step_count = 18, .level_count = 2, .registers = quantize_nvfp4_te_2d_ref_registers,
    .steps = quantize_nvfp4_te_2d_ref_steps, .levels = quantize_nve0m3_levels, .names = quantize_nvfp4_te_2d_ref_names,
};
static const emu_register dequantize_nvfp4_te_2d_ref_te_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale_times_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x39c30c31}, /* constant */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvfp4_te_2d_ref_te_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {4, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_times_amax */
    {.operation = EMU_OP_MUL, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 8, .args = {3, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* nvfp4_te_2d_ref, te */
static const emu_program dequantize_nvfp4_te_2d_ref_te = {
    .arithmetic = &format_fp32, .tile_rows = 16, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2, .registers = dequantize_nvfp4_te_2d_ref_te_registers,
    .steps = dequantize_nvfp4_te_2d_ref_te_steps, .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nve0m3_te_names,
};
static const emu_register quantize_nvfp4_te_4over6_mae_256_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44c00000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 1, .columns = 16}, /* scale_raw_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fc00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_4 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped_6 */
    {.rows = 1, .columns = 16}, /* scale_6 */
    {.rows = 1, .columns = 16}, /* scale_value_6 */
    {.rows = 1, .columns = 16}, /* factor_6 */
    {.rows = 1, .columns = 16}, /* reciprocal_6 */
    {.rows = 1, .columns = 16}, /* multiplier_6 */
    {.rows = 1, .columns = 1}, /* scaled_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped_6 */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero_6 */
    {.rows = 1, .columns = 1}, /* codes_6 */
    {.rows = 1, .columns = 1}, /* code_value_6 */
    {.rows = 1, .columns = 1}, /* product_6 */
    {.rows = 1, .columns = 1}, /* numerator_6 */
    {.rows = 1, .columns = 1}, /* decoded_6 */
    {.rows = 1, .columns = 1}, /* difference_6 */
    {.rows = 1, .columns = 1}, /* distance_6 */
    {.rows = 1, .columns = 16}, /* error_6 */
    {.rows = 1, .columns = 16}, /* scale_clamped_4 */
    {.rows = 1, .columns = 16}, /* scale_4 */
    {.rows = 1, .columns = 16}, /* scale_value_4 */
    {.rows = 1, .columns = 16}, /* factor_4 */
    {.rows = 1, .columns = 16}, /* reciprocal_4 */
    {.rows = 1, .columns = 16}, /* multiplier_4 */
    {.rows = 1, .columns = 1}, /* scaled_4 */
    {.rows = 1, .columns = 1}, /* clamped_4 */
    {.rows = 1, .columns = 1}, /* plus_zero_4 */
    {.rows = 1, .columns = 1}, /* codes_4 */
    {.rows = 1, .columns = 1}, /* code_value_4 */
    {.rows = 1, .columns = 1}, /* product_4 */
    {.rows = 1, .columns = 1}, /* numerator_4 */
    {.rows = 1, .columns = 1}, /* decoded_4 */
    {.rows = 1, .columns = 1}, /* difference_4 */
    {.rows = 1, .columns = 1}, /* distance_4 */
    {.rows = 1, .columns = 16}, /* error_4 */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_te_4over6_mae_256_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_DIV, .out = 9, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DIV, .out = 11, .args = {2, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_6 */
    {.operation = EMU_OP_MUL, .out = 14, .args = {12, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_4 */
    {.operation = EMU_OP_CLAMP, .out = 17, .args = {12, 15, 16, -1}, .random = -1}, /* scale_clamped_6 */
    {.operation = EMU_OP_CAST, .out = 18, .args = {17, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_6 */
    {.operation = EMU_OP_DECODE, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_6 */
    {.operation = EMU_OP_MUL, .out = 20, .args = {19, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_6 */
    {.operation = EMU_OP_DIV, .out = 21, .args = {7, 20, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal_6 */
    {.operation = EMU_OP_MIN, .out = 22, .args = {21, 5, -1, -1}, .random = -1}, /* multiplier_6 */
    {.operation = EMU_OP_MUL, .out = 23, .args = {0, 22, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_6 */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {23, 24, 10, -1}, .random = -1}, /* clamped_6 */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_6 */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes_6 */
    {.operation = EMU_OP_DECODE, .out = 29, .args = {28, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_6 */
    {.operation = EMU_OP_MUL, .out = 30, .args = {29, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_6 */
    {.operation = EMU_OP_MUL, .out = 31, .args = {30, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_6 */
    {.operation = EMU_OP_DIV, .out = 32, .args = {31, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_6 */
    {.operation = EMU_OP_SUB, .out = 33, .args = {32, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_6 */
    {.operation = EMU_OP_ABS, .out = 34, .args = {33, -1, -1, -1}, .random = -1}, /* distance_6 */
    {.operation = EMU_OP_SUM, .out = 35, .args = {34, -1, -1, -1}, .random = -1, .variant = EMU_SUM_SEQUENTIAL, .rounding = &rounding_rne}, /* error_6 */
    {.operation = EMU_OP_CLAMP, .out = 36, .args = {14, 15, 16, -1}, .random = -1}, /* scale_clamped_4 */
    {.operation = EMU_OP_CAST, .out = 37, .args = {36, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_4 */
    {.operation = EMU_OP_DECODE, .out = 38, .args = {37, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_4 */
    {.operation = EMU_OP_MUL, .out = 39, .args = {38, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_4 */
    {.operation = EMU_OP_DIV, .out = 40, .args = {7, 39, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal_4 */
    {.operation = EMU_OP_MIN, .out = 41, .args = {40, 5, -1, -1}, .random = -1}, /* multiplier_4 */
    {.operation = EMU_OP_MUL, .out = 42, .args = {0, 41, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_4 */
    {.operation = EMU_OP_CLAMP, .out = 43, .args = {42, 24, 10, -1}, .random = -1}, /* clamped_4 */
    {.operation = EMU_OP_SELECT, .out = 44, .args = {43, 26, 43, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_4 */
    {.operation = EMU_OP_CAST, .out = 45, .args = {44, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes_4 */
    {.operation = EMU_OP_DECODE, .out = 46, .args = {45, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_4 */
    {.operation = EMU_OP_MUL, .out = 47, .args = {46, 38, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_4 */
    {.operation = EMU_OP_MUL, .out = 48, .args = {47, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_4 */
    {.operation = EMU_OP_DIV, .out = 49, .args = {48, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_4 */
    {.operation = EMU_OP_SUB, .out = 50, .args = {49, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_4 */
    {.operation = EMU_OP_ABS, .out = 51, .args = {50, -1, -1, -1}, .random = -1}, /* distance_4 */
    {.operation = EMU_OP_SUM, .out = 52, .args = {51, -1, -1, -1}, .random = -1, .variant = EMU_SUM_SEQUENTIAL, .rounding = &rounding_rne}, /* error_4 */
    {.operation = EMU_OP_SELECT, .out = 53, .args = {52, 35, 37, 18}, .random = -1, .variant = EMU_TEST_LT}, /* scale */
    {.operation = EMU_OP_SELECT, .out = 54, .args = {52, 35, 45, 28}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
};
static const emu_level quantize_nvfp4_te_4over6_mae_256_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 53, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_te_4over6_mae_256_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "tensor_multiplier", "tensor_factor", NULL, "unit",
    "scale_raw_6", NULL, "scale_raw_4", NULL, NULL, "scale_clamped_6", "scale_6", "scale_value_6", "factor_6", "reciprocal_6",
    "multiplier_6", "scaled_6", NULL, "clamped_6", NULL, "plus_zero_6", "codes_6", "code_value_6", "product_6", "numerator_6", "decoded_6",
    "difference_6", "distance_6", "error_6", "scale_clamped_4", "scale_4", "scale_value_4", "factor_4", "reciprocal_4", "multiplier_4",
    "scaled_4", "clamped_4", "plus_zero_4", "codes_4", "code_value_4", "product_4", "numerator_4", "decoded_4", "difference_4",
    "distance_4", "error_4", "scale", "codes",
};
/* nvfp4_te_4over6_mae_256, quantize */
static const emu_program quantize_nvfp4_te_4over6_mae_256 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 54, .values = -1, .register_count = 55, .step_count = 44, .level_count = 2,
    .registers = quantize_nvfp4_te_4over6_mae_256_registers, .steps = quantize_nvfp4_te_4over6_mae_256_steps,
    .levels = quantize_nvfp4_te_4over6_mae_256_levels, .names = quantize_nvfp4_te_4over6_mae_256_names,
};
static const emu_register dequantize_nvfp4_te_4over6_mae_256_te_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale_times_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3a2aaaab}, /* constant */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
/* nvfp4_te_4over6_mae_256, te */
static const emu_program dequantize_nvfp4_te_4over6_mae_256_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_te_4over6_mae_256_te_registers, .steps = dequantize_nvfp4_te_2d_ref_te_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nve0m3_te_names,
};
static const emu_register quantize_nvfp4_te_4over6_mae_448_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 1, .columns = 16}, /* scale_raw_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fc00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_4 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped_6 */
    {.rows = 1, .columns = 16}, /* scale_6 */
    {.rows = 1, .columns = 16}, /* scale_value_6 */
    {.rows = 1, .columns = 16}, /* factor_6 */
    {.rows = 1, .columns = 16}, /* reciprocal_6 */
    {.rows = 1, .columns = 16}, /* multiplier_6 */
    {.rows = 1, .columns = 1}, /* scaled_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped_6 */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero_6 */
    {.rows = 1, .columns = 1}, /* codes_6 */
    {.rows = 1, .columns = 1}, /* code_value_6 */
    {.rows = 1, .columns = 1}, /* product_6 */
    {.rows = 1, .columns = 1}, /* numerator_6 */
    {.rows = 1, .columns = 1}, /* decoded_6 */
    {.rows = 1, .columns = 1}, /* difference_6 */
    {.rows = 1, .columns = 1}, /* distance_6 */
    {.rows = 1, .columns = 16}, /* error_6 */
    {.rows = 1, .columns = 16}, /* scale_clamped_4 */
    {.rows = 1, .columns = 16}, /* scale_4 */
    {.rows = 1, .columns = 16}, /* scale_value_4 */
    {.rows = 1, .columns = 16}, /* factor_4 */
    {.rows = 1, .columns = 16}, /* reciprocal_4 */
    {.rows = 1, .columns = 16}, /* multiplier_4 */
    {.rows = 1, .columns = 1}, /* scaled_4 */
    {.rows = 1, .columns = 1}, /* clamped_4 */
    {.rows = 1, .columns = 1}, /* plus_zero_4 */
    {.rows = 1, .columns = 1}, /* codes_4 */
    {.rows = 1, .columns = 1}, /* code_value_4 */
    {.rows = 1, .columns = 1}, /* product_4 */
    {.rows = 1, .columns = 1}, /* numerator_4 */
    {.rows = 1, .columns = 1}, /* decoded_4 */
    {.rows = 1, .columns = 1}, /* difference_4 */
    {.rows = 1, .columns = 1}, /* distance_4 */
    {.rows = 1, .columns = 16}, /* error_4 */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* codes */
};
/* nvfp4_te_4over6_mae_448, quantize */
static const emu_program quantize_nvfp4_te_4over6_mae_448 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 54, .values = -1, .register_count = 55, .step_count = 44, .level_count = 2,
    .registers = quantize_nvfp4_te_4over6_mae_448_registers, .steps = quantize_nvfp4_te_4over6_mae_256_steps,
    .levels = quantize_nvfp4_te_4over6_mae_256_levels, .names = quantize_nvfp4_te_4over6_mae_256_names,
};
/* nvfp4_te_4over6_mae_448, te */
static const emu_program dequantize_nvfp4_te_4over6_mae_448_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2, .registers = dequantize_nvfp4_te_2d_ref_te_registers,
    .steps = dequantize_nvfp4_te_2d_ref_te_steps, .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nve0m3_te_names,
};
static const emu_step quantize_nvfp4_te_4over6_mse_256_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_DIV, .out = 9, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DIV, .out = 11, .args = {2, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_6 */
    {.operation = EMU_OP_MUL, .out = 14, .args = {12, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_4 */
    {.operation = EMU_OP_CLAMP, .out = 17, .args = {12, 15, 16, -1}, .random = -1}, /* scale_clamped_6 */
    {.operation = EMU_OP_CAST, .out = 18, .args = {17, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_6 */
    {.operation = EMU_OP_DECODE, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_6 */
    {.operation = EMU_OP_MUL, .out = 20, .args = {19, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_6 */
    {.operation = EMU_OP_DIV, .out = 21, .args = {7, 20, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal_6 */
    {.operation = EMU_OP_MIN, .out = 22, .args = {21, 5, -1, -1}, .random = -1}, /* multiplier_6 */
    {.operation = EMU_OP_MUL, .out = 23, .args = {0, 22, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_6 */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {23, 24, 10, -1}, .random = -1}, /* clamped_6 */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_6 */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes_6 */
    {.operation = EMU_OP_DECODE, .out = 29, .args = {28, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_6 */
    {.operation = EMU_OP_MUL, .out = 30, .args = {29, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_6 */
    {.operation = EMU_OP_MUL, .out = 31, .args = {30, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_6 */
    {.operation = EMU_OP_DIV, .out = 32, .args = {31, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_6 */
    {.operation = EMU_OP_SUB, .out = 33, .args = {32, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_6 */
    {.operation = EMU_OP_MUL, .out = 34, .args = {33, 33, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_6 */
    {.operation = EMU_OP_SUM, .out = 35, .args = {34, -1, -1, -1}, .random = -1, .variant = EMU_SUM_SEQUENTIAL, .rounding = &rounding_rne}, /* error_6 */
    {.operation = EMU_OP_CLAMP, .out = 36, .args = {14, 15, 16, -1}, .random = -1}, /* scale_clamped_4 */
    {.operation = EMU_OP_CAST, .out = 37, .args = {36, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_4 */
    {.operation = EMU_OP_DECODE, .out = 38, .args = {37, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_4 */
    {.operation = EMU_OP_MUL, .out = 39, .args = {38, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_4 */
    {.operation = EMU_OP_DIV, .out = 40, .args = {7, 39, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal_4 */
    {.operation = EMU_OP_MIN, .out = 41, .args = {40, 5, -1, -1}, .random = -1}, /* multiplier_4 */
    {.operation = EMU_OP_MUL, .out = 42, .args = {0, 41, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_4 */
    {.operation = EMU_OP_CLAMP, .out = 43, .args = {42, 24, 10, -1}, .random = -1}, /* clamped_4 */
    {.operation = EMU_OP_SELECT, .out = 44, .args = {43, 26, 43, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_4 */
    {.operation = EMU_OP_CAST, .out = 45, .args = {44, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes_4 */
    {.operation = EMU_OP_DECODE, .out = 46, .args = {45, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_4 */
    {.operation = EMU_OP_MUL, .out = 47, .args = {46, 38, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* product_4 */
    {.operation = EMU_OP_MUL, .out = 48, .args = {47, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* numerator_4 */
    {.operation = EMU_OP_DIV, .out = 49, .args = {48, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* decoded_4 */
    {.operation = EMU_OP_SUB, .out = 50, .args = {49, 0, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_4 */
    {.operation = EMU_OP_MUL, .out = 51, .args = {50, 50, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_4 */
    {.operation = EMU_OP_SUM, .out = 52, .args = {51, -1, -1, -1}, .random = -1, .variant = EMU_SUM_SEQUENTIAL, .rounding = &rounding_rne}, /* error_4 */
    {.operation = EMU_OP_SELECT, .out = 53, .args = {52, 35, 37, 18}, .random = -1, .variant = EMU_TEST_LT}, /* scale */
    {.operation = EMU_OP_SELECT, .out = 54, .args = {52, 35, 45, 28}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
};
static const char *const quantize_nvfp4_te_4over6_mse_256_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "tensor_multiplier", "tensor_factor", NULL, "unit",
    "scale_raw_6", NULL, "scale_raw_4", NULL, NULL, "scale_clamped_6", "scale_6", "scale_value_6", "factor_6", "reciprocal_6",
    "multiplier_6", "scaled_6", NULL, "clamped_6", NULL, "plus_zero_6", "codes_6", "code_value_6", "product_6", "numerator_6", "decoded_6",
    "difference_6", "square_6", "error_6", "scale_clamped_4", "scale_4", "scale_value_4", "factor_4", "reciprocal_4", "multiplier_4",
    "scaled_4", "clamped_4", "plus_zero_4", "codes_4", "code_value_4", "product_4", "numerator_4", "decoded_4", "difference_4", "square_4",
    "error_4", "scale", "codes",
};
/* nvfp4_te_4over6_mse_256, quantize */
static const emu_program quantize_nvfp4_te_4over6_mse_256 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 54, .values = -1, .register_count = 55, .step_count = 44, .level_count = 2,
    .registers = quantize_nvfp4_te_4over6_mae_256_registers, .steps = quantize_nvfp4_te_4over6_mse_256_steps,
    .levels = quantize_nvfp4_te_4over6_mae_256_levels, .names = quantize_nvfp4_te_4over6_mse_256_names,
};
static const emu_register quantize_nvfp4_te_4over6_mse_256_fast_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44c00000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 1, .columns = 16}, /* scale_raw_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fc00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_raw_4 */
    {.rows = 1, .columns = 1}, /* target */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped_6 */
    {.rows = 1, .columns = 16}, /* scale_6 */
    {.rows = 1, .columns = 16}, /* scale_value_6 */
    {.rows = 1, .columns = 16}, /* factor_6 */
    {.rows = 1, .columns = 16}, /* reciprocal_6 */
    {.rows = 1, .columns = 16}, /* multiplier_6 */
    {.rows = 1, .columns = 1}, /* scaled_6 */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped_6 */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero_6 */
    {.rows = 1, .columns = 1}, /* codes_6 */
    {.rows = 1, .columns = 1}, /* code_value_6 */
    {.rows = 1, .columns = 1}, /* decoded_6 */
    {.rows = 1, .columns = 1}, /* difference_6 */
    {.rows = 1, .columns = 1}, /* square_6 */
    {.rows = 1, .columns = 16}, /* error_6 */
    {.rows = 1, .columns = 16}, /* scale_clamped_4 */
    {.rows = 1, .columns = 16}, /* scale_4 */
    {.rows = 1, .columns = 16}, /* scale_value_4 */
    {.rows = 1, .columns = 16}, /* factor_4 */
    {.rows = 1, .columns = 16}, /* reciprocal_4 */
    {.rows = 1, .columns = 16}, /* multiplier_4 */
    {.rows = 1, .columns = 1}, /* scaled_4 */
    {.rows = 1, .columns = 1}, /* clamped_4 */
    {.rows = 1, .columns = 1}, /* plus_zero_4 */
    {.rows = 1, .columns = 1}, /* codes_4 */
    {.rows = 1, .columns = 1}, /* code_value_4 */
    {.rows = 1, .columns = 1}, /* decoded_4 */
    {.rows = 1, .columns = 1}, /* difference_4 */
    {.rows = 1, .columns = 1}, /* square_4 */
    {.rows = 1, .columns = 16}, /* error_4 */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_te_4over6_mse_256_fast_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_DIV, .out = 9, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DIV, .out = 11, .args = {2, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_MUL, .out = 12, .args = {11, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_6 */
    {.operation = EMU_OP_MUL, .out = 14, .args = {12, 13, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw_4 */
    {.operation = EMU_OP_MUL, .out = 15, .args = {0, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* target */
    {.operation = EMU_OP_CLAMP, .out = 18, .args = {12, 16, 17, -1}, .random = -1}, /* scale_clamped_6 */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_6 */
    {.operation = EMU_OP_DECODE, .out = 20, .args = {19, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_6 */
    {.operation = EMU_OP_MUL, .out = 21, .args = {20, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_6 */
    {.operation = EMU_OP_DIV, .out = 22, .args = {7, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal_6 */
    {.operation = EMU_OP_MIN, .out = 23, .args = {22, 5, -1, -1}, .random = -1}, /* multiplier_6 */
    {.operation = EMU_OP_MUL, .out = 24, .args = {0, 23, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_6 */
    {.operation = EMU_OP_CLAMP, .out = 26, .args = {24, 25, 10, -1}, .random = -1}, /* clamped_6 */
    {.operation = EMU_OP_SELECT, .out = 28, .args = {26, 27, 26, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_6 */
    {.operation = EMU_OP_CAST, .out = 29, .args = {28, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes_6 */
    {.operation = EMU_OP_DECODE, .out = 30, .args = {29, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_6 */
    {.operation = EMU_OP_MUL, .out = 31, .args = {30, 20, -1, -1}, .random = -1, .format = &format_fp16, .rounding = &rounding_rne}, /* decoded_6 */
    {.operation = EMU_OP_SUB, .out = 32, .args = {31, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_6 */
    {.operation = EMU_OP_MUL, .out = 33, .args = {32, 32, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_6 */
    {.operation = EMU_OP_SUM, .out = 34, .args = {33, -1, -1, -1}, .random = -1, .variant = EMU_SUM_SEQUENTIAL, .rounding = &rounding_rne}, /* error_6 */
    {.operation = EMU_OP_CLAMP, .out = 35, .args = {14, 16, 17, -1}, .random = -1}, /* scale_clamped_4 */
    {.operation = EMU_OP_CAST, .out = 36, .args = {35, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale_4 */
    {.operation = EMU_OP_DECODE, .out = 37, .args = {36, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value_4 */
    {.operation = EMU_OP_MUL, .out = 38, .args = {37, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor_4 */
    {.operation = EMU_OP_DIV, .out = 39, .args = {7, 38, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal_4 */
    {.operation = EMU_OP_MIN, .out = 40, .args = {39, 5, -1, -1}, .random = -1}, /* multiplier_4 */
    {.operation = EMU_OP_MUL, .out = 41, .args = {0, 40, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled_4 */
    {.operation = EMU_OP_CLAMP, .out = 42, .args = {41, 25, 10, -1}, .random = -1}, /* clamped_4 */
    {.operation = EMU_OP_SELECT, .out = 43, .args = {42, 27, 42, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero_4 */
    {.operation = EMU_OP_CAST, .out = 44, .args = {43, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes_4 */
    {.operation = EMU_OP_DECODE, .out = 45, .args = {44, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value_4 */
    {.operation = EMU_OP_MUL, .out = 46, .args = {45, 37, -1, -1}, .random = -1, .format = &format_fp16, .rounding = &rounding_rne}, /* decoded_4 */
    {.operation = EMU_OP_SUB, .out = 47, .args = {46, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* difference_4 */
    {.operation = EMU_OP_MUL, .out = 48, .args = {47, 47, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* square_4 */
    {.operation = EMU_OP_SUM, .out = 49, .args = {48, -1, -1, -1}, .random = -1, .variant = EMU_SUM_SEQUENTIAL, .rounding = &rounding_rne}, /* error_4 */
    {.operation = EMU_OP_SELECT, .out = 50, .args = {49, 34, 36, 19}, .random = -1, .variant = EMU_TEST_LT}, /* scale */
    {.operation = EMU_OP_SELECT, .out = 51, .args = {49, 34, 44, 29}, .random = -1, .variant = EMU_TEST_LT}, /* codes */
};
static const emu_level quantize_nvfp4_te_4over6_mse_256_fast_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 50, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_te_4over6_mse_256_fast_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "tensor_multiplier", "tensor_factor", NULL, "unit",
    "scale_raw_6", NULL, "scale_raw_4", "target", NULL, NULL, "scale_clamped_6", "scale_6", "scale_value_6", "factor_6", "reciprocal_6",
    "multiplier_6", "scaled_6", NULL, "clamped_6", NULL, "plus_zero_6", "codes_6", "code_value_6", "decoded_6", "difference_6", "square_6",
    "error_6", "scale_clamped_4", "scale_4", "scale_value_4", "factor_4", "reciprocal_4", "multiplier_4", "scaled_4", "clamped_4",
    "plus_zero_4", "codes_4", "code_value_4", "decoded_4", "difference_4", "square_4", "error_4", "scale", "codes",
};
/* nvfp4_te_4over6_mse_256_fast, quantize */
static const emu_program quantize_nvfp4_te_4over6_mse_256_fast = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 51, .values = -1, .register_count = 52, .step_count = 41, .level_count = 2,
    .registers = quantize_nvfp4_te_4over6_mse_256_fast_registers, .steps = quantize_nvfp4_te_4over6_mse_256_fast_steps,
    .levels = quantize_nvfp4_te_4over6_mse_256_fast_levels, .names = quantize_nvfp4_te_4over6_mse_256_fast_names,
};
/* nvfp4_te_4over6_mse_448, quantize */
static const emu_program quantize_nvfp4_te_4over6_mse_448 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 54, .values = -1, .register_count = 55, .step_count = 44, .level_count = 2,
    .registers = quantize_nvfp4_te_4over6_mae_448_registers, .steps = quantize_nvfp4_te_4over6_mse_256_steps,
    .levels = quantize_nvfp4_te_4over6_mae_256_levels, .names = quantize_nvfp4_te_4over6_mse_256_names,
};
static const emu_register quantize_nvfp4_te_cuda_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_nonzero */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* reciprocal */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_te_cuda_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1, .variant = EMU_NAN_DROP}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* ratio_nonzero */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {1, 7, 8, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 11, .args = {9, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_multiplier */
    {.operation = EMU_OP_MUL, .out = 12, .args = {2, 11, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_MIN, .out = 13, .args = {12, 5, -1, -1}, .random = -1, .variant = EMU_NAN_DROP}, /* scale_finite */
    {.operation = EMU_OP_CLAMP, .out = 16, .args = {13, 14, 15, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 17, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DIV, .out = 18, .args = {7, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DECODE, .out = 19, .args = {17, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 20, .args = {19, 18, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 21, .args = {7, 20, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 22, .args = {21, 5, -1, -1}, .random = -1, .variant = EMU_NAN_DROP}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 23, .args = {0, 22, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CAST, .out = 24, .args = {23, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_10}, /* codes */
};
static const emu_level quantize_nvfp4_te_cuda_levels[] = {
    {.reg = 1, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 17, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_te_cuda_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "ratio_nonzero", "tensor_multiplier", NULL,
    "amax_multiplier", "scale_raw", "scale_finite", NULL, NULL, "scale_clamped", "scale", "tensor_factor", "scale_value", "factor",
    "reciprocal", "multiplier", "scaled", "codes",
};
/* nvfp4_te_cuda, quantize */
static const emu_program quantize_nvfp4_te_cuda = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 24, .values = -1, .register_count = 25, .step_count = 17, .level_count = 2, .registers = quantize_nvfp4_te_cuda_registers,
    .steps = quantize_nvfp4_te_cuda_steps, .levels = quantize_nvfp4_te_cuda_levels, .names = quantize_nvfp4_te_cuda_names,
};
/* nvfp4_te_cuda, te */
static const emu_program dequantize_nvfp4_te_cuda_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2, .registers = dequantize_nvfp4_te_2d_ref_te_registers,
    .steps = dequantize_nvfp4_te_2d_ref_te_steps, .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nve0m3_te_names,
};
static const emu_register quantize_nvfp4_te_ref_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* reciprocal */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
/* nvfp4_te_ref, quantize */
static const emu_program quantize_nvfp4_te_ref = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 28, .values = -1, .register_count = 29, .step_count = 18, .level_count = 2, .registers = quantize_nvfp4_te_ref_registers,
    .steps = quantize_nvfp4_te_2d_ref_steps, .levels = quantize_nve0m3_levels, .names = quantize_nve0m3_names,
};
static const emu_register quantize_nvfp4_te_row_scaled_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 1, .columns = 0}, /* row_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 1, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 1, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 1, .columns = 0}, /* amax_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* reciprocal */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_te_row_scaled_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* row_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {8, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_multiplier */
    {.operation = EMU_OP_MUL, .out = 11, .args = {1, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_MIN, .out = 12, .args = {11, 5, -1, -1}, .random = -1}, /* scale_finite */
    {.operation = EMU_OP_CLAMP, .out = 15, .args = {12, 13, 14, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DIV, .out = 17, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DECODE, .out = 18, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 19, .args = {18, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 20, .args = {7, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 21, .args = {20, 5, -1, -1}, .random = -1}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 22, .args = {0, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes */
};
static const emu_level quantize_nvfp4_te_row_scaled_levels[] = {
    {.reg = 2, .rows = 1, .columns = 0, .format = &format_fp32},
    {.reg = 16, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_te_row_scaled_names[] = {
    "x", "block_amax", "row_amax", NULL, "ratio", NULL, "ratio_finite", NULL, "tensor_multiplier", NULL, "amax_multiplier", "scale_raw",
    "scale_finite", NULL, NULL, "scale_clamped", "scale", "tensor_factor", "scale_value", "factor", "reciprocal", "multiplier", "scaled",
    NULL, NULL, "clamped", NULL, "plus_zero", "codes",
};
/* nvfp4_te_row_scaled, quantize */
static const emu_program quantize_nvfp4_te_row_scaled = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = 0, .tensor_amax = -1,
    .random = -1, .codes = 28, .values = -1, .register_count = 29, .step_count = 19, .level_count = 2,
    .registers = quantize_nvfp4_te_row_scaled_registers, .steps = quantize_nvfp4_te_row_scaled_steps,
    .levels = quantize_nvfp4_te_row_scaled_levels, .names = quantize_nvfp4_te_row_scaled_names,
};
static const emu_register dequantize_nvfp4_te_row_scaled_te_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 1, .columns = 0}, /* row_amax */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale_times_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x39c30c31}, /* constant */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_level dequantize_nvfp4_te_row_scaled_te_levels[] = {
    {.reg = 1, .rows = 1, .columns = 0, .format = &format_fp32},
    {.reg = 2, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const dequantize_nvfp4_te_row_scaled_te_names[] = {
    "codes", "row_amax", "scale", "code_value", "scale_value", "scale_times_amax", NULL, "factor", "values",
};
/* nvfp4_te_row_scaled, te */
static const emu_program dequantize_nvfp4_te_row_scaled_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_DROP, .finite_only = 1, .x = -1, .tensor_amax = -1,
    .random = -1, .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2,
    .registers = dequantize_nvfp4_te_row_scaled_te_registers, .steps = dequantize_nvfp4_te_2d_ref_te_steps,
    .levels = dequantize_nvfp4_te_row_scaled_te_levels, .names = dequantize_nvfp4_te_row_scaled_te_names,
};
static const emu_register quantize_nvfp4_torchao_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_scale */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3c800000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_torchao_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_DIV, .out = 6, .args = {1, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_scale */
    {.operation = EMU_OP_DIV, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CLAMP, .out = 10, .args = {7, 8, 9, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 14, .args = {13, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_DIV, .out = 15, .args = {14, 12, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 16, .args = {0, 15, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 18, .args = {16, 17, 3, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 19, .args = {18, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_torchao_levels[] = {
    {.reg = 6, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 11, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_torchao_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "unit", NULL, "tensor_scale", "scale_raw", NULL, NULL, "scale_clamped", "scale", "scale_value",
    NULL, "tensor_multiplier", "multiplier", "scaled", NULL, "clamped", "codes",
};
/* nvfp4_torchao, quantize */
static const emu_program quantize_nvfp4_torchao = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .tensor_amax_min = 0x5280003, .x = 0,
    .tensor_amax = 1, .random = -1, .codes = 19, .values = -1, .register_count = 20, .step_count = 12, .level_count = 2,
    .registers = quantize_nvfp4_torchao_registers, .steps = quantize_nvfp4_torchao_steps, .levels = quantize_nvfp4_torchao_levels,
    .names = quantize_nvfp4_torchao_names,
};
static const emu_step dequantize_nvfp4_torchao_torchao_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e2m1}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {1, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 6, .args = {3, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* nvfp4_torchao, torchao */
static const emu_program dequantize_nvfp4_torchao_torchao = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .tensor_amax_min = 0x5280003, .x = -1,
    .tensor_amax = -1, .random = -1, .codes = 0, .values = 6, .register_count = 7, .step_count = 4, .level_count = 2,
    .registers = dequantize_nvfp4_compressed_tensors_compressed_tensors_registers, .steps = dequantize_nvfp4_torchao_torchao_steps,
    .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nvfp4_compressed_tensors_compressed_tensors_names,
};
static const emu_register quantize_nvfp4_torchao_1level_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x40c00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3c800000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc0c00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_torchao_1level_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 1, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 3, .args = {1, 2, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_CLAMP, .out = 6, .args = {3, 4, 5, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 7, .args = {6, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 8, .args = {7, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 10, .args = {9, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 11, .args = {0, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 13, .args = {11, 12, 2, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_CAST, .out = 14, .args = {13, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_torchao_1level_levels[] = {
    {.reg = 7, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_torchao_1level_names[] = {
    "x", "block_amax", NULL, "unit", NULL, NULL, "scale_clamped", "scale", "scale_value", NULL, "multiplier", "scaled", NULL, "clamped",
    "codes",
};
/* nvfp4_torchao_1level, quantize */
static const emu_program quantize_nvfp4_torchao_1level = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 14, .values = -1, .register_count = 15, .step_count = 9, .level_count = 1,
    .registers = quantize_nvfp4_torchao_1level_registers, .steps = quantize_nvfp4_torchao_1level_steps,
    .levels = quantize_nvfp4_torchao_1level_levels, .names = quantize_nvfp4_torchao_1level_names,
};
static const emu_register quantize_nvfp4_vllm_emulation_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x45280000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3e2aaaab}, /* constant */
    {.rows = 1, .columns = 16}, /* sixth */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x4cbebc20}, /* constant */
    {.rows = 1, .columns = 16}, /* guarded */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvfp4_vllm_emulation_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 6, .args = {2, 5, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* sixth */
    {.operation = EMU_OP_MUL, .out = 7, .args = {4, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_CLAMP, .out = 10, .args = {7, 8, 9, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DECODE, .out = 12, .args = {11, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_DIV, .out = 14, .args = {13, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_MUL, .out = 15, .args = {12, 14, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_SELECT, .out = 17, .args = {15, 16, 15, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* guarded */
    {.operation = EMU_OP_DIV, .out = 18, .args = {13, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 19, .args = {0, 18, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 21, .args = {19, 20, 19, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 22, .args = {21, -1, -1, -1}, .random = -1, .format = &format_e2m1, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_nvfp4_vllm_emulation_levels[] = {
    {.reg = 4, .rows = 0, .columns = 0, .format = &format_fp32},
    {.reg = 11, .rows = 1, .columns = 16, .format = &format_ue4m3},
};
static const char *const quantize_nvfp4_vllm_emulation_names[] = {
    "x", "tensor_amax", "block_amax", NULL, "tensor_multiplier", NULL, "sixth", "scale_raw", NULL, NULL, "scale_clamped", "scale",
    "scale_value", NULL, "tensor_factor", "factor", NULL, "guarded", "multiplier", "scaled", NULL, "plus_zero", "codes",
};
/* nvfp4_vllm_emulation, quantize */
static const emu_program quantize_nvfp4_vllm_emulation = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_ERROR, .finite_only = 1, .tensor_amax_min = 0x5280001,
    .x = 0, .tensor_amax = 1, .random = -1, .codes = 22, .values = -1, .register_count = 23, .step_count = 14, .level_count = 2,
    .registers = quantize_nvfp4_vllm_emulation_registers, .steps = quantize_nvfp4_vllm_emulation_steps,
    .levels = quantize_nvfp4_vllm_emulation_levels, .names = quantize_nvfp4_vllm_emulation_names,
};
static const emu_register quantize_nvufp4_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 0, .columns = 0}, /* tensor_amax */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x44440000}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x7f7fffff}, /* constant */
    {.rows = 0, .columns = 0}, /* ratio_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 0, .columns = 0}, /* tensor_multiplier */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f124925}, /* constant */
    {.rows = 0, .columns = 0}, /* amax_multiplier */
    {.rows = 1, .columns = 16}, /* scale_raw */
    {.rows = 1, .columns = 16}, /* scale_finite */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xc3e00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x43e00000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale_clamped */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 0, .columns = 0}, /* tensor_factor */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 16}, /* reciprocal */
    {.rows = 1, .columns = 16}, /* multiplier */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0xbfe00000}, /* constant */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fe00000}, /* constant */
    {.rows = 1, .columns = 1}, /* clamped */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* plus_zero */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_nvufp4_steps[] = {
    {.operation = EMU_OP_AMAX, .out = 2, .args = {0, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {3, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* ratio */
    {.operation = EMU_OP_MIN, .out = 6, .args = {4, 5, -1, -1}, .random = -1}, /* ratio_finite */
    {.operation = EMU_OP_SELECT, .out = 8, .args = {6, 7, 6, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* tensor_multiplier */
    {.operation = EMU_OP_MUL, .out = 10, .args = {8, 9, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* amax_multiplier */
    {.operation = EMU_OP_MUL, .out = 11, .args = {2, 10, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_raw */
    {.operation = EMU_OP_MIN, .out = 12, .args = {11, 5, -1, -1}, .random = -1}, /* scale_finite */
    {.operation = EMU_OP_CLAMP, .out = 15, .args = {12, 13, 14, -1}, .random = -1}, /* scale_clamped */
    {.operation = EMU_OP_CAST, .out = 16, .args = {15, -1, -1, -1}, .random = -1, .format = &format_ue4m3, .rounding = &rounding_rne, .policy = &cast_policy_3}, /* scale */
    {.operation = EMU_OP_DIV, .out = 17, .args = {7, 8, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* tensor_factor */
    {.operation = EMU_OP_DECODE, .out = 18, .args = {16, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 19, .args = {18, 17, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_DIV, .out = 20, .args = {7, 19, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* reciprocal */
    {.operation = EMU_OP_MIN, .out = 21, .args = {20, 5, -1, -1}, .random = -1}, /* multiplier */
    {.operation = EMU_OP_MUL, .out = 22, .args = {0, 21, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_CLAMP, .out = 25, .args = {22, 23, 24, -1}, .random = -1}, /* clamped */
    {.operation = EMU_OP_SELECT, .out = 27, .args = {25, 26, 25, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* plus_zero */
    {.operation = EMU_OP_CAST, .out = 28, .args = {27, -1, -1, -1}, .random = -1, .format = &format_e1m2, .rounding = &rounding_rne, .policy = &cast_policy_7}, /* codes */
};
/* nvufp4, quantize */
static const emu_program quantize_nvufp4 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = 1, .random = -1,
    .codes = 28, .values = -1, .register_count = 29, .step_count = 18, .level_count = 2, .registers = quantize_nvufp4_registers,
    .steps = quantize_nvufp4_steps, .levels = quantize_nve0m3_levels, .names = quantize_nve0m3_names,
};
static const emu_register dequantize_nvufp4_te_registers[] = {
    {.rows = 1, .columns = 1}, /* codes */
    {.rows = 0, .columns = 0}, /* tensor */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* code_value */
    {.rows = 1, .columns = 16}, /* scale_value */
    {.rows = 1, .columns = 16}, /* scale_times_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3aa72f05}, /* constant */
    {.rows = 1, .columns = 16}, /* factor */
    {.rows = 1, .columns = 1}, /* values */
};
static const emu_step dequantize_nvufp4_te_steps[] = {
    {.operation = EMU_OP_DECODE, .out = 3, .args = {0, -1, -1, -1}, .random = -1, .format = &format_e1m2}, /* code_value */
    {.operation = EMU_OP_DECODE, .out = 4, .args = {2, -1, -1, -1}, .random = -1, .format = &format_ue4m3}, /* scale_value */
    {.operation = EMU_OP_MUL, .out = 5, .args = {4, 1, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scale_times_amax */
    {.operation = EMU_OP_MUL, .out = 7, .args = {5, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* factor */
    {.operation = EMU_OP_MUL, .out = 8, .args = {3, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* values */
};
/* nvufp4, te */
static const emu_program dequantize_nvufp4_te = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = -1, .tensor_amax = -1, .random = -1,
    .codes = 0, .values = 8, .register_count = 9, .step_count = 5, .level_count = 2, .registers = dequantize_nvufp4_te_registers,
    .steps = dequantize_nvufp4_te_steps, .levels = dequantize_f46_nvint4_f46_levels, .names = dequantize_nve0m3_te_names,
};
static const emu_register quantize_ufp4_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 1}, /* rotated */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fe00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* not_nan */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_ufp4_steps[] = {
    {.operation = EMU_OP_TRANSFORM, .out = 1, .args = {0, -1, -1, -1}, .random = -1, .transform = &transform_rht16_ufp4}, /* rotated */
    {.operation = EMU_OP_AMAX, .out = 2, .args = {1, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 4, .args = {2, 3, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 6, .args = {4, 5, 4, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale */
    {.operation = EMU_OP_DIV, .out = 7, .args = {1, 6, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 9, .args = {7, 8, 7, -1}, .random = -1}, /* not_nan */
    {.operation = EMU_OP_CAST, .out = 10, .args = {9, -1, -1, -1}, .random = -1, .format = &format_e1m2, .rounding = &rounding_rne, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_ufp4_levels[] = {
    {.reg = 6, .rows = 1, .columns = 16, .format = &format_fp32},
};
static const char *const quantize_ufp4_names[] = {
    "x", "rotated", "block_amax", NULL, "unit", NULL, "scale", "scaled", NULL, "not_nan", "codes",
};
/* ufp4, quantize */
static const emu_program quantize_ufp4 = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = -1, .random = -1,
    .codes = 10, .values = -1, .register_count = 11, .step_count = 7, .level_count = 1, .registers = quantize_ufp4_registers,
    .steps = quantize_ufp4_steps, .levels = quantize_ufp4_levels, .names = quantize_ufp4_names,
};
static const emu_register quantize_ufp4_sr_registers[] = {
    {.rows = 1, .columns = 1}, /* x */
    {.rows = 1, .columns = 1}, /* random */
    {.rows = 1, .columns = 1}, /* rotated */
    {.rows = 1, .columns = 16}, /* block_amax */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3fe00000}, /* constant */
    {.rows = 1, .columns = 16}, /* unit */
    {.rows = 0, .columns = 0, .is_constant = 1, .bits = 0x3f800000}, /* constant */
    {.rows = 1, .columns = 16}, /* scale */
    {.rows = 1, .columns = 1}, /* scaled */
    {.rows = 0, .columns = 0, .is_constant = 1}, /* constant */
    {.rows = 1, .columns = 1}, /* not_nan */
    {.rows = 1, .columns = 1}, /* codes */
};
static const emu_step quantize_ufp4_sr_steps[] = {
    {.operation = EMU_OP_TRANSFORM, .out = 2, .args = {0, -1, -1, -1}, .random = -1, .transform = &transform_rht16_ufp4}, /* rotated */
    {.operation = EMU_OP_AMAX, .out = 3, .args = {2, -1, -1, -1}, .random = -1}, /* block_amax */
    {.operation = EMU_OP_DIV, .out = 5, .args = {3, 4, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* unit */
    {.operation = EMU_OP_SELECT, .out = 7, .args = {5, 6, 5, -1}, .random = -1, .variant = EMU_TEST_ZERO}, /* scale */
    {.operation = EMU_OP_DIV, .out = 8, .args = {2, 7, -1, -1}, .random = -1, .format = &format_fp32, .rounding = &rounding_rne}, /* scaled */
    {.operation = EMU_OP_SELECT, .out = 10, .args = {8, 9, 8, -1}, .random = -1}, /* not_nan */
    {.operation = EMU_OP_CAST, .out = 11, .args = {10, -1, -1, -1}, .random = 1, .format = &format_e1m2, .rounding = &rounding_sr_add8, .policy = &cast_policy_1}, /* codes */
};
static const emu_level quantize_ufp4_sr_levels[] = {
    {.reg = 7, .rows = 1, .columns = 16, .format = &format_fp32},
};
static const char *const quantize_ufp4_sr_names[] = {
    "x", "random", "rotated", "block_amax", NULL, "unit", NULL, "scale", "scaled", NULL, "not_nan", "codes",
};
/* ufp4_sr, quantize */
static const emu_program quantize_ufp4_sr = {
    .arithmetic = &format_fp32, .tile_rows = 1, .tile_columns = 16, .tail = EMU_TAIL_KEEP, .x = 0, .tensor_amax = -1, .random = 1,
    .codes = 11, .values = -1, .register_count = 12, .step_count = 7, .level_count = 1, .registers = quantize_ufp4_sr_registers,
    .steps = quantize_ufp4_sr_steps, .levels = quantize_ufp4_sr_levels, .names = quantize_ufp4_sr_names,
};
/* ada_fp8 (reported): Ada mma FP8: two fused steps of 16 products, 13 bits of the result kept */
static const emu_datapath datapath_ada_fp8 = {
    .result = &format_fp32, .k = 32, .step = 16, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 13,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 13, .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_ada_fp8[] = {
    &format_e4m3, &format_e4m3, &format_e4m3, &format_e5m2, &format_e5m2, &format_e4m3, &format_e5m2, &format_e5m2,
};
static const emu_choices choices_ada_fp8 = {pairs_ada_fp8, 4, NULL, 0, NULL, 0};
/* blackwell_e0m3_f34 (inferred): E0M3 on Blackwell, reading 1: the 49-bit adder gives up one fraction bit */
static const emu_datapath datapath_blackwell_e0m3_f34 = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_STATED, .frac_bits = 34, .integer_rule = EMU_STATED, .integer_bits = 14,
    .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz,
    .keep = 23, .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_blackwell_e0m3_f34[] = {
    &format_e0m3, &format_e0m3, &format_e0m3, &format_e2m1, &format_e2m1, &format_e0m3,
};
static const emu_format *const scales_blackwell_e0m3_f34[] = {&format_ue4m3};
static const int32_t blocks_blackwell_e0m3_f34[] = {16};
static const emu_choices choices_blackwell_e0m3_f34 = {
    pairs_blackwell_e0m3_f34, 3, scales_blackwell_e0m3_f34, 1, blocks_blackwell_e0m3_f34, 1,
};
/* blackwell_e0m3_f35 (inferred): E0M3 on Blackwell, reading 2: an adder of 50 bits */
static const emu_datapath datapath_blackwell_e0m3_f35 = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_STATED, .frac_bits = 35, .integer_rule = EMU_STATED, .integer_bits = 14,
    .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz,
    .keep = 23, .nan_code = 0x7fffffff,
};
/* blackwell_e0m3_raised (inferred): E0M3 on Blackwell, reading 3: E0M3 is E1M2 with the exponent raised by 4, so 49 bits are enough */
static const emu_datapath datapath_blackwell_e0m3_raised = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .exponent_raise = 4, .frac_rule = EMU_STATED, .frac_bits = 38, .integer_rule = EMU_STATED, .integer_bits = 10,
    .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz,
    .keep = 23, .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_blackwell_e0m3_raised[] = {&format_e0m3, &format_e0m3};
static const emu_choices choices_blackwell_e0m3_raised = {
    pairs_blackwell_e0m3_raised, 1, scales_blackwell_e0m3_f34, 1, blocks_blackwell_e0m3_f34, 1,
};
/* blackwell_e0m3_wrap (inferred): E0M3 on Blackwell, reading 4: the 49-bit adder wraps at full scale */
static const emu_datapath datapath_blackwell_e0m3_wrap = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_STATED, .frac_bits = 35, .integer_rule = EMU_STATED, .integer_bits = 13,
    .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .wraps = 1, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED,
    .rounding = &rounding_rz, .keep = 23, .nan_code = 0x7fffffff,
};
/* blackwell_f8f6f4 (reported): Blackwell kind::f8f6f4: 32 products of 4- to 8-bit floats, no scales */
static const emu_datapath datapath_blackwell_f8f6f4 = {
    .result = &format_fp32, .k = 32, .step = 32, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 25,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 23, .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_blackwell_f8f6f4[] = {
    &format_e2m1, &format_e2m1, &format_e2m1, &format_e2m3, &format_e2m1, &format_e3m2, &format_e2m1, &format_e4m3, &format_e2m1,
    &format_e5m2, &format_e2m3, &format_e2m1, &format_e2m3, &format_e2m3, &format_e2m3, &format_e3m2, &format_e2m3, &format_e4m3,
    &format_e2m3, &format_e5m2, &format_e3m2, &format_e2m1, &format_e3m2, &format_e2m3, &format_e3m2, &format_e3m2, &format_e3m2,
    &format_e4m3, &format_e3m2, &format_e5m2, &format_e4m3, &format_e2m1, &format_e4m3, &format_e2m3, &format_e4m3, &format_e3m2,
    &format_e4m3, &format_e4m3, &format_e4m3, &format_e5m2, &format_e5m2, &format_e2m1, &format_e5m2, &format_e2m3, &format_e5m2,
    &format_e3m2, &format_e5m2, &format_e4m3, &format_e5m2, &format_e5m2,
};
static const emu_choices choices_blackwell_f8f6f4 = {pairs_blackwell_f8f6f4, 25, NULL, 0, NULL, 0};
/* blackwell_f8f6f4_f16 (reported): Blackwell kind::f8f6f4 with FP16 C and D */
static const emu_datapath datapath_blackwell_f8f6f4_f16 = {
    .result = &format_fp16, .k = 32, .step = 32, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 25,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rne, .keep = 10, .nan_code = 0x7fff,
};
/* blackwell_mxf4_b32_ue8m0 (reported): Blackwell kind::mxf4: 64 products of E2M1, one E8M0 scale per 32 */
static const emu_datapath datapath_blackwell_mxf4_b32_ue8m0 = {
    .widest_scale = &format_e8m0, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .frac_rule = EMU_STATED, .frac_bits = 35, .integer_rule = EMU_STATED, .integer_bits = 13, .floor_rule = EMU_DERIVED,
    .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 23,
    .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_blackwell_mxf4_b32_ue8m0[] = {&format_e2m1, &format_e2m1};
static const emu_format *const scales_blackwell_mxf4_b32_ue8m0[] = {&format_e8m0};
static const int32_t blocks_blackwell_mxf4_b32_ue8m0[] = {32};
static const emu_choices choices_blackwell_mxf4_b32_ue8m0 = {
    pairs_blackwell_mxf4_b32_ue8m0, 1, scales_blackwell_mxf4_b32_ue8m0, 1, blocks_blackwell_mxf4_b32_ue8m0, 1,
};
/* blackwell_mxf4nvf4_b16_ue4m3 (reported): Blackwell kind::mxf4nvf4: 64 products of E2M1, one UE4M3 scale per 16 */
static const emu_datapath datapath_blackwell_mxf4nvf4_b16_ue4m3 = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_STATED, .frac_bits = 35, .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED,
    .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 23,
    .nan_code = 0x7fffffff,
};
static const emu_choices choices_blackwell_mxf4nvf4_b16_ue4m3 = {
    pairs_blackwell_mxf4_b32_ue8m0, 1, scales_blackwell_e0m3_f34, 1, blocks_blackwell_e0m3_f34, 1,
};
static const emu_choices choices_blackwell_mxf4nvf4_b16_ue8m0 = {
    pairs_blackwell_mxf4_b32_ue8m0, 1, scales_blackwell_mxf4_b32_ue8m0, 1, blocks_blackwell_e0m3_f34, 1,
};
/* blackwell_mxf8f6f4 (reported): Blackwell kind::mxf8f6f4: 32 products of 4- to 8-bit floats, one E8M0 scale per 32 */
static const emu_datapath datapath_blackwell_mxf8f6f4 = {
    .widest_scale = &format_e8m0, .result = &format_fp32, .k = 32, .step = 32, .group = 1, .split = 1, .apply = EMU_APPLY_PRODUCT,
    .frac_rule = EMU_STATED, .frac_bits = 25, .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ,
    .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 23, .nan_code = 0x7fffffff,
};
static const emu_choices choices_blackwell_mxf8f6f4 = {
    pairs_blackwell_f8f6f4, 25, scales_blackwell_mxf4_b32_ue8m0, 1, blocks_blackwell_mxf4_b32_ue8m0, 1,
};
/* cdna3_fp8 (reported): CDNA3 MFMA FP8: two steps of 16 products in two interleaved parts, C joins late */
static const emu_datapath datapath_cdna3_fp8 = {
    .result = &format_fp32, .k = 32, .step = 16, .group = 1, .split = 2, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 24,
    .integer_rule = EMU_UNLIMITED, .floor_rule = EMU_UNLIMITED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_REALIGNED, .f2 = 31, .drop_below = 25, .rounding = &rounding_rne, .keep = 23, .any_nan = 1, .nan_code = 0x7fc00000,
};
static const emu_format *const pairs_cdna3_fp8[] = {
    &format_e4m3fnuz, &format_e4m3fnuz, &format_e4m3fnuz, &format_e5m2fnuz, &format_e5m2fnuz, &format_e4m3fnuz, &format_e5m2fnuz,
    &format_e5m2fnuz,
};
static const emu_choices choices_cdna3_fp8 = {pairs_cdna3_fp8, 4, NULL, 0, NULL, 0};
/* cheap (proposed): Proposed: one binary32 addition per group */
static const emu_datapath datapath_cheap = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 16, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_UNLIMITED, .integer_rule = EMU_UNLIMITED, .floor_rule = EMU_UNLIMITED,
    .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rne, .keep = 23,
    .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_cheap[] = {
    &format_e1m2, &format_e1m2, &format_e1m2, &format_int4, &format_e1m2, &format_e2m1, &format_e1m2, &format_e0m3, &format_int4,
    &format_e1m2, &format_int4, &format_int4, &format_int4, &format_e2m1, &format_int4, &format_e0m3, &format_e2m1, &format_e1m2,
    &format_e2m1, &format_int4, &format_e2m1, &format_e2m1, &format_e2m1, &format_e0m3, &format_e0m3, &format_e1m2, &format_e0m3,
    &format_int4, &format_e0m3, &format_e2m1, &format_e0m3, &format_e0m3,
};
static const emu_format *const scales_cheap[] = {&format_ue4m3, &format_ue5m3, &format_e8m0};
static const int32_t blocks_cheap[] = {16, 32};
static const emu_choices choices_cheap = {pairs_cheap, 16, scales_cheap, 3, blocks_cheap, 2};
/* hopper_fp16 (reported): Hopper wgmma FP16 and BF16: 16 products */
static const emu_datapath datapath_hopper_fp16 = {
    .result = &format_fp32, .k = 16, .step = 16, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 25,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 23, .nan_code = 0x7fffffff,
};
static const emu_format *const pairs_hopper_fp16[] = {&format_fp16, &format_fp16, &format_bf16, &format_bf16};
static const emu_choices choices_hopper_fp16 = {pairs_hopper_fp16, 2, NULL, 0, NULL, 0};
/* hopper_fp16_f16 (reported): Hopper wgmma FP16 with FP16 C and D */
static const emu_datapath datapath_hopper_fp16_f16 = {
    .result = &format_fp16, .k = 16, .step = 16, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 25,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rne, .keep = 10, .nan_code = 0x7fff,
};
static const emu_format *const pairs_hopper_fp16_f16[] = {&format_fp16, &format_fp16};
static const emu_choices choices_hopper_fp16_f16 = {pairs_hopper_fp16_f16, 1, NULL, 0, NULL, 0};
/* hopper_fp8 (reported): Hopper wgmma FP8: 32 products, 13 bits of the result kept */
static const emu_datapath datapath_hopper_fp8 = {
    .result = &format_fp32, .k = 32, .step = 32, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 13,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 13, .nan_code = 0x7fffffff,
};
/* hopper_fp8_f16 (reported): Hopper wgmma FP8 with FP16 C and D */
static const emu_datapath datapath_hopper_fp8_f16 = {
    .result = &format_fp16, .k = 32, .step = 32, .group = 1, .split = 1, .apply = EMU_APPLY_NONE, .frac_rule = EMU_STATED, .frac_bits = 13,
    .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rne, .keep = 10, .nan_code = 0x7fff,
};
/* ideal (proposed): Proposed: the exact sum with C, rounded once per instruction */
static const emu_datapath datapath_ideal = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_UNLIMITED, .integer_rule = EMU_UNLIMITED, .floor_rule = EMU_UNLIMITED,
    .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rne, .keep = 23,
    .nan_code = 0x7fffffff,
};
/* int64 (proposed): Proposed: a 64-bit integer accumulator through the whole of K, rounded once at the end */
static const emu_datapath datapath_int64 = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_UNLIMITED, .integer_rule = EMU_UNLIMITED, .floor_rule = EMU_UNLIMITED,
    .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_LAST, .accumulator_bits = 64, .rounding = &rounding_rne,
    .keep = 23, .nan_code = 0x7fffffff,
};
static const emu_choices choices_int64 = {pairs_cheap, 16, scales_blackwell_e0m3_f34, 1, blocks_cheap, 2};
/* late_c (proposed): Proposed: the exact sum is rounded, then C is added and rounded */
static const emu_datapath datapath_late_c = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_UNLIMITED, .integer_rule = EMU_UNLIMITED, .floor_rule = EMU_UNLIMITED,
    .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1, .c_kind = EMU_C_ADDED, .rounding = &rounding_rne, .keep = 23,
    .nan_code = 0x7fffffff,
};
/* nv_like_exact (proposed): Proposed: today's FP4 datapath with as many fraction bits as the product sum needs */
static const emu_datapath datapath_nv_like_exact = {
    .widest_scale = &format_ue4m3, .result = &format_fp32, .k = 64, .step = 64, .group = 16, .split = 1, .apply = EMU_APPLY_GROUP,
    .ignores_unused_bits = 1, .frac_rule = EMU_DERIVED, .integer_rule = EMU_DERIVED, .floor_rule = EMU_DERIVED, .align_mode = EMU_ALIGN_RZ,
    .cancelled_group_counts = 1, .c_kind = EMU_C_ALIGNED, .rounding = &rounding_rz, .keep = 23, .nan_code = 0x7fffffff,
};
/* promote (proposed): Proposed: binary32 block scales, one multiplication and one addition in binary32 per block */
static const emu_datapath datapath_promote = {
    .widest_scale = &format_fp32, .result = &format_fp32, .k = 64, .split = 1, .apply = EMU_APPLY_PROMOTE, .frac_rule = EMU_UNLIMITED,
    .integer_rule = EMU_UNLIMITED, .floor_rule = EMU_UNLIMITED, .align_mode = EMU_ALIGN_RZ, .cancelled_group_counts = 1,
    .c_kind = EMU_C_ALIGNED, .scale_product = &rounding_rne, .term = &rounding_rne, .sum = &rounding_rne, .rounding = &rounding_rne,
    .keep = 23, .ieee_zero = 1, .nan_code = 0x7fffffff,
};
static const emu_format *const scales_promote[] = {&format_fp32};
static const int32_t blocks_promote[] = {16, 32, 64};
static const emu_choices choices_promote = {pairs_cheap, 16, scales_promote, 1, blocks_promote, 3};

const emu_named_format emu_formats[] = {
    {"bf16", "bf16", &format_bf16},
    {"e0m3", "e0m3", &format_e0m3},
    {"e1m2", "e1m2", &format_e1m2},
    {"e2m1", "e2m1", &format_e2m1},
    {"e2m3", "e2m3", &format_e2m3},
    {"e3m0", "e3m0", &format_e3m0},
    {"e3m2", "e3m2", &format_e3m2},
    {"e4m3", "e4m3", &format_e4m3},
    {"e4m3fnuz", "e4m3fnuz", &format_e4m3fnuz},
    {"e5m2", "e5m2", &format_e5m2},
    {"e5m2fnuz", "e5m2fnuz", &format_e5m2fnuz},
    {"e6m2", "e6m2", &format_e6m2},
    {"e8m0", "e8m0", &format_e8m0},
    {"fp16", "fp16", &format_fp16},
    {"fp32", "fp32", &format_fp32},
    {"fp64", "fp64", &format_fp64},
    {"int4", "int4", &format_int4},
    {"int8", "int8", &format_int8},
    {"nf4", "nf4", &format_nf4},
    {"ue1m0", "ue1m0", &format_ue1m0},
    {"ue4m3", "ue4m3", &format_ue4m3},
    {"ue5m3", "ue5m3", &format_ue5m3},
    {"uint1", "uint1", &format_uint1},
    {"bfloat16", "bf16", &format_bf16},
    {"int4sym", "e0m3", &format_e0m3},
    {"float4_e2m1fn", "e2m1", &format_e2m1},
    {"e2m1fn", "e2m1", &format_e2m1},
    {"fp4", "e2m1", &format_e2m1},
    {"float6_e2m3fn", "e2m3", &format_e2m3},
    {"e2m3fn", "e2m3", &format_e2m3},
    {"fp6_e2m3", "e2m3", &format_e2m3},
    {"float6_e3m2fn", "e3m2", &format_e3m2},
    {"e3m2fn", "e3m2", &format_e3m2},
    {"fp6_e3m2", "e3m2", &format_e3m2},
    {"e4m3fn", "e4m3", &format_e4m3},
    {"float8_e4m3fn", "e4m3", &format_e4m3},
    {"fp8_e4m3", "e4m3", &format_e4m3},
    {"float8_e4m3fnuz", "e4m3fnuz", &format_e4m3fnuz},
    {"float8_e5m2", "e5m2", &format_e5m2},
    {"fp8_e5m2", "e5m2", &format_e5m2},
    {"float8_e5m2fnuz", "e5m2fnuz", &format_e5m2fnuz},
    {"ue6m2", "e6m2", &format_e6m2},
    {"ue8m0", "e8m0", &format_e8m0},
    {"e8m0fnu", "e8m0", &format_e8m0},
    {"float8_e8m0fnu", "e8m0", &format_e8m0},
    {"binary16", "fp16", &format_fp16},
    {"float16", "fp16", &format_fp16},
    {"f16", "fp16", &format_fp16},
    {"half", "fp16", &format_fp16},
    {"binary32", "fp32", &format_fp32},
    {"float32", "fp32", &format_fp32},
    {"f32", "fp32", &format_fp32},
    {"binary64", "fp64", &format_fp64},
    {"float64", "fp64", &format_fp64},
    {"f64", "fp64", &format_fp64},
    {"int4_tc", "int4", &format_int4},
    {"normalfloat4", "nf4", &format_nf4},
    {NULL, NULL, NULL},
};

const emu_named_rounding emu_roundings[] = {
    {"odd", "odd", &rounding_odd},
    {"odd_by_parity", "odd_by_parity", &rounding_odd_by_parity},
    {"rd", "rd", &rounding_rd},
    {"rna", "rna", &rounding_rna},
    {"rne", "rne", &rounding_rne},
    {"ru", "ru", &rounding_ru},
    {"rz", "rz", &rounding_rz},
    {"sr_add16", "sr_add16", &rounding_sr_add16},
    {"sr_add8", "sr_add8", &rounding_sr_add8},
    {"sr_amd22", "sr_amd22", &rounding_sr_amd22},
    {"sr_b200_bitrev", "sr_b200_bitrev", &rounding_sr_add16},
    {"sr_cmp8", "sr_cmp8", &rounding_sr_cmp8},
    {"sr_half8", "sr_half8", &rounding_sr_half8},
    {"sr_nearest8", "sr_nearest8", &rounding_sr_nearest8},
    {"sr_ptx_share16", "sr_ptx_share16", &rounding_sr_add16},
    {"sr_ptx_split8", "sr_ptx_split8", &rounding_sr_add8},
    {"sr_te_fma8", "sr_te_fma8", &rounding_sr_te_fma8},
    {"sr_te_sw8", "sr_te_sw8", &rounding_sr_te_fma8},
    {"rto", "odd", &rounding_odd},
    {"rod", "odd", &rounding_odd},
    {"rm", "rd", &rounding_rd},
    {"rdn", "rd", &rounding_rd},
    {"rmm", "rna", &rounding_rna},
    {"rha", "rna", &rounding_rna},
    {"rn", "rne", &rounding_rne},
    {"rte", "rne", &rounding_rne},
    {"rp", "ru", &rounding_ru},
    {"rup", "ru", &rounding_ru},
    {"rtz", "rz", &rounding_rz},
    {"toward_zero", "rz", &rounding_rz},
    {"sr_fma8", "sr_te_fma8", &rounding_sr_te_fma8},
    {NULL, NULL, NULL},
};

const emu_named_word emu_words[] = {
    {"sr_b200_bitrev", "sr_b200_bitrev", &word_sr_b200_bitrev},
    {"sr_ptx_share16", "sr_ptx_share16", &word_sr_ptx_share16},
    {"sr_ptx_split8", "sr_ptx_split8", &word_sr_ptx_split8},
    {"sr_te_sw8", "sr_te_sw8", &word_sr_te_sw8},
    {NULL, NULL, NULL},
};

const emu_named_policy emu_policies[] = {
    /* amd (inferred): HIP host model with saturation: the sign of NaN is kept; E4M3 overflow is NaN all the same */
    {"amd", "e2m1", &policy_amd_e2m1},
    {"amd_hip_host", "e2m1", &policy_amd_e2m1},
    {"hip", "e2m1", &policy_amd_e2m1},
    {"amd", "e2m3", &policy_amd_e2m3},
    {"amd_hip_host", "e2m3", &policy_amd_e2m3},
    {"hip", "e2m3", &policy_amd_e2m3},
    {"amd", "e3m2", &policy_amd_e2m3},
    {"amd_hip_host", "e3m2", &policy_amd_e2m3},
    {"hip", "e3m2", &policy_amd_e2m3},
    {"amd", "e4m3", &policy_amd_e4m3},
    {"amd_hip_host", "e4m3", &policy_amd_e4m3},
    {"hip", "e4m3", &policy_amd_e4m3},
    {"amd", "e5m2", &policy_amd_e5m2},
    {"amd_hip_host", "e5m2", &policy_amd_e5m2},
    {"hip", "e5m2", &policy_amd_e5m2},
    /* gfloat_nosat (measured): gfloat without saturation */
    {"gfloat_nosat", "e4m3", &policy_gfloat_nosat_e4m3},
    {"gfloat_nosat", "e5m2", &policy_gfloat_nosat_e5m2},
    /* gfloat_sat (measured): gfloat with saturation: NaN to a format without one raises */
    {"gfloat_sat", "e2m1", &policy_gfloat_sat_e2m1},
    {"gfloat_sat", "e2m3", &policy_gfloat_sat_e2m1},
    {"gfloat_sat", "e3m2", &policy_gfloat_sat_e2m1},
    {"gfloat_sat", "e4m3", &policy_gfloat_sat_e4m3},
    {"gfloat_sat", "e5m2", &policy_gfloat_sat_e4m3},
    /* ieee (proposed): IEEE 754 conversion: overflow as the rounding mode says; every NaN becomes the canonical quiet one */
    {"ieee", "bf16", &policy_ieee_bf16},
    {"ieee_754", "bf16", &policy_ieee_bf16},
    {"ieee", "fp16", &policy_ieee_fp16},
    {"ieee_754", "fp16", &policy_ieee_fp16},
    {"ieee", "fp32", &policy_ieee_fp32},
    {"ieee_754", "fp32", &policy_ieee_fp32},
    {"ieee", "fp64", &policy_ieee_fp64},
    {"ieee_754", "fp64", &policy_ieee_fp64},
    /* ml_dtypes (measured): ml_dtypes from binary32: 4- and 6-bit formats saturate, 8-bit ones do not; NaN to a format without one is a zero */
    {"ml_dtypes", "e2m1", &policy_ml_dtypes_e2m1},
    {"ml_dtypes", "e2m3", &policy_ml_dtypes_e2m3},
    {"ml_dtypes", "e3m2", &policy_ml_dtypes_e2m3},
    {"ml_dtypes", "e4m3", &policy_ml_dtypes_e4m3},
    {"ml_dtypes", "e4m3fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"ml_dtypes", "e5m2", &policy_ml_dtypes_e5m2},
    {"ml_dtypes", "e5m2fnuz", &policy_ml_dtypes_e4m3fnuz},
    /* nvidia (proposed): CUDA and PTX with saturation: finite results, the sign of NaN is lost */
    {"nvidia", "bf16", &policy_nvidia_bf16},
    {"ptx", "bf16", &policy_nvidia_bf16},
    {"cuda", "bf16", &policy_nvidia_bf16},
    {"nvidia", "e0m3", &policy_nvidia_e0m3},
    {"ptx", "e0m3", &policy_nvidia_e0m3},
    {"cuda", "e0m3", &policy_nvidia_e0m3},
    {"nvidia", "e1m2", &policy_nvidia_e0m3},
    {"ptx", "e1m2", &policy_nvidia_e0m3},
    {"cuda", "e1m2", &policy_nvidia_e0m3},
    {"nvidia", "e2m1", &policy_nvidia_e0m3},
    {"ptx", "e2m1", &policy_nvidia_e0m3},
    {"cuda", "e2m1", &policy_nvidia_e0m3},
    {"nvidia", "e2m3", &policy_nvidia_e2m3},
    {"ptx", "e2m3", &policy_nvidia_e2m3},
    {"cuda", "e2m3", &policy_nvidia_e2m3},
    {"nvidia", "e3m0", &policy_nvidia_e0m3},
    {"ptx", "e3m0", &policy_nvidia_e0m3},
    {"cuda", "e3m0", &policy_nvidia_e0m3},
    {"nvidia", "e3m2", &policy_nvidia_e2m3},
    {"ptx", "e3m2", &policy_nvidia_e2m3},
    {"cuda", "e3m2", &policy_nvidia_e2m3},
    {"nvidia", "e4m3", &policy_nvidia_e4m3},
    {"ptx", "e4m3", &policy_nvidia_e4m3},
    {"cuda", "e4m3", &policy_nvidia_e4m3},
    {"nvidia", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"ptx", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"cuda", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"nvidia", "e5m2", &policy_nvidia_e4m3},
    {"ptx", "e5m2", &policy_nvidia_e4m3},
    {"cuda", "e5m2", &policy_nvidia_e4m3},
    {"nvidia", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    {"ptx", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    {"cuda", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    {"nvidia", "e6m2", &policy_gfloat_sat_e4m3},
    {"ptx", "e6m2", &policy_gfloat_sat_e4m3},
    {"cuda", "e6m2", &policy_gfloat_sat_e4m3},
    {"nvidia", "e8m0", &policy_gfloat_sat_e4m3},
    {"ptx", "e8m0", &policy_gfloat_sat_e4m3},
    {"cuda", "e8m0", &policy_gfloat_sat_e4m3},
    {"nvidia", "fp16", &policy_nvidia_bf16},
    {"ptx", "fp16", &policy_nvidia_bf16},
    {"cuda", "fp16", &policy_nvidia_bf16},
    {"nvidia", "fp32", &policy_nvidia_fp32},
    {"ptx", "fp32", &policy_nvidia_fp32},
    {"cuda", "fp32", &policy_nvidia_fp32},
    {"nvidia", "fp64", &policy_nvidia_fp32},
    {"ptx", "fp64", &policy_nvidia_fp32},
    {"cuda", "fp64", &policy_nvidia_fp32},
    {"nvidia", "int4", &policy_nvidia_e0m3},
    {"ptx", "int4", &policy_nvidia_e0m3},
    {"cuda", "int4", &policy_nvidia_e0m3},
    {"nvidia", "int8", &policy_nvidia_e4m3},
    {"ptx", "int8", &policy_nvidia_e4m3},
    {"cuda", "int8", &policy_nvidia_e4m3},
    {"nvidia", "nf4", &policy_nvidia_nf4},
    {"ptx", "nf4", &policy_nvidia_nf4},
    {"cuda", "nf4", &policy_nvidia_nf4},
    {"nvidia", "ue1m0", &policy_nvidia_ue1m0},
    {"ptx", "ue1m0", &policy_nvidia_ue1m0},
    {"cuda", "ue1m0", &policy_nvidia_ue1m0},
    {"nvidia", "ue4m3", &policy_nvidia_e4m3},
    {"ptx", "ue4m3", &policy_nvidia_e4m3},
    {"cuda", "ue4m3", &policy_nvidia_e4m3},
    {"nvidia", "ue5m3", &policy_gfloat_sat_e4m3},
    {"ptx", "ue5m3", &policy_gfloat_sat_e4m3},
    {"cuda", "ue5m3", &policy_gfloat_sat_e4m3},
    {"nvidia", "uint1", &policy_nvidia_ue1m0},
    {"ptx", "uint1", &policy_nvidia_ue1m0},
    {"cuda", "uint1", &policy_nvidia_ue1m0},
    /* nvidia_nosat (measured): CUDA without saturation: overflow to Inf or NaN as the rounding mode says, the sign of NaN is lost */
    {"nvidia_nosat", "e4m3", &policy_nvidia_nosat_e4m3},
    {"cuda_nosat", "e4m3", &policy_nvidia_nosat_e4m3},
    {"nvidia_nosat", "e5m2", &policy_nvidia_nosat_e5m2},
    {"cuda_nosat", "e5m2", &policy_nvidia_nosat_e5m2},
    {"nvidia_nosat", "e8m0", &policy_gfloat_nosat_e4m3},
    {"cuda_nosat", "e8m0", &policy_gfloat_nosat_e4m3},
    {"nvidia_nosat", "ue5m3", &policy_gfloat_nosat_e4m3},
    {"cuda_nosat", "ue5m3", &policy_gfloat_nosat_e4m3},
    /* ocp_saturate (proposed): OCP formats with overflow clamped; what MX v1.0 leaves to the implementation stays open */
    {"ocp_saturate", "bf16", &policy_ocp_saturate_bf16},
    {"ocp", "bf16", &policy_ocp_saturate_bf16},
    {"ocp_saturate", "e0m3", &policy_ocp_saturate_e0m3},
    {"ocp", "e0m3", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "e1m2", &policy_ocp_saturate_e0m3},
    {"ocp", "e1m2", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "e2m1", &policy_ocp_saturate_e0m3},
    {"ocp", "e2m1", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "e2m3", &policy_ocp_saturate_e0m3},
    {"ocp", "e2m3", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "e3m0", &policy_ocp_saturate_e0m3},
    {"ocp", "e3m0", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "e3m2", &policy_ocp_saturate_e0m3},
    {"ocp", "e3m2", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "e4m3", &policy_nvidia_e4m3},
    {"ocp", "e4m3", &policy_nvidia_e4m3},
    {"ocp_saturate", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"ocp", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"ocp_saturate", "e5m2", &policy_ocp_saturate_e5m2},
    {"ocp", "e5m2", &policy_ocp_saturate_e5m2},
    {"ocp_saturate", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    {"ocp", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    {"ocp_saturate", "e6m2", &policy_gfloat_sat_e4m3},
    {"ocp", "e6m2", &policy_gfloat_sat_e4m3},
    {"ocp_saturate", "e8m0", &policy_gfloat_sat_e4m3},
    {"ocp", "e8m0", &policy_gfloat_sat_e4m3},
    {"ocp_saturate", "fp16", &policy_ocp_saturate_fp16},
    {"ocp", "fp16", &policy_ocp_saturate_fp16},
    {"ocp_saturate", "fp32", &policy_ocp_saturate_fp32},
    {"ocp", "fp32", &policy_ocp_saturate_fp32},
    {"ocp_saturate", "fp64", &policy_ocp_saturate_fp64},
    {"ocp", "fp64", &policy_ocp_saturate_fp64},
    {"ocp_saturate", "int4", &policy_ocp_saturate_e0m3},
    {"ocp", "int4", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "int8", &policy_ocp_saturate_e0m3},
    {"ocp", "int8", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "nf4", &policy_ocp_saturate_e0m3},
    {"ocp", "nf4", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "ue1m0", &policy_ocp_saturate_e0m3},
    {"ocp", "ue1m0", &policy_ocp_saturate_e0m3},
    {"ocp_saturate", "ue4m3", &policy_nvidia_e4m3},
    {"ocp", "ue4m3", &policy_nvidia_e4m3},
    {"ocp_saturate", "ue5m3", &policy_gfloat_sat_e4m3},
    {"ocp", "ue5m3", &policy_gfloat_sat_e4m3},
    {"ocp_saturate", "uint1", &policy_ocp_saturate_e0m3},
    {"ocp", "uint1", &policy_ocp_saturate_e0m3},
    /* onnx_reference_nosat (measured): ONNX reference evaluator, Cast with saturate = 0 */
    {"onnx_reference_nosat", "e4m3", &policy_ml_dtypes_e4m3},
    {"onnx_reference_nosat", "e4m3fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"onnx_reference_nosat", "e5m2", &policy_ml_dtypes_e5m2},
    {"onnx_reference_nosat", "e5m2fnuz", &policy_ml_dtypes_e4m3fnuz},
    /* onnx_reference_sat (measured): ONNX reference evaluator, Cast with saturate = 1; NaN to E2M1 is a zero */
    {"onnx_reference_sat", "e2m1", &policy_ml_dtypes_e2m1},
    {"onnx_reference", "e2m1", &policy_ml_dtypes_e2m1},
    {"onnx_reference_sat", "e4m3", &policy_onnx_reference_sat_e4m3},
    {"onnx_reference", "e4m3", &policy_onnx_reference_sat_e4m3},
    {"onnx_reference_sat", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"onnx_reference", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"onnx_reference_sat", "e5m2", &policy_amd_e5m2},
    {"onnx_reference", "e5m2", &policy_amd_e5m2},
    {"onnx_reference_sat", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    {"onnx_reference", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    /* onnx_spec (standard): ONNX documentation: E2M1 saturates, NaN is 6 of either sign */
    {"onnx_spec", "e2m1", &policy_nvidia_e0m3},
    /* p3109_sat_finite (proposed): IEEE P3109 draft, SatFinite: everything but NaN is clamped to the finite range */
    {"p3109_sat_finite", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"p3109_sat_finite", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    /* p3109_sat_none (proposed): IEEE P3109 draft, SatNone: overflow to Inf where the format has it and the mode goes there, else to the maximum */
    {"p3109_sat_none", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"p3109_sat_none", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    /* p3109_sat_propagate (proposed): IEEE P3109 draft, SatPropagate: finite overflow to the maximum, Inf stays Inf where the format has it */
    {"p3109_sat_propagate", "e4m3fnuz", &policy_nvidia_e4m3fnuz},
    {"p3109_sat_propagate", "e5m2fnuz", &policy_nvidia_e4m3fnuz},
    /* riscv_zvfofp8min (standard): RISC-V Zvfofp8min (draft 0.9) without saturation: one NaN, 0x7F, for overflow of E4M3 too */
    {"riscv_zvfofp8min", "e4m3", &policy_riscv_zvfofp8min_e4m3},
    {"riscv_zvfofp8min", "e5m2", &policy_nvidia_nosat_e5m2},
    /* riscv_zvfofp8min_sat (standard): RISC-V Zvfofp8min (draft 0.9), the saturating opcodes: one NaN, 0x7F */
    {"riscv_zvfofp8min_sat", "e4m3", &policy_nvidia_e4m3},
    {"riscv_zvfofp8min_sat", "e5m2", &policy_nvidia_e4m3},
    /* te_software (measured): Transformer Engine's rounder in software: NaN is 6, of either sign */
    {"te_software", "e2m1", &policy_nvidia_e0m3},
    {"te", "e2m1", &policy_nvidia_e0m3},
    /* torch (measured): PyTorch on a CPU: E4M3 saturates, E5M2 and FNUZ do not; the sign of NaN is kept */
    {"torch", "e4m3", &policy_onnx_reference_sat_e4m3},
    {"pytorch", "e4m3", &policy_onnx_reference_sat_e4m3},
    {"torch_cpu", "e4m3", &policy_onnx_reference_sat_e4m3},
    {"torch", "e4m3fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"pytorch", "e4m3fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"torch_cpu", "e4m3fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"torch", "e5m2", &policy_torch_e5m2},
    {"pytorch", "e5m2", &policy_torch_e5m2},
    {"torch_cpu", "e5m2", &policy_torch_e5m2},
    {"torch", "e5m2fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"pytorch", "e5m2fnuz", &policy_ml_dtypes_e4m3fnuz},
    {"torch_cpu", "e5m2fnuz", &policy_ml_dtypes_e4m3fnuz},
    /* torchao (measured): torchao's FP4 and FP6 casts: saturation, NaN depends on its payload */
    {"torchao", "e2m1", &policy_torchao_e2m1},
    {"torchao", "e2m3", &policy_torchao_e2m1},
    {"torchao", "e3m2", &policy_torchao_e2m1},
    /* x86 (inferred): x86 ACE, FP8 to E2M1: NaN and Inf give the maximum with their sign */
    {"x86", "e2m1", &policy_amd_e2m1},
    {"x86_ace", "e2m1", &policy_amd_e2m1},
    {"ace", "e2m1", &policy_amd_e2m1},
    {NULL, NULL, NULL},
};

const emu_named_transform emu_transforms[] = {
    {"rht16_butterfly", "rht16_butterfly", &transform_rht16_butterfly},
    {"rht16_exact", "rht16_exact", &transform_rht16_exact},
    {"rht16_te", "rht16_te", &transform_rht16_te},
    {"rht16_te_fp32", "rht16_te_fp32", &transform_rht16_te_fp32},
    {"rht16_ufp4", "rht16_ufp4", &transform_rht16_ufp4},
    {"te_rht", "rht16_te", &transform_rht16_te},
    {"rht16_sequential", "rht16_te_fp32", &transform_rht16_te_fp32},
    {NULL, NULL, NULL},
};

const emu_named_block emu_blocks[] = {
    {"e2m1_fp32scale", "e2m1_fp32scale", &block_e2m1_fp32scale},
    {"e4m3_row", "e4m3_row", &block_e4m3_row},
    {"e4m3_row_bf16", "e4m3_row_bf16", &block_e4m3_row_bf16},
    {"e4m3_tensor", "e4m3_tensor", &block_e4m3_tensor},
    {"e4m3_tensor_bf16", "e4m3_tensor_bf16", &block_e4m3_tensor_bf16},
    {"e4m3_tile128", "e4m3_tile128", &block_e4m3_tile128},
    {"e4m3_tile128_bf16", "e4m3_tile128_bf16", &block_e4m3_tile128_bf16},
    {"hif4", "hif4", &block_hif4},
    {"if4", "if4", &block_if4},
    {"mxe1m2", "mxe1m2", &block_mxe1m2},
    {"mxfp4", "mxfp4", &block_mxfp4},
    {"mxfp4_16", "mxfp4_16", &block_mxfp4_16},
    {"mxfp6_e2m3", "mxfp6_e2m3", &block_mxfp6_e2m3},
    {"mxfp6_e3m2", "mxfp6_e3m2", &block_mxfp6_e3m2},
    {"mxfp8_e4m3", "mxfp8_e4m3", &block_mxfp8_e4m3},
    {"mxfp8_e5m2", "mxfp8_e5m2", &block_mxfp8_e5m2},
    {"nf4_block64", "nf4_block64", &block_nf4_block64},
    {"nve0m3", "nve0m3", &block_nve0m3},
    {"nvfp4", "nvfp4", &block_nvfp4},
    {"nvfp4_1792", "nvfp4_1792", &block_nvfp4_1792},
    {"nvfp4_1level", "nvfp4_1level", &block_nvfp4_1level},
    {"nvfp4_256", "nvfp4_256", &block_nvfp4_256},
    {"nvfp4_divisor", "nvfp4_divisor", &block_nvfp4_divisor},
    {"nvfp4_multiplier", "nvfp4_multiplier", &block_nvfp4_multiplier},
    {"nvfp4_row", "nvfp4_row", &block_nvfp4_row},
    {"nvfp4_tile16", "nvfp4_tile16", &block_nvfp4_tile16},
    {"nvint4", "nvint4", &block_nvint4},
    {"nvufp4", "nvufp4", &block_nvufp4},
    {"ufp4", "ufp4", &block_ufp4},
    {NULL, NULL, NULL},
};

const emu_named_layout emu_layouts[] = {
    {"aiter_e8m0_256x8", "aiter_e8m0_256x8", &layout_aiter_e8m0_256x8},
    {"deep_gemm_ue8m0", "deep_gemm_ue8m0", &layout_deep_gemm_ue8m0},
    {"gguf_halves16", "gguf_halves16", &layout_gguf_halves16},
    {"gguf_halves32", "gguf_halves32", &layout_gguf_halves32},
    {"high_nibble_first", "high_nibble_first", &layout_high_nibble_first},
    {"kv_v_scale_4token", "kv_v_scale_4token", &layout_kv_v_scale_4token},
    {"low_nibble_first", "low_nibble_first", &layout_low_nibble_first},
    {"mlx_words4", "mlx_words4", &layout_mlx_words4},
    {"mlx_words8", "mlx_words8", &layout_mlx_words8},
    {"row_major", "row_major", &layout_row_major},
    {"sf128x4", "sf128x4", &layout_sf128x4},
    {"sf8x4", "sf8x4", &layout_sf8x4},
    {"triton_blackwell", "triton_blackwell", &layout_triton_blackwell},
    {"triton_cdna4", "triton_cdna4", &layout_triton_cdna4},
    {"triton_hopper_8warps", "triton_hopper_8warps", &layout_triton_hopper_8warps},
    {"to_blocked", "sf128x4", &layout_sf128x4},
    {"swizzled_scales", "sf128x4", &layout_sf128x4},
    {NULL, NULL, NULL},
};

const emu_named_recipe emu_recipes[] = {
    {"e1m2_fp32scale", "e1m2_fp32scale", &recipe_e1m2_fp32scale},
    {"e2m1_fp32scale", "e2m1_fp32scale", &recipe_e2m1_fp32scale},
    {"e4m3_row_bf16_compressed_tensors", "e4m3_row_bf16_compressed_tensors", &recipe_e4m3_row_bf16_compressed_tensors},
    {"e4m3_row_compressed_tensors", "e4m3_row_compressed_tensors", &recipe_e4m3_row_compressed_tensors},
    {"e4m3_row_torchao", "e4m3_row_torchao", &recipe_e4m3_row_torchao},
    {"e4m3_row_torchao_bf16", "e4m3_row_torchao_bf16", &recipe_e4m3_row_torchao_bf16},
    {"e4m3_tensor_bf16_compressed_tensors", "e4m3_tensor_bf16_compressed_tensors", &recipe_e4m3_tensor_bf16_compressed_tensors},
    {"e4m3_tensor_compressed_tensors", "e4m3_tensor_compressed_tensors", &recipe_e4m3_tensor_compressed_tensors},
    {"e4m3_tensor_modelopt", "e4m3_tensor_modelopt", &recipe_e4m3_tensor_modelopt},
    {"e4m3_tensor_torchao", "e4m3_tensor_torchao", &recipe_e4m3_tensor_torchao},
    {"e4m3_tensor_torchao_bf16", "e4m3_tensor_torchao_bf16", &recipe_e4m3_tensor_torchao_bf16},
    {"e4m3_tile128_bf16_compressed_tensors", "e4m3_tile128_bf16_compressed_tensors", &recipe_e4m3_tile128_bf16_compressed_tensors},
    {"e4m3_tile128_compressed_tensors", "e4m3_tile128_compressed_tensors", &recipe_e4m3_tile128_compressed_tensors},
    {"e4m3_tile128_deepseek", "e4m3_tile128_deepseek", &recipe_e4m3_tile128_deepseek},
    {"e4m3_tile128_transformers", "e4m3_tile128_transformers", &recipe_e4m3_tile128_transformers},
    {"f46_nvint4", "f46_nvint4", &recipe_f46_nvint4},
    {"hif4", "hif4", &recipe_hif4},
    {"if4_abs_max", "if4_abs_max", &recipe_if4_abs_max},
    {"if4_mae", "if4_mae", &recipe_if4_mae},
    {"if4_mse", "if4_mse", &recipe_if4_mse},
    {"kvfp4_sglang", "kvfp4_sglang", &recipe_kvfp4_sglang},
    {"mxe1m2_floor", "mxe1m2_floor", &recipe_mxe1m2_floor},
    {"mxfp4_aiter_triton", "mxfp4_aiter_triton", &recipe_mxfp4_aiter_triton},
    {"mxfp4_auto_round", "mxfp4_auto_round", &recipe_mxfp4_auto_round},
    {"mxfp4_deep_gemm", "mxfp4_deep_gemm", &recipe_mxfp4_deep_gemm},
    {"mxfp4_f46_static_4", "mxfp4_f46_static_4", &recipe_mxfp4_f46_static_4},
    {"mxfp4_f46_static_6", "mxfp4_f46_static_6", &recipe_mxfp4_f46_static_6},
    {"mxfp4_flashinfer_trace", "mxfp4_flashinfer_trace", &recipe_mxfp4_flashinfer_trace},
    {"mxfp4_ggml", "mxfp4_ggml", &recipe_mxfp4_ggml},
    {"mxfp4_inc_even", "mxfp4_inc_even", &recipe_mxfp4_inc_even},
    {"mxfp4_inc_floor", "mxfp4_inc_floor", &recipe_mxfp4_inc_floor},
    {"mxfp4_inc_nearest", "mxfp4_inc_nearest", &recipe_mxfp4_inc_nearest},
    {"mxfp4_mlx_cpu", "mxfp4_mlx_cpu", &recipe_mxfp4_mlx_cpu},
    {"mxfp4_quark_even", "mxfp4_quark_even", &recipe_mxfp4_quark_even},
    {"mxfp4_quark_floor", "mxfp4_quark_floor", &recipe_mxfp4_quark_floor},
    {"mxfp4_te_pow2", "mxfp4_te_pow2", &recipe_mxfp4_te_pow2},
    {"mxfp4_torchao_ceil", "mxfp4_torchao_ceil", &recipe_mxfp4_torchao_ceil},
    {"mxfp4_torchao_even", "mxfp4_torchao_even", &recipe_mxfp4_torchao_even},
    {"mxfp4_torchao_floor", "mxfp4_torchao_floor", &recipe_mxfp4_torchao_floor},
    {"mxfp4_torchao_rceil", "mxfp4_torchao_rceil", &recipe_mxfp4_torchao_rceil},
    {"mxfp4_triton_down", "mxfp4_triton_down", &recipe_mxfp4_triton_down},
    {"mxfp4_triton_up", "mxfp4_triton_up", &recipe_mxfp4_triton_up},
    {"mxfp6_e2m3_torchao_ceil", "mxfp6_e2m3_torchao_ceil", &recipe_mxfp6_e2m3_torchao_ceil},
    {"mxfp6_e2m3_torchao_even", "mxfp6_e2m3_torchao_even", &recipe_mxfp6_e2m3_torchao_even},
    {"mxfp6_e2m3_torchao_floor", "mxfp6_e2m3_torchao_floor", &recipe_mxfp6_e2m3_torchao_floor},
    {"mxfp6_e2m3_torchao_rceil", "mxfp6_e2m3_torchao_rceil", &recipe_mxfp6_e2m3_torchao_rceil},
    {"mxfp6_e3m2_torchao_ceil", "mxfp6_e3m2_torchao_ceil", &recipe_mxfp6_e3m2_torchao_ceil},
    {"mxfp6_e3m2_torchao_even", "mxfp6_e3m2_torchao_even", &recipe_mxfp6_e3m2_torchao_even},
    {"mxfp6_e3m2_torchao_floor", "mxfp6_e3m2_torchao_floor", &recipe_mxfp6_e3m2_torchao_floor},
    {"mxfp6_e3m2_torchao_rceil", "mxfp6_e3m2_torchao_rceil", &recipe_mxfp6_e3m2_torchao_rceil},
    {"mxfp8_e4m3_comfy", "mxfp8_e4m3_comfy", &recipe_mxfp8_e4m3_comfy},
    {"mxfp8_e4m3_jax", "mxfp8_e4m3_jax", &recipe_mxfp8_e4m3_jax},
    {"mxfp8_e4m3_te", "mxfp8_e4m3_te", &recipe_mxfp8_e4m3_te},
    {"mxfp8_e4m3_torchao_ceil", "mxfp8_e4m3_torchao_ceil", &recipe_mxfp8_e4m3_torchao_ceil},
    {"mxfp8_e4m3_torchao_even", "mxfp8_e4m3_torchao_even", &recipe_mxfp8_e4m3_torchao_even},
    {"mxfp8_e4m3_torchao_floor", "mxfp8_e4m3_torchao_floor", &recipe_mxfp8_e4m3_torchao_floor},
    {"mxfp8_e4m3_torchao_rceil", "mxfp8_e4m3_torchao_rceil", &recipe_mxfp8_e4m3_torchao_rceil},
    {"mxfp8_e4m3_triton_down", "mxfp8_e4m3_triton_down", &recipe_mxfp8_e4m3_triton_down},
    {"mxfp8_e4m3_triton_up", "mxfp8_e4m3_triton_up", &recipe_mxfp8_e4m3_triton_up},
    {"mxfp8_e4m3_vllm", "mxfp8_e4m3_vllm", &recipe_mxfp8_e4m3_vllm},
    {"mxfp8_e5m2_jax", "mxfp8_e5m2_jax", &recipe_mxfp8_e5m2_jax},
    {"mxfp8_e5m2_te", "mxfp8_e5m2_te", &recipe_mxfp8_e5m2_te},
    {"mxfp8_e5m2_torchao_ceil", "mxfp8_e5m2_torchao_ceil", &recipe_mxfp8_e5m2_torchao_ceil},
    {"mxfp8_e5m2_torchao_even", "mxfp8_e5m2_torchao_even", &recipe_mxfp8_e5m2_torchao_even},
    {"mxfp8_e5m2_torchao_floor", "mxfp8_e5m2_torchao_floor", &recipe_mxfp8_e5m2_torchao_floor},
    {"mxfp8_e5m2_torchao_rceil", "mxfp8_e5m2_torchao_rceil", &recipe_mxfp8_e5m2_torchao_rceil},
    {"mxfp8_e5m2_triton_down", "mxfp8_e5m2_triton_down", &recipe_mxfp8_e5m2_triton_down},
    {"mxfp8_e5m2_triton_up", "mxfp8_e5m2_triton_up", &recipe_mxfp8_e5m2_triton_up},
    {"mxfp8_mlx_cpu", "mxfp8_mlx_cpu", &recipe_mxfp8_mlx_cpu},
    {"nf4_bnb", "nf4_bnb", &recipe_nf4_bnb},
    {"nve0m3", "nve0m3", &recipe_nve0m3},
    {"nvfp4_auto_round", "nvfp4_auto_round", &recipe_nvfp4_auto_round},
    {"nvfp4_comfy", "nvfp4_comfy", &recipe_nvfp4_comfy},
    {"nvfp4_compressed_tensors", "nvfp4_compressed_tensors", &recipe_nvfp4_compressed_tensors},
    {"nvfp4_deep_gemm", "nvfp4_deep_gemm", &recipe_nvfp4_deep_gemm},
    {"nvfp4_f46_abs_max", "nvfp4_f46_abs_max", &recipe_nvfp4_f46_abs_max},
    {"nvfp4_f46_mae", "nvfp4_f46_mae", &recipe_nvfp4_f46_mae},
    {"nvfp4_f46_mse", "nvfp4_f46_mse", &recipe_nvfp4_f46_mse},
    {"nvfp4_f46_static_4", "nvfp4_f46_static_4", &recipe_nvfp4_f46_static_4},
    {"nvfp4_f46_static_6", "nvfp4_f46_static_6", &recipe_nvfp4_f46_static_6},
    {"nvfp4_flashinfer_strict", "nvfp4_flashinfer_strict", &recipe_nvfp4_flashinfer_strict},
    {"nvfp4_flashinfer_trace", "nvfp4_flashinfer_trace", &recipe_nvfp4_flashinfer_trace},
    {"nvfp4_ggml", "nvfp4_ggml", &recipe_nvfp4_ggml},
    {"nvfp4_jax", "nvfp4_jax", &recipe_nvfp4_jax},
    {"nvfp4_mlx_cpu", "nvfp4_mlx_cpu", &recipe_nvfp4_mlx_cpu},
    {"nvfp4_mlx_cpu_global", "nvfp4_mlx_cpu_global", &recipe_nvfp4_mlx_cpu_global},
    {"nvfp4_modelopt", "nvfp4_modelopt", &recipe_nvfp4_modelopt},
    {"nvfp4_quartet2_rtn", "nvfp4_quartet2_rtn", &recipe_nvfp4_quartet2_rtn},
    {"nvfp4_te_2d_ref", "nvfp4_te_2d_ref", &recipe_nvfp4_te_2d_ref},
    {"nvfp4_te_4over6_mae_256", "nvfp4_te_4over6_mae_256", &recipe_nvfp4_te_4over6_mae_256},
    {"nvfp4_te_4over6_mae_448", "nvfp4_te_4over6_mae_448", &recipe_nvfp4_te_4over6_mae_448},
    {"nvfp4_te_4over6_mse_256", "nvfp4_te_4over6_mse_256", &recipe_nvfp4_te_4over6_mse_256},
    {"nvfp4_te_4over6_mse_256_fast", "nvfp4_te_4over6_mse_256_fast", &recipe_nvfp4_te_4over6_mse_256_fast},
    {"nvfp4_te_4over6_mse_448", "nvfp4_te_4over6_mse_448", &recipe_nvfp4_te_4over6_mse_448},
    {"nvfp4_te_cuda", "nvfp4_te_cuda", &recipe_nvfp4_te_cuda},
    {"nvfp4_te_ref", "nvfp4_te_ref", &recipe_nvfp4_te_ref},
    {"nvfp4_te_row_scaled", "nvfp4_te_row_scaled", &recipe_nvfp4_te_row_scaled},
    {"nvfp4_torchao", "nvfp4_torchao", &recipe_nvfp4_torchao},
    {"nvfp4_torchao_1level", "nvfp4_torchao_1level", &recipe_nvfp4_torchao_1level},
    {"nvfp4_vllm_emulation", "nvfp4_vllm_emulation", &recipe_nvfp4_vllm_emulation},
    {"nvufp4", "nvufp4", &recipe_nvufp4},
    {"ufp4", "ufp4", &recipe_ufp4},
    {"ufp4_sr", "ufp4_sr", &recipe_ufp4_sr},
    {"nvfp4_te", "nvfp4_te_ref", &recipe_nvfp4_te_ref},
    {NULL, NULL, NULL},
};

const emu_named_program emu_programs[] = {
    {"e1m2_fp32scale", NULL, &quantize_e1m2_fp32scale},
    {"e1m2_fp32scale", "exact", &dequantize_e1m2_fp32scale_exact},
    {"e2m1_fp32scale", NULL, &quantize_e2m1_fp32scale},
    {"e2m1_fp32scale", "exact", &dequantize_e2m1_fp32scale_exact},
    {"e4m3_row_bf16_compressed_tensors", NULL, &quantize_e4m3_row_bf16_compressed_tensors},
    {"e4m3_row_bf16_compressed_tensors", "bf16", &dequantize_e4m3_row_bf16_compressed_tensors_bf16},
    {"e4m3_row_compressed_tensors", NULL, &quantize_e4m3_row_compressed_tensors},
    {"e4m3_row_compressed_tensors", "exact", &dequantize_e4m3_row_compressed_tensors_exact},
    {"e4m3_row_torchao", NULL, &quantize_e4m3_row_torchao},
    {"e4m3_row_torchao", "exact", &dequantize_e4m3_row_compressed_tensors_exact},
    {"e4m3_row_torchao_bf16", NULL, &quantize_e4m3_row_torchao_bf16},
    {"e4m3_row_torchao_bf16", "exact", &dequantize_e4m3_row_compressed_tensors_exact},
    {"e4m3_tensor_bf16_compressed_tensors", NULL, &quantize_e4m3_tensor_bf16_compressed_tensors},
    {"e4m3_tensor_bf16_compressed_tensors", "bf16", &dequantize_e4m3_tensor_bf16_compressed_tensors_bf16},
    {"e4m3_tensor_compressed_tensors", NULL, &quantize_e4m3_tensor_compressed_tensors},
    {"e4m3_tensor_compressed_tensors", "exact", &dequantize_e4m3_tensor_compressed_tensors_exact},
    {"e4m3_tensor_modelopt", NULL, &quantize_e4m3_tensor_modelopt},
    {"e4m3_tensor_modelopt", "exact", &dequantize_e4m3_tensor_compressed_tensors_exact},
    {"e4m3_tensor_torchao", NULL, &quantize_e4m3_tensor_torchao},
    {"e4m3_tensor_torchao", "exact", &dequantize_e4m3_tensor_compressed_tensors_exact},
    {"e4m3_tensor_torchao_bf16", NULL, &quantize_e4m3_tensor_torchao_bf16},
    {"e4m3_tensor_torchao_bf16", "exact", &dequantize_e4m3_tensor_compressed_tensors_exact},
    {"e4m3_tile128_bf16_compressed_tensors", NULL, &quantize_e4m3_tile128_bf16_compressed_tensors},
    {"e4m3_tile128_bf16_compressed_tensors", "bf16", &dequantize_e4m3_tile128_bf16_compressed_tensors_bf16},
    {"e4m3_tile128_compressed_tensors", NULL, &quantize_e4m3_tile128_compressed_tensors},
    {"e4m3_tile128_compressed_tensors", "exact", &dequantize_e4m3_tile128_compressed_tensors_exact},
    {"e4m3_tile128_deepseek", NULL, &quantize_e4m3_tile128_deepseek},
    {"e4m3_tile128_deepseek", "exact", &dequantize_e4m3_tile128_compressed_tensors_exact},
    {"e4m3_tile128_transformers", NULL, &quantize_e4m3_tile128_transformers},
    {"e4m3_tile128_transformers", "exact", &dequantize_e4m3_tile128_compressed_tensors_exact},
    {"f46_nvint4", NULL, &quantize_f46_nvint4},
    {"f46_nvint4", "f46", &dequantize_f46_nvint4_f46},
    {"hif4", NULL, &quantize_hif4},
    {"hif4", "exact", &dequantize_hif4_exact},
    {"if4_abs_max", NULL, &quantize_if4_abs_max},
    {"if4_abs_max", "f46", &dequantize_if4_abs_max_f46},
    {"if4_mae", NULL, &quantize_if4_mae},
    {"if4_mae", "f46", &dequantize_if4_abs_max_f46},
    {"if4_mse", NULL, &quantize_if4_mse},
    {"if4_mse", "f46", &dequantize_if4_abs_max_f46},
    {"kvfp4_sglang", NULL, &quantize_kvfp4_sglang},
    {"kvfp4_sglang", "exact", &dequantize_kvfp4_sglang_exact},
    {"mxe1m2_floor", NULL, &quantize_mxe1m2_floor},
    {"mxe1m2_floor", "exact", &dequantize_mxe1m2_floor_exact},
    {"mxfp4_aiter_triton", NULL, &quantize_mxfp4_aiter_triton},
    {"mxfp4_aiter_triton", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_auto_round", NULL, &quantize_mxfp4_auto_round},
    {"mxfp4_auto_round", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_deep_gemm", NULL, &quantize_mxfp4_deep_gemm},
    {"mxfp4_deep_gemm", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_f46_static_4", NULL, &quantize_mxfp4_f46_static_4},
    {"mxfp4_f46_static_4", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_f46_static_6", NULL, &quantize_mxfp4_f46_static_6},
    {"mxfp4_f46_static_6", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_flashinfer_trace", NULL, &quantize_mxfp4_flashinfer_trace},
    {"mxfp4_flashinfer_trace", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_ggml", NULL, &quantize_mxfp4_ggml},
    {"mxfp4_ggml", "ggml", &dequantize_mxfp4_ggml_ggml},
    {"mxfp4_inc_even", NULL, &quantize_mxfp4_inc_even},
    {"mxfp4_inc_even", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_inc_floor", NULL, &quantize_mxfp4_inc_floor},
    {"mxfp4_inc_floor", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_inc_nearest", NULL, &quantize_mxfp4_inc_nearest},
    {"mxfp4_inc_nearest", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_mlx_cpu", NULL, &quantize_mxfp4_mlx_cpu},
    {"mxfp4_mlx_cpu", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_quark_even", NULL, &quantize_mxfp4_quark_even},
    {"mxfp4_quark_even", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_quark_floor", NULL, &quantize_mxfp4_quark_floor},
    {"mxfp4_quark_floor", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_te_pow2", NULL, &quantize_mxfp4_te_pow2},
    {"mxfp4_te_pow2", "exact", &dequantize_mxfp4_te_pow2_exact},
    {"mxfp4_torchao_ceil", NULL, &quantize_mxfp4_torchao_ceil},
    {"mxfp4_torchao_ceil", "torchao", &dequantize_mxfp4_torchao_ceil_torchao},
    {"mxfp4_torchao_even", NULL, &quantize_mxfp4_torchao_even},
    {"mxfp4_torchao_even", "torchao", &dequantize_mxfp4_torchao_ceil_torchao},
    {"mxfp4_torchao_floor", NULL, &quantize_mxfp4_torchao_floor},
    {"mxfp4_torchao_floor", "torchao", &dequantize_mxfp4_torchao_ceil_torchao},
    {"mxfp4_torchao_rceil", NULL, &quantize_mxfp4_torchao_rceil},
    {"mxfp4_torchao_rceil", "torchao", &dequantize_mxfp4_torchao_ceil_torchao},
    {"mxfp4_triton_down", NULL, &quantize_mxfp4_triton_down},
    {"mxfp4_triton_down", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp4_triton_up", NULL, &quantize_mxfp4_triton_up},
    {"mxfp4_triton_up", "exact", &dequantize_mxfp4_aiter_triton_exact},
    {"mxfp6_e2m3_torchao_ceil", NULL, &quantize_mxfp6_e2m3_torchao_ceil},
    {"mxfp6_e2m3_torchao_ceil", "exact", &dequantize_mxfp6_e2m3_torchao_ceil_exact},
    {"mxfp6_e2m3_torchao_even", NULL, &quantize_mxfp6_e2m3_torchao_even},
    {"mxfp6_e2m3_torchao_even", "exact", &dequantize_mxfp6_e2m3_torchao_ceil_exact},
    {"mxfp6_e2m3_torchao_floor", NULL, &quantize_mxfp6_e2m3_torchao_floor},
    {"mxfp6_e2m3_torchao_floor", "exact", &dequantize_mxfp6_e2m3_torchao_ceil_exact},
    {"mxfp6_e2m3_torchao_rceil", NULL, &quantize_mxfp6_e2m3_torchao_rceil},
    {"mxfp6_e2m3_torchao_rceil", "exact", &dequantize_mxfp6_e2m3_torchao_ceil_exact},
    {"mxfp6_e3m2_torchao_ceil", NULL, &quantize_mxfp6_e3m2_torchao_ceil},
    {"mxfp6_e3m2_torchao_ceil", "exact", &dequantize_mxfp6_e3m2_torchao_ceil_exact},
    {"mxfp6_e3m2_torchao_even", NULL, &quantize_mxfp6_e3m2_torchao_even},
    {"mxfp6_e3m2_torchao_even", "exact", &dequantize_mxfp6_e3m2_torchao_ceil_exact},
    {"mxfp6_e3m2_torchao_floor", NULL, &quantize_mxfp6_e3m2_torchao_floor},
    {"mxfp6_e3m2_torchao_floor", "exact", &dequantize_mxfp6_e3m2_torchao_ceil_exact},
    {"mxfp6_e3m2_torchao_rceil", NULL, &quantize_mxfp6_e3m2_torchao_rceil},
    {"mxfp6_e3m2_torchao_rceil", "exact", &dequantize_mxfp6_e3m2_torchao_ceil_exact},
    {"mxfp8_e4m3_comfy", NULL, &quantize_mxfp8_e4m3_comfy},
    {"mxfp8_e4m3_comfy", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_jax", NULL, &quantize_mxfp8_e4m3_jax},
    {"mxfp8_e4m3_jax", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_te", NULL, &quantize_mxfp8_e4m3_te},
    {"mxfp8_e4m3_te", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_torchao_ceil", NULL, &quantize_mxfp8_e4m3_torchao_ceil},
    {"mxfp8_e4m3_torchao_ceil", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_torchao_even", NULL, &quantize_mxfp8_e4m3_torchao_even},
    {"mxfp8_e4m3_torchao_even", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_torchao_floor", NULL, &quantize_mxfp8_e4m3_torchao_floor},
    {"mxfp8_e4m3_torchao_floor", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_torchao_rceil", NULL, &quantize_mxfp8_e4m3_torchao_rceil},
    {"mxfp8_e4m3_torchao_rceil", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_triton_down", NULL, &quantize_mxfp8_e4m3_triton_down},
    {"mxfp8_e4m3_triton_down", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_triton_up", NULL, &quantize_mxfp8_e4m3_triton_up},
    {"mxfp8_e4m3_triton_up", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e4m3_vllm", NULL, &quantize_mxfp8_e4m3_vllm},
    {"mxfp8_e4m3_vllm", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"mxfp8_e5m2_jax", NULL, &quantize_mxfp8_e5m2_jax},
    {"mxfp8_e5m2_jax", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_te", NULL, &quantize_mxfp8_e5m2_te},
    {"mxfp8_e5m2_te", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_torchao_ceil", NULL, &quantize_mxfp8_e5m2_torchao_ceil},
    {"mxfp8_e5m2_torchao_ceil", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_torchao_even", NULL, &quantize_mxfp8_e5m2_torchao_even},
    {"mxfp8_e5m2_torchao_even", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_torchao_floor", NULL, &quantize_mxfp8_e5m2_torchao_floor},
    {"mxfp8_e5m2_torchao_floor", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_torchao_rceil", NULL, &quantize_mxfp8_e5m2_torchao_rceil},
    {"mxfp8_e5m2_torchao_rceil", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_triton_down", NULL, &quantize_mxfp8_e5m2_triton_down},
    {"mxfp8_e5m2_triton_down", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_e5m2_triton_up", NULL, &quantize_mxfp8_e5m2_triton_up},
    {"mxfp8_e5m2_triton_up", "exact", &dequantize_mxfp8_e5m2_jax_exact},
    {"mxfp8_mlx_cpu", NULL, &quantize_mxfp8_mlx_cpu},
    {"mxfp8_mlx_cpu", "exact", &dequantize_mxfp8_e4m3_comfy_exact},
    {"nf4_bnb", NULL, &quantize_nf4_bnb},
    {"nf4_bnb", "exact", &dequantize_nf4_bnb_exact},
    {"nve0m3", NULL, &quantize_nve0m3},
    {"nve0m3", "te", &dequantize_nve0m3_te},
    {"nvfp4_auto_round", NULL, &quantize_nvfp4_auto_round},
    {"nvfp4_auto_round", "exact", &dequantize_nvfp4_auto_round_exact},
    {"nvfp4_comfy", NULL, &quantize_nvfp4_comfy},
    {"nvfp4_comfy", "exact", &dequantize_nvfp4_comfy_exact},
    {"nvfp4_compressed_tensors", NULL, &quantize_nvfp4_compressed_tensors},
    {"nvfp4_compressed_tensors", "compressed_tensors", &dequantize_nvfp4_compressed_tensors_compressed_tensors},
    {"nvfp4_deep_gemm", NULL, &quantize_nvfp4_deep_gemm},
    {"nvfp4_deep_gemm", "exact", &dequantize_nvfp4_deep_gemm_exact},
    {"nvfp4_f46_abs_max", NULL, &quantize_nvfp4_f46_abs_max},
    {"nvfp4_f46_abs_max", "f46", &dequantize_nvfp4_f46_abs_max_f46},
    {"nvfp4_f46_mae", NULL, &quantize_nvfp4_f46_mae},
    {"nvfp4_f46_mae", "f46", &dequantize_nvfp4_f46_abs_max_f46},
    {"nvfp4_f46_mse", NULL, &quantize_nvfp4_f46_mse},
    {"nvfp4_f46_mse", "f46", &dequantize_nvfp4_f46_abs_max_f46},
    {"nvfp4_f46_static_4", NULL, &quantize_nvfp4_f46_static_4},
    {"nvfp4_f46_static_4", "f46", &dequantize_nvfp4_f46_static_4_f46},
    {"nvfp4_f46_static_6", NULL, &quantize_nvfp4_f46_static_6},
    {"nvfp4_f46_static_6", "f46", &dequantize_nvfp4_f46_static_6_f46},
    {"nvfp4_flashinfer_strict", NULL, &quantize_nvfp4_flashinfer_strict},
    {"nvfp4_flashinfer_strict", "exact", &dequantize_nvfp4_auto_round_exact},
    {"nvfp4_flashinfer_trace", NULL, &quantize_nvfp4_flashinfer_trace},
    {"nvfp4_flashinfer_trace", "exact", &dequantize_nvfp4_auto_round_exact},
    {"nvfp4_ggml", NULL, &quantize_nvfp4_ggml},
    {"nvfp4_ggml", "exact", &dequantize_nvfp4_ggml_exact},
    {"nvfp4_jax", NULL, &quantize_nvfp4_jax},
    {"nvfp4_jax", "exact", &dequantize_nvfp4_comfy_exact},
    {"nvfp4_mlx_cpu", NULL, &quantize_nvfp4_mlx_cpu},
    {"nvfp4_mlx_cpu", "exact", &dequantize_nvfp4_ggml_exact},
    {"nvfp4_mlx_cpu_global", NULL, &quantize_nvfp4_mlx_cpu_global},
    {"nvfp4_mlx_cpu_global", "mlx", &dequantize_nvfp4_mlx_cpu_global_mlx},
    {"nvfp4_modelopt", NULL, &quantize_nvfp4_modelopt},
    {"nvfp4_modelopt", "modelopt", &dequantize_nvfp4_modelopt_modelopt},
    {"nvfp4_quartet2_rtn", NULL, &quantize_nvfp4_quartet2_rtn},
    {"nvfp4_quartet2_rtn", "exact", &dequantize_nvfp4_comfy_exact},
    {"nvfp4_te_2d_ref", NULL, &quantize_nvfp4_te_2d_ref},
    {"nvfp4_te_2d_ref", "te", &dequantize_nvfp4_te_2d_ref_te},
    {"nvfp4_te_4over6_mae_256", NULL, &quantize_nvfp4_te_4over6_mae_256},
    {"nvfp4_te_4over6_mae_256", "te", &dequantize_nvfp4_te_4over6_mae_256_te},
    {"nvfp4_te_4over6_mae_448", NULL, &quantize_nvfp4_te_4over6_mae_448},
    {"nvfp4_te_4over6_mae_448", "te", &dequantize_nvfp4_te_4over6_mae_448_te},
    {"nvfp4_te_4over6_mse_256", NULL, &quantize_nvfp4_te_4over6_mse_256},
    {"nvfp4_te_4over6_mse_256", "te", &dequantize_nvfp4_te_4over6_mae_256_te},
    {"nvfp4_te_4over6_mse_256_fast", NULL, &quantize_nvfp4_te_4over6_mse_256_fast},
    {"nvfp4_te_4over6_mse_256_fast", "te", &dequantize_nvfp4_te_4over6_mae_256_te},
    {"nvfp4_te_4over6_mse_448", NULL, &quantize_nvfp4_te_4over6_mse_448},
    {"nvfp4_te_4over6_mse_448", "te", &dequantize_nvfp4_te_4over6_mae_448_te},
    {"nvfp4_te_cuda", NULL, &quantize_nvfp4_te_cuda},
    {"nvfp4_te_cuda", "te", &dequantize_nvfp4_te_cuda_te},
    {"nvfp4_te_ref", NULL, &quantize_nvfp4_te_ref},
    {"nvfp4_te_ref", "te", &dequantize_nvfp4_te_4over6_mae_448_te},
    {"nvfp4_te_row_scaled", NULL, &quantize_nvfp4_te_row_scaled},
    {"nvfp4_te_row_scaled", "te", &dequantize_nvfp4_te_row_scaled_te},
    {"nvfp4_torchao", NULL, &quantize_nvfp4_torchao},
    {"nvfp4_torchao", "torchao", &dequantize_nvfp4_torchao_torchao},
    {"nvfp4_torchao_1level", NULL, &quantize_nvfp4_torchao_1level},
    {"nvfp4_torchao_1level", "torchao", &dequantize_nvfp4_ggml_exact},
    {"nvfp4_vllm_emulation", NULL, &quantize_nvfp4_vllm_emulation},
    {"nvfp4_vllm_emulation", "exact", &dequantize_nvfp4_auto_round_exact},
    {"nvufp4", NULL, &quantize_nvufp4},
    {"nvufp4", "te", &dequantize_nvufp4_te},
    {"ufp4", NULL, &quantize_ufp4},
    {"ufp4", "exact", &dequantize_e1m2_fp32scale_exact},
    {"ufp4_sr", NULL, &quantize_ufp4_sr},
    {"ufp4_sr", "exact", &dequantize_e1m2_fp32scale_exact},
    {NULL, NULL, NULL},
};

/* not here: bf16_pairwise: datapath bf16_pairwise: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: bf16_register: datapath bf16_register: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: bf16_register_random: datapath bf16_register_random: is written in levels, and this takes one fused step: see
 * docs/datapath_levels.md */
/* not here: blackwell_e0m3: datapath blackwell_e0m3: align.fraction_bits is open until: emu probe blackwell_e0m3; its readings are
 * datapaths of their own */
/* not here: blackwell_sparse: datapath blackwell_sparse: no published model: how the selected products are grouped before alignment is
 * unknown; nothing is computed until: hardware probe */
/* not here: cdna4: datapath cdna4: no published model: alignment, group size and rounding of the scaled MFMA are unknown, and CDNA3 has
 * no block scales to stand for them; nothing is computed until: hardware probe */
/* not here: e1m2_bf16_register: datapath e1m2_bf16_register: is written in levels, and this takes one fused step: see
 * docs/datapath_levels.md */
/* not here: e1m2_int24_register: datapath e1m2_int24_register: is written in levels, and this takes one fused step: see
 * docs/datapath_levels.md */
/* not here: fp16_register: datapath fp16_register: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: fp16_tree_fp32: datapath fp16_tree_fp32: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: fp32_fma_chain: datapath fp32_fma_chain: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: int12_cut: datapath int12_cut: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: int12_saturate: datapath int12_saturate: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: int12_wrap: datapath int12_wrap: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: int20_saturate: datapath int20_saturate: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: int20_wrap: datapath int20_wrap: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: mx_lane24: datapath mx_lane24: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: products_12bit: datapath products_12bit: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: rvbna4: datapath rvbna4: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: rvbna4_flags: datapath rvbna4_flags: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: rvbna4_odd: datapath rvbna4_odd: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: rvbna4_rne: datapath rvbna4_rne: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
/* not here: sm_103: datapath sm_103: no published model: whether the adder is that of sm_100, and how 96 products are split, is unknown;
 * nothing is computed until: hardware probe */
/* not here: sm_107: datapath sm_107: no published model: alignment, fraction bits, how 128 products are grouped and what UE5M3 scales do
 * to a product are unknown; nothing is computed until: hardware probe */
/* not here: systolic_4way: datapath systolic_4way: is written in levels, and this takes one fused step: see docs/datapath_levels.md */
const emu_named_datapath emu_datapaths[] = {
    {"ada_fp8", "ada_fp8", &datapath_ada_fp8, &choices_ada_fp8},
    {"blackwell_e0m3_f34", "blackwell_e0m3_f34", &datapath_blackwell_e0m3_f34, &choices_blackwell_e0m3_f34},
    {"blackwell_e0m3_f35", "blackwell_e0m3_f35", &datapath_blackwell_e0m3_f35, &choices_blackwell_e0m3_f34},
    {"blackwell_e0m3_raised", "blackwell_e0m3_raised", &datapath_blackwell_e0m3_raised, &choices_blackwell_e0m3_raised},
    {"blackwell_e0m3_wrap", "blackwell_e0m3_wrap", &datapath_blackwell_e0m3_wrap, &choices_blackwell_e0m3_f34},
    {"blackwell_f8f6f4", "blackwell_f8f6f4", &datapath_blackwell_f8f6f4, &choices_blackwell_f8f6f4},
    {"blackwell_f8f6f4_f16", "blackwell_f8f6f4_f16", &datapath_blackwell_f8f6f4_f16, &choices_blackwell_f8f6f4},
    {"blackwell_mxf4_b32_ue8m0", "blackwell_mxf4_b32_ue8m0", &datapath_blackwell_mxf4_b32_ue8m0, &choices_blackwell_mxf4_b32_ue8m0},
    {"blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf4nvf4_b16_ue4m3", &datapath_blackwell_mxf4nvf4_b16_ue4m3, &choices_blackwell_mxf4nvf4_b16_ue4m3},
    {"blackwell_mxf4nvf4_b16_ue8m0", "blackwell_mxf4nvf4_b16_ue8m0", &datapath_blackwell_mxf4_b32_ue8m0, &choices_blackwell_mxf4nvf4_b16_ue8m0},
    {"blackwell_mxf4nvf4_b32_ue8m0", "blackwell_mxf4nvf4_b32_ue8m0", &datapath_blackwell_mxf4_b32_ue8m0, &choices_blackwell_mxf4_b32_ue8m0},
    {"blackwell_mxf8f6f4", "blackwell_mxf8f6f4", &datapath_blackwell_mxf8f6f4, &choices_blackwell_mxf8f6f4},
    {"cdna3_fp8", "cdna3_fp8", &datapath_cdna3_fp8, &choices_cdna3_fp8},
    {"cheap", "cheap", &datapath_cheap, &choices_cheap},
    {"hopper_fp16", "hopper_fp16", &datapath_hopper_fp16, &choices_hopper_fp16},
    {"hopper_fp16_f16", "hopper_fp16_f16", &datapath_hopper_fp16_f16, &choices_hopper_fp16_f16},
    {"hopper_fp8", "hopper_fp8", &datapath_hopper_fp8, &choices_ada_fp8},
    {"hopper_fp8_f16", "hopper_fp8_f16", &datapath_hopper_fp8_f16, &choices_ada_fp8},
    {"ideal", "ideal", &datapath_ideal, &choices_cheap},
    {"int64", "int64", &datapath_int64, &choices_int64},
    {"late_c", "late_c", &datapath_late_c, &choices_cheap},
    {"nv_like", "nv_like", &datapath_blackwell_mxf4nvf4_b16_ue4m3, &choices_cheap},
    {"nv_like_exact", "nv_like_exact", &datapath_nv_like_exact, &choices_cheap},
    {"promote", "promote", &datapath_promote, &choices_promote},
    {NULL, NULL, NULL, NULL},
};
