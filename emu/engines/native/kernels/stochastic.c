/* Scaled elements rounded to the grid of a format by random bits, as bf16 numbers of that grid: the chain of convert.c then only finds their
 * codes. A number that is rounded to zero becomes the smallest normal one of its sign, which the chain rounds to zero, sign kept. */
#include "kernels.h"

/* All ones where a is below b, for choices without a branch: gcc does not vectorise a loop whose arithmetic depends on one. */
EMU_INLINE uint32_t below(uint32_t a, uint32_t b) { return 0 - (uint32_t)(a < b); }

EMU_INLINE uint32_t choose(uint32_t mask, uint32_t yes, uint32_t no) { return (mask & yes) | (~mask & no); }

/* One magnitude, cut to how->top. From the lowest normal number on the grid is the top bits of the number itself; below it lies at multiples
 * of how->unit. */
EMU_INLINE uint32_t drawn(uint32_t bits, uint32_t random, const emu_stochastic *how, int32_t adds) {
    const uint32_t cut = choose(below(bits, how->top), bits, how->top), keep = 0 - (UINT32_C(1) << how->drop);
    const uint32_t small = below(cut, how->lowest);
    if (adds) { /* the discarded bits, cut to as many as are drawn, and the random ones: does the sum carry */
        const uint32_t above = (cut + (random << (how->drop - how->bits))) & keep;
        const int32_t units = (int32_t)(emu_as_float(cut & small) * how->parts) + (int32_t)random;
        return choose(small, emu_as_bits((float)(units >> how->bits) * how->unit), above);
    } else { /* one sum rounded to binary32; the product is exact */
        const uint32_t ulp = choose(small, how->least_ulp, (cut & EMU_INFINITY) - ((uint32_t)(23 - how->drop) << 23));
        const uint32_t sum = emu_as_bits(emu_as_float(cut) + (float)(int32_t)random * how->share * emu_as_float(ulp));
        const int32_t units = (int32_t)(emu_as_float(sum & small) * how->per_unit);
        return choose(small, emu_as_bits((float)units * how->unit), sum & keep);
    }
}

EMU_INLINE uint16_t draw_one(uint32_t x, float factor, int32_t divides, uint32_t random, const emu_stochastic *how, int32_t adds) {
    const float value = emu_as_float(x);
    const uint32_t bits = emu_as_bits(divides ? value / factor : value * factor), magnitude = bits & EMU_MAGNITUDE;
    const uint32_t found = drawn(magnitude, random, how, adds);
    const uint32_t number = found | (below(found, 1) & below(0, magnitude) & 0x00800000u);
    const uint32_t special = EMU_INFINITY | (below(EMU_INFINITY, magnitude) & EMU_CANONICAL_NAN);
    return (uint16_t)((choose(below(magnitude, EMU_INFINITY), number, special) | (bits & ~EMU_MAGNITUDE)) >> 16);
}

EMU_INLINE void draw_blocks(const uint32_t *restrict x, const uint8_t *restrict random, const uint32_t *restrict factors, size_t blocks,
                            size_t block, int32_t divides, const emu_stochastic *given, int32_t adds, uint16_t *restrict scaled, int32_t form) {
    const emu_stochastic how = *given;
    (void)form;
    for (size_t b = 0; b < blocks; b++) {
        const float factor = emu_as_float(factors[b]);
        for (size_t i = 0; i < block; i++)
            scaled[b * block + i] = draw_one(x[b * block + i], factor, divides, random[b * block + i], &how, adds);
    }
}

EMU_INLINE void draw_sixteen(const uint32_t *restrict x, const uint8_t *restrict random, const uint32_t *restrict factors, size_t blocks,
                             size_t block, int32_t divides, const emu_stochastic *how, uint16_t *restrict scaled, int32_t form) {
    if (how->adds && divides && block == 16)
        draw_blocks(x, random, factors, blocks, 16, 1, how, 1, scaled, form);
    else if (how->adds && block == 16)
        draw_blocks(x, random, factors, blocks, 16, 0, how, 1, scaled, form);
    else if (how->adds)
        draw_blocks(x, random, factors, blocks, block, divides, how, 1, scaled, form);
    else if (!divides && block == 16)
        draw_blocks(x, random, factors, blocks, 16, 0, how, 0, scaled, form);
    else
        draw_blocks(x, random, factors, blocks, block, divides, how, 0, scaled, form);
}

EMU_INLINE void draw_lanes(const uint32_t *restrict x, const uint8_t *restrict random, const uint32_t *restrict factors, size_t width,
                           int32_t divides, const emu_stochastic *given, int32_t adds, uint16_t *restrict scaled, int32_t form) {
    const emu_stochastic how = *given;
    (void)form;
    for (size_t j = 0; j < width; j++)
        scaled[j] = draw_one(x[j], emu_as_float(factors[j]), divides, random[j], &how, adds);
}

EMU_INLINE void draw_row(const uint32_t *restrict x, const uint8_t *restrict random, const uint32_t *restrict factors, size_t width,
                         int32_t divides, const emu_stochastic *how, uint16_t *restrict scaled, int32_t form) {
    if (how->adds && divides)
        draw_lanes(x, random, factors, width, 1, how, 1, scaled, form);
    else if (how->adds)
        draw_lanes(x, random, factors, width, 0, how, 1, scaled, form);
    else if (divides)
        draw_lanes(x, random, factors, width, 1, how, 0, scaled, form);
    else
        draw_lanes(x, random, factors, width, 0, how, 0, scaled, form);
}

EMU_FORMS(draw_sixteen, (const uint32_t *restrict x, const uint8_t *restrict random, const uint32_t *restrict factors, size_t blocks,
                         size_t block, int32_t divides, const emu_stochastic *how, uint16_t *restrict scaled), x, random, factors, blocks,
          block, divides, how, scaled)
EMU_FORMS(draw_row, (const uint32_t *restrict x, const uint8_t *restrict random, const uint32_t *restrict factors, size_t width,
                     int32_t divides, const emu_stochastic *how, uint16_t *restrict scaled), x, random, factors, width, divides, how, scaled)

void emu_draw_blocks(int32_t form, const emu_stochastic *how, const uint32_t *x, const uint8_t *random, const uint32_t *factors,
                     size_t blocks, size_t block, int32_t divides, uint16_t *scaled) {
    EMU_RUN(form, draw_sixteen, x, random, factors, blocks, block, divides, how, scaled);
}

void emu_draw_row(int32_t form, const emu_stochastic *how, const uint32_t *x, const uint8_t *random, const uint32_t *factors, size_t width,
                  int32_t divides, uint16_t *scaled) {
    EMU_RUN(form, draw_row, x, random, factors, width, divides, how, scaled);
}
