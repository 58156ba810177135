/* tables.c: what the shipped spec says, as descriptors. Generated from spec/ by: emu docs build. Do not edit.
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
    /* riscv_zvfofp8min (inferred): RISC-V Zvfofp8min without saturation: one NaN, 0x7F, for overflow of E4M3 too */
    {"riscv_zvfofp8min", "e4m3", &policy_riscv_zvfofp8min_e4m3},
    {"riscv_zvfofp8min", "e5m2", &policy_nvidia_nosat_e5m2},
    /* riscv_zvfofp8min_sat (inferred): RISC-V Zvfofp8min, the saturating opcodes: one NaN, 0x7F */
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
