/* quantize, any program of steps without draws and rotations: EMU_ACROSS tiles side by side, one lane each, so that every step is a loop over
 * lanes, what a tile shares is one row of them, and maxima and sums inside a tile are loops over rows, in any order of additions. All rows of
 * the tiles at hand lie in the nearest caches. Which programs, emu/engines/native/tiles.py says. */
#include "kernels.h"

typedef struct emu_lanes {
    int32_t rows;
    const uint32_t *from[4];
    const int32_t *shift;
} emu_lanes;

/* An argument that several rows of the result share has fewer rows. */
#define ROW(k) (count.from[k] + (size_t)((row >> count.shift[k]) * EMU_ACROSS))
#define LANES(expression)                                                                             \
    for (int32_t row = 0; row < count.rows; row++) {                                                  \
        const uint32_t *restrict a = ROW(0), *restrict b = ROW(1), *restrict c = ROW(2), *restrict d = ROW(3); \
        uint32_t *restrict to = out + (size_t)(row * EMU_ACROSS);                                     \
        (void)a, (void)b, (void)c, (void)d;                                                           \
        for (int32_t i = 0; i < EMU_ACROSS; i++)                                                      \
            to[i] = (expression);                                                                     \
    }                                                                                                 \
    break

#include "steps.h"

/* A binary32 magnitude on the grid of a float format, to nearest even, as a code that goes on above the largest one. */
EMU_INLINE uint32_t endless_code(const emu_kernel_step *step, uint32_t magnitude) {
    const uint32_t drop = (uint32_t)(23 - step->frac_bits), half = (UINT32_C(1) << drop) / 2, even = (magnitude >> drop) & 1;
    const uint32_t rebias = (uint32_t)(127 - step->bias) << step->frac_bits, last = (uint32_t)(128 - step->bias + (int32_t)drop) << 23;
    const uint32_t low = emu_as_bits(emu_as_float(magnitude) + emu_as_float(last)) - last;
    return emu_either((int32_t)magnitude < (128 - step->bias) << 23, low, ((magnitude + half - 1 + even) >> drop) - rebias);
}

/* The same up to the largest code, by any rounding: the sum with 2^23 places of the number's own binade has their number in its low bits. */
EMU_INLINE uint32_t ending_code(const emu_kernel_step *step, uint32_t magnitude, int32_t rounding) {
    const uint32_t drop = (uint32_t)(23 - step->frac_bits), lowest = (uint32_t)(128 - step->bias) << 23;
    const uint32_t top = ((uint32_t)step->largest << drop) + ((uint32_t)(127 - step->bias) << 23);
    const uint32_t kept = (int32_t)magnitude < (int32_t)top ? magnitude : top, field = kept & EMU_INFINITY;
    const uint32_t binade = (int32_t)field > (int32_t)lowest ? field : lowest, last = binade + (drop << 23);
    const float value = emu_as_float(kept), sum = value + emu_as_float(last);
    const uint32_t left = emu_as_bits(value - (sum - emu_as_float(last))); /* as bits: compares of floats would be branches */
    uint32_t code = emu_as_bits(sum) - last + ((binade - lowest) >> drop);
    if (rounding == EMU_TO_ZERO)
        code -= left >> 31;
    if (rounding == EMU_TO_AWAY)
        code += left == last - (UINT32_C(24) << 23);
    return code;
}

EMU_INLINE uint32_t signed_code(const emu_kernel_step *step, uint32_t bits, uint32_t code) {
    return emu_either((int32_t)(bits & EMU_MAGNITUDE) > (int32_t)EMU_INFINITY, (uint32_t)step->nan,
                      code | (bits & ~EMU_MAGNITUDE) >> (31 - step->sign_bit));
}

EMU_INLINE uint32_t wrapped_code(const emu_kernel_step *step, uint32_t bits) {
    const uint32_t magnitude = bits & EMU_MAGNITUDE, code = endless_code(step, magnitude) & step->wraps;
    return signed_code(step, bits, emu_either(magnitude < EMU_INFINITY, code, (uint32_t)step->largest));
}

EMU_INLINE uint32_t signed_value(const emu_kernel_step *step, uint32_t code) {
    const float rebias = emu_as_float((uint32_t)(254 - step->bias) << 23);
    const uint32_t sign = (code >> step->sign_bit) & 1, magnitude = code & ((UINT32_C(1) << step->sign_bit) - 1);
    const uint32_t found = emu_as_bits(emu_as_float(magnitude << (23 - step->frac_bits)) * rebias) | sign << 31;
    return emu_either((code & EMU_TILE_OPEN) != 0, EMU_CANONICAL_NAN, found);
}

EMU_INLINE uint32_t integer_code(const emu_kernel_step *step, uint32_t bits) {
    const int32_t magnitude = (int32_t)(bits & EMU_MAGNITUDE), negative = (int32_t)bits >> 31;
    const int32_t size = (int32_t)(emu_as_bits(emu_as_float((uint32_t)magnitude) + 8388608.0f) - 0x4B000000u); /* 2^23 */
    const int32_t end = (int32_t)emu_either(-negative, (uint32_t)step->emax, (uint32_t)step->largest), kept = size < end ? size : end;
    const uint32_t code = (uint32_t)((kept ^ negative) - negative) & ((UINT32_C(2) << step->sign_bit) - 1);
    return emu_either(magnitude > (int32_t)EMU_INFINITY, (uint32_t)step->nan, code);
}

EMU_INLINE uint32_t integer_value(const emu_kernel_step *step, uint32_t code) {
    const int32_t sign = (int32_t)(UINT32_C(1) << step->sign_bit), low = (int32_t)(code & ((UINT32_C(2) << step->sign_bit) - 1));
    return emu_either((code & EMU_TILE_OPEN) != 0, EMU_CANONICAL_NAN, emu_as_bits((float)((low ^ sign) - sign)));
}

EMU_INLINE uint32_t between(uint32_t bits, uint32_t low, uint32_t high) {
    const uint32_t raised = emu_either(emu_as_float(bits) < emu_as_float(low), low, bits);
    return emu_either(emu_as_float(high) < emu_as_float(raised), high, raised);
}

/* A number on the grid of a float format that goes on above its maximum, to nearest even; NaN and Inf stay. */
EMU_INLINE uint32_t grid_value(const emu_kernel_step *step, uint32_t bits) {
    const uint32_t magnitude = bits & EMU_MAGNITUDE, drop = (uint32_t)(23 - step->frac_bits), unit = UINT32_C(1) << drop;
    const uint32_t last = (uint32_t)(151 - step->bias - step->frac_bits) << 23;
    const uint32_t normal = (magnitude + unit / 2 - 1 + ((magnitude >> drop) & 1)) & ~(unit - 1);
    const uint32_t low = emu_as_bits((emu_as_float(magnitude) + emu_as_float(last)) - emu_as_float(last));
    const uint32_t found = emu_either((int32_t)magnitude < (128 - step->bias) << 23, low, normal);
    return emu_either((int32_t)magnitude >= (int32_t)EMU_INFINITY, bits, found | (bits & ~EMU_MAGNITUDE));
}

EMU_INLINE uint32_t nearest_bf16(uint32_t bits) {
    return is_nan(bits) ? EMU_CANONICAL_NAN : (bits + 0x7FFFu + ((bits >> 16) & 1)) & 0xFFFF0000u;
}

/* A binary64 product or quotient of binary32 numbers to bf16, nearest even: its 53 bits lie on the side of every middle of bf16 numbers where
 * the exact one does, so it goes to binary32 rounded to odd, and from there to bf16. */
EMU_INLINE uint32_t narrowed(double exact) {
    const float near = (float)exact;
    const double rest = exact - (double)near;
    const uint32_t bits = emu_as_bits(near), off = (double)near != exact && !(bits & 1);
    return nearest_bf16(off ? ((rest > 0) == (exact > 0) ? bits + 1 : bits - 1) : bits);
}

EMU_INLINE void find_nearest(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out) {
    const uint32_t mask = step->sign_bit ? EMU_MAGNITUDE : ~UINT32_C(0); /* rounding is the same for both signs */
    EMU_ALIGNED uint32_t least[EMU_ACROSS];
    for (int32_t row = 0; row < count.rows; row++) {
        const uint32_t *restrict a = ROW(0), *restrict b = ROW(1);
        uint32_t *restrict to = out + (size_t)(row * EMU_ACROSS);
        for (int32_t k = 0; k < step->largest; k++) {
            const float value = emu_as_float(step->values[k]);
            const uint32_t code = step->codes[k];
            for (int32_t i = 0; i < EMU_ACROSS; i++) {
                const float unit = emu_as_float(b[i] & mask), wanted = emu_as_float(a[i] & mask);
                const uint32_t error = emu_as_bits(value * unit - wanted) & EMU_MAGNITUDE;
                const int32_t better = k == 0 || emu_as_float(error) < emu_as_float(least[i]);
                to[i] = emu_either(better, code, to[i]);
                least[i] = emu_either(better, error, least[i]);
            }
        }
        for (int32_t i = 0; i < EMU_ACROSS && step->sign_bit; i++)
            to[i] |= emu_either(to[i] != 0, ((a[i] ^ b[i]) >> 31) << step->sign_bit, 0);
    }
}

EMU_INLINE void add_row(uint32_t *restrict out, const uint32_t *restrict a, const uint32_t *restrict b) {
    for (int32_t i = 0; i < EMU_ACROSS; i++)
        out[i] = emu_as_bits(emu_as_float(a[i]) + emu_as_float(b[i]));
}

EMU_INLINE void add_to_row(uint32_t *restrict out, const uint32_t *restrict b) {
    for (int32_t i = 0; i < EMU_ACROSS; i++)
        out[i] = emu_as_bits(emu_as_float(out[i]) + emu_as_float(b[i]));
}

/* Sums of `terms` rows each. The first half plus the second, until one row is left (a tree), once (halves) or never; then one after another. */
EMU_INLINE void sum_rows(const emu_tile_step *step, const uint32_t *restrict a, uint32_t *restrict out) {
    EMU_ALIGNED uint32_t halved[EMU_TILE_TERMS / 2][EMU_ACROSS];
    for (int32_t row = 0; row < step->rows; row++, a += step->terms * EMU_ACROSS, out += EMU_ACROSS) {
        int32_t left = step->terms;
        if (step->step.variant == EMU_ADDS_IN_TURN || left == 1) {
            memset(out, 0, EMU_ACROSS * sizeof *out);
            for (int32_t k = 0; k < left; k++)
                add_to_row(out, a + k * EMU_ACROSS);
            if (step->step.variant == EMU_ADDS_AS_TREE) /* of one term: nothing is added, -0 stays */
                memcpy(out, a, EMU_ACROSS * sizeof *out);
            continue;
        }
        left /= 2;
        for (int32_t k = 0; k < left; k++)
            add_row(halved[k], a + k * EMU_ACROSS, a + (k + left) * EMU_ACROSS);
        while (step->step.variant == EMU_ADDS_AS_TREE && left > 1) {
            left /= 2;
            for (int32_t k = 0; k < left; k++)
                add_to_row(halved[k], halved[k + left]);
        }
        if (step->step.variant == EMU_ADDS_AS_TREE)
            memcpy(out, halved[0], EMU_ACROSS * sizeof *out);
        else
            memset(out, 0, EMU_ACROSS * sizeof *out);
        for (int32_t k = 0; k < left && step->step.variant == EMU_ADDS_IN_HALVES; k++)
            add_to_row(out, halved[k]);
    }
}

EMU_INLINE void largest_rows(const emu_tile_step *step, const uint32_t *restrict a, uint32_t *restrict out) {
    const uint32_t drops = step->step.variant == EMU_NAN_DROPS;
    for (int32_t row = 0; row < step->rows; row++, a += step->terms * EMU_ACROSS, out += EMU_ACROSS) {
        for (int32_t i = 0; i < EMU_ACROSS; i++)
            out[i] = a[i] & EMU_MAGNITUDE;
        for (int32_t k = 1; k < step->terms; k++)
            for (int32_t i = 0; i < EMU_ACROSS; i++) {
                const uint32_t one = out[i], two = a[k * EMU_ACROSS + i] & EMU_MAGNITUDE;
                const uint32_t most = one > two ? one : two, least = one > two ? two : one;
                out[i] = drops && most > EMU_INFINITY ? least : most;
            }
        for (int32_t i = 0; i < EMU_ACROSS; i++)
            out[i] = out[i] > EMU_INFINITY ? EMU_CANONICAL_NAN : out[i];
    }
}

EMU_INLINE void cast_lanes(const emu_kernel_step *step, emu_lanes count, uint32_t *restrict out) {
    const emu_kernel_step own = *step;
    switch (step->variant) {
    case EMU_TO_EVEN:
        LANES(signed_code(&own, a[i], ending_code(&own, a[i] & EMU_MAGNITUDE, EMU_TO_EVEN)));
    case EMU_TO_ZERO:
        LANES(signed_code(&own, a[i], ending_code(&own, a[i] & EMU_MAGNITUDE, EMU_TO_ZERO)));
    case EMU_TO_AWAY:
        LANES(signed_code(&own, a[i], ending_code(&own, a[i] & EMU_MAGNITUDE, EMU_TO_AWAY)));
    default:
        LANES(wrapped_code(&own, a[i]));
    }
}

EMU_INLINE void tile_step(const emu_tile_step *step, uint32_t *room, int32_t form) {
    const emu_kernel_step own = step->step;
    uint32_t *restrict out = room + (size_t)(own.out * EMU_ACROSS);
    emu_lanes count = {step->rows, {NULL, NULL, NULL, NULL}, step->shift};
    for (int k = 0; k < 4; k++)
        count.from[k] = room + (size_t)(own.args[k] * EMU_ACROSS);
    switch (own.operation) {
    case EMU_STEP_AMAX:
        largest_rows(step, count.from[0], out);
        break;
    case EMU_STEP_SUM:
        sum_rows(step, count.from[0], out);
        break;
    case EMU_STEP_NEAREST:
        find_nearest(&own, count, out);
        break;
    case EMU_STEP_CAST_SIGNED:
        cast_lanes(&own, count, out);
        break;
    case EMU_STEP_DECODE_SIGNED:
        LANES(signed_value(&own, a[i]));
    case EMU_STEP_CAST_OPEN:
        LANES(is_nan(a[i]) ? (uint32_t)EMU_TILE_OPEN : own.codes[emu_odd_bf16(a[i])]);
    case EMU_STEP_DECODE_OPEN:
        LANES(a[i] & EMU_TILE_OPEN ? EMU_CANONICAL_NAN : own.values[a[i] & 255]);
    case EMU_STEP_ROUND_BF16:
        LANES(nearest_bf16(a[i]));
    case EMU_STEP_ROUND_GRID:
        LANES(grid_value(&own, a[i]));
    case EMU_STEP_MUL_BF16:
        LANES(narrowed((double)emu_as_float(a[i]) * (double)emu_as_float(b[i])));
    case EMU_STEP_DIV_BF16:
        LANES(narrowed((double)emu_as_float(a[i]) / (double)emu_as_float(b[i])));
    case EMU_STEP_CAST_INTEGER:
        LANES(integer_code(&own, a[i]));
    case EMU_STEP_DECODE_INTEGER:
        LANES(integer_value(&own, a[i]));
    case EMU_STEP_CLAMP_NUMBERS:
        LANES(between(a[i], b[i], c[i]));
    default:
        one_step(&own, count, out, form);
    }
}

EMU_INLINE void tile_steps(const emu_tile_step *steps, int32_t step_count, uint32_t *room, int32_t form) {
    for (int32_t k = 0; k < step_count; k++)
        tile_step(steps + k, room, form);
}

EMU_FORMS(tile_steps, (const emu_tile_step *steps, int32_t step_count, uint32_t *room), steps, step_count, room)

/* How a matrix of one value for each element, or for each part of a tile, lies in memory: the first value of the tile of each lane. */
typedef struct view {
    size_t start[EMU_ACROSS];
    size_t down, right; /* between neighbours of a column, of a row */
    int32_t rows, columns; /* of one tile */
    int32_t lanes;
} view;

static void look_at(view *out, size_t tiles_down, size_t tiles_right, int32_t along_rows, size_t first) {
    const size_t line = along_rows ? tiles_down : tiles_right;
    const size_t next_down = (size_t)out->rows * (out->down = along_rows ? 1 : tiles_right * (size_t)out->columns);
    const size_t next_right = (size_t)out->columns * (out->right = along_rows ? tiles_down * (size_t)out->rows : 1);
    const size_t next = along_rows ? next_down : next_right, next_line = along_rows ? next_right : next_down;
    size_t major = first / line, minor = first % line;
    int32_t lane = 0;
    for (int32_t end; lane < out->lanes; major++, minor = 0) {
        size_t start = major * next_line + minor * next;
        end = (size_t)(out->lanes - lane) < line - minor ? out->lanes : lane + (int32_t)(line - minor);
        for (; lane < end; lane++, start += next)
            out->start[lane] = start;
    }
    for (; lane < EMU_ACROSS; lane++) /* lanes beyond the last tile repeat it */
        out->start[lane] = out->start[out->lanes - 1];
}

/* Rows of 16 values turned into columns, by interleaving halves of the rows until each row was first or second in a pair once for each bit
 * of its number. GCC turns each line into one permutation with AVX-512; the other forms, and Clang, move value by value. */
#if EMU_X86_FORMS && !defined(__clang__)
#define EMU_TURNS(form) ((form) == EMU_AVX512)
typedef uint32_t lanes16 __attribute__((vector_size(64)));

EMU_INLINE void turn(lanes16 *restrict rows, int count) {
    const lanes16 low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    const lanes16 high = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    lanes16 other[16];
    for (int left = count; left > 1; left /= 2) {
        for (int k = 0; k < count / 2; k++) {
            other[2 * k] = __builtin_shuffle(rows[k], rows[k + count / 2], low);
            other[2 * k + 1] = __builtin_shuffle(rows[k], rows[k + count / 2], high);
        }
        for (int k = 0; k < count; k++)
            rows[k] = other[k];
    }
}

EMU_INLINE void spread_squares(const uint8_t *const *from, int32_t columns, uint32_t *rows) {
    lanes16 square[16];
    for (int32_t lane = 0; lane < EMU_ACROSS; lane += 16)
        for (int32_t j = 0; j < columns; j += 16) {
            for (int k = 0; k < 16; k++)
                memcpy(square + k, from[lane + k] + (size_t)j * 4, sizeof *square);
            turn(square, 16);
            for (int k = 0; k < 16; k++)
                memcpy(rows + (j + k) * EMU_ACROSS + lane, square + k, sizeof *square);
        }
}

/* Codes of four neighbours go into one value first, so that four rows are turned instead of sixteen. */
EMU_INLINE void gather_squares(const uint32_t *rows, int32_t columns, int32_t lanes, uint8_t *const *to, uint32_t *seen) {
    lanes16 part[4], four[4], all = {0};
    for (int32_t lane = 0; lane < lanes; lane += 16)
        for (int32_t j = 0; j < columns; j += 16) {
            for (int k = 0; k < 4; k++) {
                for (int n = 0; n < 4; n++) {
                    memcpy(part + n, rows + (j + 4 * k + n) * EMU_ACROSS + lane, sizeof *part);
                    all |= part[n];
                }
                four[k] = (part[0] & 255) | (part[1] & 255) << 8 | (part[2] & 255) << 16 | part[3] << 24;
            }
            turn(four, 4);
            for (int k = 0; k < 16 && lane + k < lanes; k++)
                memcpy(to[lane + k] + j, (const uint8_t *)four + 16 * k, 16);
        }
    for (int k = 0; k < 16; k++)
        *seen |= all[k];
}
#else
#define EMU_TURNS(form) 0
#endif

EMU_INLINE void spread(const uint8_t *const *from, int32_t columns, uint32_t *rows, int32_t form) {
#if EMU_X86_FORMS && !defined(__clang__)
    if (EMU_TURNS(form) && columns % 16 == 0) {
        spread_squares(from, columns, rows);
        return;
    }
#endif
    (void)form;
    for (int32_t lane = 0; lane < EMU_ACROSS; lane++)
        for (int32_t j = 0; j < columns; j++)
            memcpy(rows + j * EMU_ACROSS + lane, from[lane] + (size_t)j * 4, sizeof *rows);
}

EMU_INLINE void gather(const uint32_t *rows, int32_t columns, int32_t lanes, uint8_t *const *to, uint32_t *seen, int32_t form) {
#if EMU_X86_FORMS && !defined(__clang__)
    if (EMU_TURNS(form) && columns % 16 == 0) {
        gather_squares(rows, columns, lanes, to, seen);
        return;
    }
#endif
    (void)form;
    for (int32_t lane = 0; lane < lanes; lane++)
        for (int32_t j = 0; j < columns; j++) {
            const uint32_t value = rows[j * EMU_ACROSS + lane];
            to[lane][j] = (uint8_t)value;
            *seen |= value;
        }
}

EMU_FORMS(spread, (const uint8_t *const *from, int32_t columns, uint32_t *rows), from, columns, rows)
EMU_FORMS(gather, (const uint32_t *rows, int32_t columns, int32_t lanes, uint8_t *const *to, uint32_t *seen), rows, columns, lanes,
          to, seen)

/* An address that will be read soon; one that is none costs nothing. */
#ifdef __GNUC__
#define EMU_FETCH(address) __builtin_prefetch((const void *)(address))
#else
#define EMU_FETCH(address) ((void)(address))
#endif

/* Elements of the tiles at hand as binary32, into their rows. */
static void load(int32_t form, const view *at, int32_t source, const void *x, uint32_t *rows) {
    EMU_ALIGNED uint32_t wide[EMU_ACROSS][EMU_TILE_TERMS];
    uint16_t halves[EMU_ACROSS];
    const uint8_t *from[EMU_ACROSS];
    const size_t width = source == EMU_SOURCE_FP32 ? 4 : 2;
    for (int32_t i = 0; i < at->rows; i++, rows += at->columns * EMU_ACROSS)
        if (at->right == 1) {
            for (int32_t lane = 0; lane < EMU_ACROSS; lane++) {
                from[lane] = (const uint8_t *)x + (at->start[lane] + (size_t)i * at->down) * width;
                for (size_t line = 0; line < (size_t)at->columns * width; line += 64) /* of the tile of this lane that comes next */
                    EMU_FETCH((uintptr_t)from[lane] + EMU_ACROSS * (size_t)at->columns * width + line);
                if (source == EMU_SOURCE_FP32)
                    continue;
                emu_widen(form, source, from[lane], (size_t)at->columns, wide[lane]);
                from[lane] = (const uint8_t *)wide[lane];
            }
            EMU_RUN(form, spread, from, at->columns, rows);
        } else
            for (int32_t j = 0; j < at->columns; j++) {
                const size_t offset = (size_t)i * at->down + (size_t)j * at->right;
                uint32_t *to = rows + j * EMU_ACROSS;
                for (int32_t lane = 0; lane < EMU_ACROSS; lane++)
                    if (source == EMU_SOURCE_FP32)
                        to[lane] = ((const uint32_t *)x)[at->start[lane] + offset];
                    else
                        halves[lane] = ((const uint16_t *)x)[at->start[lane] + offset];
                if (source != EMU_SOURCE_FP32)
                    emu_widen(form, source, halves, EMU_ACROSS, to);
            }
}

/* The rows of codes or levels of a tile into their places; a NaN of 4 bytes is canonical. Returns whether a code is open. */
static int32_t store(int32_t form, const view *at, const emu_tile_part *part, const uint32_t *rows, void *out) {
    uint32_t seen = 0;
    uint8_t *to[EMU_ACROSS];
    for (int32_t i = 0; i < at->rows; i++) {
        if (part->bytes == 1 && part->shift == 0 && at->right == 1 && at->columns > 1) {
            for (int32_t lane = 0; lane < at->lanes; lane++)
                to[lane] = (uint8_t *)out + at->start[lane] + (size_t)i * at->down;
            EMU_RUN(form, gather, rows + i * at->columns * EMU_ACROSS, at->columns, at->lanes, to, &seen);
            continue;
        }
        for (int32_t j = 0; j < at->columns; j++) {
            const uint32_t *row = rows + ((i * at->columns + j) >> part->shift) * EMU_ACROSS;
            const size_t offset = (size_t)i * at->down + (size_t)j * at->right;
            for (int32_t lane = 0; lane < at->lanes; lane++)
                if (part->bytes == 1) {
                    ((uint8_t *)out)[at->start[lane] + offset] = (uint8_t)row[lane];
                    seen |= row[lane];
                } else
                    ((uint32_t *)out)[at->start[lane] + offset] = is_nan(row[lane]) ? EMU_CANONICAL_NAN : row[lane];
        }
    }
    return (seen & EMU_TILE_OPEN) != 0;
}

static int32_t is_step_valid(const emu_tile_step *step, int32_t room_rows) {
    const emu_kernel_step *own = &step->step;
    if (own->operation < EMU_STEP_ADD || own->operation > EMU_STEP_DECODE_INTEGER || step->rows < 1 || own->out < 0 ||
        own->out > room_rows - step->rows || step->terms < 1 || step->terms > EMU_TILE_TERMS)
        return 0;
    for (int k = 0; k < 4; k++) {
        const int32_t rows = own->operation == EMU_STEP_AMAX || own->operation == EMU_STEP_SUM ? step->rows * step->terms
                                                                                              : ((step->rows - 1) >> step->shift[k]) + 1;
        if (step->shift[k] < 0 || step->shift[k] > 30 || own->args[k] < 0 || own->args[k] > room_rows - rows)
            return 0;
        if (own->args[k] < own->out + step->rows && own->out < own->args[k] + rows)
            return 0; /* a step does not read what it writes */
    }
    return 1;
}

static int32_t are_steps_valid(const emu_tile_step *steps, int32_t step_count, int32_t room_rows) {
    if (step_count < 0 || (step_count && steps == NULL))
        return 0;
    for (int32_t k = 0; k < step_count; k++)
        if (!is_step_valid(steps + k, room_rows))
            return 0;
    return 1;
}

int32_t emu_run_tiles(int32_t form, const emu_tile_step *steps, int32_t step_count, int32_t room_rows, uint32_t *room) {
    if (room == NULL || !are_steps_valid(steps, step_count, room_rows))
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    EMU_RUN(form, tile_steps, steps, step_count, room);
    return EMU_KERNEL_OK;
}

int32_t emu_quantize_tiles(int32_t form, const emu_tile_plan *plan, int32_t source, const void *x, size_t tiles_down, size_t tiles_right,
                           int32_t along_rows, void *const *outputs, uint32_t *room, uint8_t *open) {
    view at;
    int32_t error = emu_check_floats();
    if (plan == NULL || x == NULL || outputs == NULL || open == NULL || source < EMU_SOURCE_FP32 || source > EMU_SOURCE_FP16)
        return EMU_KERNEL_ARGUMENT;
    if (plan->rows < 1 || plan->columns < 1 || plan->columns > EMU_TILE_TERMS || plan->part_count < 1 ||
        plan->part_count > EMU_TILE_PARTS || !are_steps_valid(plan->steps, plan->step_count, plan->room_rows))
        return EMU_KERNEL_ARGUMENT;
    if (!error)
        error = emu_run_tiles(form, plan->once, plan->once_count, plan->room_rows, room);
    if (error)
        return error;
    *open = 0;
    for (size_t first = 0, tiles = tiles_down * tiles_right; first < tiles; first += EMU_ACROSS) {
        at.lanes = tiles - first < EMU_ACROSS ? (int32_t)(tiles - first) : EMU_ACROSS;
        at.rows = plan->rows, at.columns = plan->columns;
        look_at(&at, tiles_down, tiles_right, along_rows, first);
        load(form, &at, source, x, room + plan->x * EMU_ACROSS);
        EMU_RUN(form, tile_steps, plan->steps, plan->step_count, room);
        for (int32_t k = 0; k < plan->part_count; k++) {
            const emu_tile_part *part = plan->parts + k;
            at.rows = part->rows, at.columns = part->columns;
            look_at(&at, tiles_down, tiles_right, along_rows, first);
            *open |= (uint8_t)store(form, &at, part, room + part->row * EMU_ACROSS, outputs[k]);
        }
    }
    return EMU_KERNEL_OK;
}
