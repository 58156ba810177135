/* transform: rotations of 16 elements by the Hadamard matrix, on rows[element][group], so that every addition runs along groups. */
#include "kernels.h"

typedef uint32_t group_rows[EMU_LANES];

EMU_INLINE uint32_t add_bits(uint32_t a, uint32_t b) { return emu_as_bits(emu_as_float(a) + emu_as_float(b)); }

EMU_INLINE uint32_t subtract_bits(uint32_t a, uint32_t b) { return emu_as_bits(emu_as_float(a) - emu_as_float(b)); }

/* Strides 1, 2, 4, 8: (a, b) becomes (a + b, a - b). */
EMU_INLINE void butterfly(group_rows *restrict rows, size_t groups, int32_t form) {
    (void)form;
    for (size_t stride = 1; stride < EMU_ROTATED; stride *= 2)
        for (size_t first = 0; first < EMU_ROTATED; first += 2 * stride)
            for (size_t row = first; row < first + stride; row++) {
                uint32_t *restrict one = rows[row], *restrict two = rows[row + stride];
                for (size_t g = 0; g < groups; g++) {
                    const uint32_t a = one[g], b = two[g];
                    one[g] = add_bits(a, b);
                    two[g] = subtract_bits(a, b);
                }
            }
}

static int is_negated(size_t row, size_t term) {
    size_t both = row & term, odd = 0;
    for (; both; both &= both - 1)
        odd ^= 1;
    return (int)odd;
}

/* From +0, one term after another. */
EMU_INLINE void add_term(const uint32_t *restrict term, size_t groups, int negated, uint32_t *restrict sum, int32_t form) {
    (void)form;
    if (negated)
        for (size_t g = 0; g < groups; g++)
            sum[g] = subtract_bits(sum[g], term[g]);
    else
        for (size_t g = 0; g < groups; g++)
            sum[g] = add_bits(sum[g], term[g]);
}

/* The sums in binary64, where they are exact because the exponents of a group are close; the scaled sum is rounded once. Other groups are
 * noted in `left`: the caller has to do them. A zero sum is +0, but -0 where every term is -0: in a group of zeros whose
 * signs are minus_zeros of the row. */
EMU_INLINE void sum_exactly(group_rows *restrict rows, const uint32_t *minus_zeros, size_t groups, double scale, uint8_t *restrict left,
                            int32_t form) {
    double sums[EMU_ROTATED][EMU_LANES];
    uint32_t some[EMU_LANES], minus[EMU_LANES];
    (void)form;
    for (size_t g = 0; g < groups; g++) {
        uint32_t highest = 0, lowest = EMU_MAGNITUDE, signs = 0;
        for (size_t row = 0; row < EMU_ROTATED; row++) {
            const uint32_t magnitude = rows[row][g] & EMU_MAGNITUDE;
            highest = magnitude > highest ? magnitude : highest;
            lowest = magnitude && magnitude < lowest ? magnitude : lowest;
            signs |= rows[row][g] >> 31 << row;
        }
        some[g] = highest;
        minus[g] = signs;
        lowest = lowest >> 23 ? lowest >> 23 : 1;
        left[g] = highest && highest < EMU_INFINITY && (highest >> 23) > lowest + 25;
        for (size_t row = 0; row < EMU_ROTATED; row++)
            sums[row][g] = (double)emu_as_float(rows[row][g]);
    }
    for (size_t stride = 1; stride < EMU_ROTATED; stride *= 2)
        for (size_t row = 0; row < EMU_ROTATED; row++)
            if (!(row & stride))
                for (size_t g = 0; g < groups; g++) {
                    const double a = sums[row][g], b = sums[row + stride][g];
                    sums[row][g] = a + b;
                    sums[row + stride][g] = a - b;
                }
    for (size_t row = 0; row < EMU_ROTATED; row++)
        for (size_t g = 0; g < groups; g++) {
            const uint32_t zero = minus[g] == minus_zeros[row] ? ~EMU_MAGNITUDE : 0;
            rows[row][g] = some[g] ? emu_as_bits((float)(sums[row][g] * scale + 0.0)) : zero;
        }
}

/* Times the scale, and rounded once more, to nearest even, where the result is bf16; NaN canonical. */
EMU_INLINE void finish(uint32_t *restrict row, size_t groups, float scale, int32_t result, int32_t form) {
    (void)form;
    for (size_t g = 0; g < groups; g++) {
        const uint32_t bits = emu_as_bits(emu_as_float(row[g]) * scale);
        const uint32_t even = (bits >> 16) & 1, rounded = (bits + 0x7FFFu + even) & 0xFFFF0000u;
        const uint32_t kept = result == EMU_SOURCE_BF16 ? rounded : bits;
        row[g] = (bits & EMU_MAGNITUDE) > EMU_INFINITY ? EMU_CANONICAL_NAN : kept;
    }
}

EMU_INLINE void turn(const uint32_t *restrict x, size_t groups, uint32_t signs, group_rows *restrict rows, int32_t form) {
    (void)form;
    for (size_t row = 0; row < EMU_ROTATED; row++) {
        const uint32_t sign = (signs >> row & 1) << 31;
        for (size_t g = 0; g < groups; g++)
            rows[row][g] = x[g * EMU_ROTATED + row] ^ sign;
    }
}

EMU_INLINE void turn_back(group_rows *restrict rows, size_t groups, uint32_t *restrict y, int32_t form) {
    (void)form;
    for (size_t g = 0; g < groups; g++)
        for (size_t row = 0; row < EMU_ROTATED; row++)
            y[g * EMU_ROTATED + row] = rows[row][g];
}

EMU_FORMS(butterfly, (group_rows *restrict rows, size_t groups), rows, groups)
EMU_FORMS(add_term, (const uint32_t *restrict term, size_t groups, int negated, uint32_t *restrict sum), term, groups, negated, sum)
EMU_FORMS(sum_exactly, (group_rows *restrict rows, const uint32_t *minus_zeros, size_t groups, double scale, uint8_t *restrict left), rows,
          minus_zeros, groups, scale, left)
EMU_FORMS(finish, (uint32_t *restrict row, size_t groups, float scale, int32_t result), row, groups, scale, result)
EMU_FORMS(turn, (const uint32_t *restrict x, size_t groups, uint32_t signs, group_rows *restrict rows), x, groups, signs, rows)
EMU_FORMS(turn_back, (group_rows *restrict rows, size_t groups, uint32_t *restrict y), rows, groups, y)

void emu_rotate_rows(int32_t form, const emu_rotation *rotation, uint32_t (*rows)[EMU_LANES], size_t groups, uint8_t *left) {
    float scale = emu_as_float(rotation->scale);
    memset(left, 0, groups);
    if (rotation->order == EMU_SUM_BUTTERFLY)
        EMU_RUN(form, butterfly, rows, groups);
    else if (rotation->order == EMU_SUM_SEQUENTIAL) {
        uint32_t sums[EMU_ROTATED][EMU_LANES] = {{0}};
        for (size_t row = 0; row < EMU_ROTATED; row++)
            for (size_t term = 0; term < EMU_ROTATED; term++)
                EMU_RUN(form, add_term, rows[term], groups, is_negated(row, term), sums[row]);
        memcpy(rows, sums, sizeof sums);
    } else {
        uint32_t minus_zeros[EMU_ROTATED] = {0};
        for (size_t row = 0; row < EMU_ROTATED; row++)
            for (size_t term = 0; term < EMU_ROTATED; term++)
                minus_zeros[row] |= (uint32_t)!is_negated(row, term) << term;
        EMU_RUN(form, sum_exactly, rows, minus_zeros, groups, (double)scale, left);
        scale = 1.0f;
    }
    for (size_t row = 0; row < EMU_ROTATED; row++)
        EMU_RUN(form, finish, rows[row], groups, scale, rotation->result);
}

void emu_rotate_groups(int32_t form, const emu_rotation *rotation, const uint32_t *x, size_t groups, uint32_t *y, uint8_t *left) {
    uint32_t rows[EMU_ROTATED][EMU_LANES];
    EMU_RUN(form, turn, x, groups, rotation->signs, rows);
    emu_rotate_rows(form, rotation, rows, groups, left);
    EMU_RUN(form, turn_back, rows, groups, y);
}

int32_t emu_rotate(int32_t form, const emu_rotation *rotation, int32_t source, const void *x, size_t groups, uint32_t *y, uint8_t *left) {
    uint32_t values[EMU_CHUNK];
    int32_t error;
    if (rotation == NULL || x == NULL || y == NULL || left == NULL || source < EMU_SOURCE_FP32 || source > EMU_SOURCE_FP16)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    error = emu_check_floats();
    for (size_t first = 0; first < groups && !error; first += EMU_LANES) {
        const size_t count = groups - first < EMU_LANES ? groups - first : EMU_LANES, width = source == EMU_SOURCE_FP32 ? 4 : 2;
        emu_widen(form, source, (const uint8_t *)x + first * EMU_ROTATED * width, count * EMU_ROTATED, values);
        emu_rotate_groups(form, rotation, values, count, y + first * EMU_ROTATED, left + first);
    }
    return error;
}
