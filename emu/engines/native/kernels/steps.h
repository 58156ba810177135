/* One step of a recipe, on lanes. Whoever includes this says before what its lanes are: a type emu_lanes, and LANES(expression), which stores
 * an expression of a[i], b[i], c[i] and d[i], the arguments that `count` names, in out[i] for every lane and ends the case of a switch. */
#ifndef EMU_STEPS_H
#define EMU_STEPS_H

EMU_INLINE int32_t is_nan(uint32_t a) { return (a & EMU_MAGNITUDE) > EMU_INFINITY; }

/* Of two equal values the first; NaN: propagates, or the other one is taken. */
EMU_INLINE uint32_t smaller(uint32_t a, uint32_t b, int32_t drops) {
    const uint32_t least = emu_as_float(b) < emu_as_float(a) ? b : a;
    return is_nan(drops ? a : b) ? b : least;
}

EMU_INLINE uint32_t larger(uint32_t a, uint32_t b, int32_t drops) {
    const uint32_t most = emu_as_float(a) < emu_as_float(b) ? b : a;
    return is_nan(drops ? a : b) ? b : most;
}

EMU_INLINE void select_lanes(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out) {
    switch (step->variant) {
    case EMU_TEST_ZERO:
        LANES(emu_either((a[i] & EMU_MAGNITUDE) == 0, b[i], c[i]));
    case EMU_TEST_NAN:
        LANES(emu_either(is_nan(a[i]), b[i], c[i]));
    case EMU_TEST_INF:
        LANES(emu_either((a[i] & EMU_MAGNITUDE) == EMU_INFINITY, b[i], c[i]));
    case EMU_TEST_NEG:
        LANES(emu_either(a[i] - 0x80000001u <= 0x7F7FFFFFu, b[i], c[i])); /* 0x80000001..0xFF800000: below zero, -Inf too */
    case EMU_TEST_LT:
        LANES(emu_either(emu_as_float(a[i]) < emu_as_float(b[i]), c[i], d[i]));
    case EMU_TEST_LE:
        LANES(emu_either(emu_as_float(a[i]) <= emu_as_float(b[i]), c[i], d[i]));
    default:
        LANES(emu_either(emu_as_float(a[i]) >= emu_as_float(b[i]), c[i], d[i]));
    }
}

EMU_INLINE uint32_t e8m0_code(uint32_t bits, int32_t rule, int32_t emax, int32_t frac_bits) {
    uint32_t magnitude = bits & EMU_MAGNITUDE, nan = magnitude > EMU_INFINITY;
    int32_t field, code;
    if (rule == EMU_RULE_EVEN)
        magnitude = (magnitude + (UINT32_C(1) << (22 - frac_bits))) & EMU_INFINITY;
    field = (int32_t)(magnitude >> 23);
    if (rule == EMU_RULE_CEIL || rule == EMU_RULE_FIELD_UP)
        field += (magnitude & 0x7FFFFFu) != 0;
    code = rule == EMU_RULE_FIELD_UP ? field : field - emax;
    code = code < 0 ? 0 : code > 255 ? 255 : code;
    return nan ? 255u : (uint32_t)code;
}

EMU_INLINE void e8m0_lanes(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out) {
    const int32_t emax = step->emax, frac_bits = step->frac_bits;
    switch (step->variant) {
    case EMU_RULE_FLOOR:
        LANES(e8m0_code(a[i], EMU_RULE_FLOOR, emax, frac_bits));
    case EMU_RULE_CEIL:
        LANES(e8m0_code(a[i], EMU_RULE_CEIL, emax, frac_bits));
    case EMU_RULE_EVEN:
        LANES(e8m0_code(a[i], EMU_RULE_EVEN, emax, frac_bits));
    default:
        LANES(e8m0_code(a[i], EMU_RULE_FIELD_UP, emax, frac_bits));
    }
}

/* A value, rounded to odd into bf16 first, on the grid of an unsigned float format: of its normal numbers by adding to the bits, of its
 * subnormal ones by a sum with a number whose last place is theirs. */
EMU_INLINE uint32_t float_code(const emu_kernel_step *step, uint32_t bits) {
    const uint32_t magnitude = ((uint32_t)emu_odd_bf16(bits) << 16) & EMU_MAGNITUDE, drop = (uint32_t)(23 - step->frac_bits);
    const uint32_t even = (magnitude >> drop) & 1, half = (UINT32_C(1) << drop) / 2 - 1;
    const uint32_t rebias = (uint32_t)(127 - step->bias) << step->frac_bits;
    const uint32_t last = (uint32_t)(151 - step->bias - step->frac_bits) << 23; /* 2^23 places of 2^(1 - bias - frac_bits) */
    const uint32_t normal = ((magnitude + half + even) >> drop) - rebias;
    const uint32_t subnormal = emu_as_bits(emu_as_float(magnitude) + emu_as_float(last)) - last;
    const uint32_t code = magnitude < (uint32_t)(128 - step->bias) << 23 ? subnormal : normal, largest = (uint32_t)step->largest;
    return magnitude > EMU_INFINITY ? (uint32_t)step->nan : code < largest ? code : largest;
}

EMU_INLINE uint32_t float_value(const emu_kernel_step *step, uint32_t code) {
    const float rebias = emu_as_float((uint32_t)(254 - step->bias) << 23); /* 2^(127 - bias) */
    const uint32_t bits = emu_as_bits(emu_as_float(code << (23 - step->frac_bits)) * rebias);
    return code == (uint32_t)step->nan ? EMU_CANONICAL_NAN : bits;
}

EMU_INLINE void float_lanes(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out) {
    const emu_kernel_step own = *step;
    switch (step->operation) {
    case EMU_STEP_CAST_FLOAT:
        LANES(float_code(&own, a[i]));
    default:
        LANES(float_value(&own, a[i]));
    }
}

EMU_INLINE void min_max_lanes(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out) {
    const int32_t drops = step->variant;
    switch (step->operation) {
    case EMU_STEP_MIN:
        LANES(smaller(a[i], b[i], drops));
    case EMU_STEP_MAX:
        LANES(larger(a[i], b[i], drops));
    default:
        LANES(smaller(larger(a[i], b[i], drops), c[i], drops));
    }
}

/* Arithmetic instead of a table pays with AVX-512 only: 256 casts take 46 ns for 196, with AVX2 502 for 268 (gcc 12, Zen 4). */
EMU_INLINE int32_t operation_of(const emu_kernel_step *step, int32_t form) {
    if (form == EMU_AVX512 || step->operation < EMU_STEP_CAST_FLOAT)
        return step->operation;
    return step->operation == EMU_STEP_CAST_FLOAT ? EMU_STEP_CAST : EMU_STEP_DECODE;
}

EMU_INLINE void one_step(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out, int32_t form) {
    const uint8_t *restrict codes = step->codes;
    const uint32_t *restrict values = step->values;
    switch (operation_of(step, form)) {
    case EMU_STEP_ADD:
        LANES(emu_as_bits(emu_as_float(a[i]) + emu_as_float(b[i])));
    case EMU_STEP_SUB:
        LANES(emu_as_bits(emu_as_float(a[i]) - emu_as_float(b[i])));
    case EMU_STEP_MUL:
        LANES(emu_as_bits(emu_as_float(a[i]) * emu_as_float(b[i])));
    case EMU_STEP_DIV:
        LANES(emu_as_bits(emu_as_float(a[i]) / emu_as_float(b[i])));
    case EMU_STEP_ABS:
        LANES(a[i] & EMU_MAGNITUDE);
    case EMU_STEP_NEG:
        LANES(a[i] ^ ~EMU_MAGNITUDE);
    case EMU_STEP_SELECT:
        select_lanes(step, count, out);
        break;
    case EMU_STEP_CAST:
        LANES(codes[emu_odd_bf16(a[i])]);
    case EMU_STEP_DECODE:
        LANES(values[a[i] & 255]);
    case EMU_STEP_E8M0:
        e8m0_lanes(step, count, out);
        break;
    case EMU_STEP_CAST_FLOAT:
    case EMU_STEP_DECODE_FLOAT:
        float_lanes(step, count, out);
        break;
    default:
        min_max_lanes(step, count, out);
    }
}

#endif
