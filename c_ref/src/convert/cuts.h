/* cuts.h: convert once more, for normal codes of a float format to a codebook by a mode that draws nothing; see normals.h for why. Every
 * number at which the code can change is a whole count of half units: the values of the list, and the middles of neighbours. The codes at
 * and between these cuts are those of emu_round_to_codebook, asked once an array; the loop only finds the place of each number among them.
 */
#ifndef EMU_CUTS_H
#define EMU_CUTS_H

#include "../steps.h"

enum { EMU_MAX_CUTS = 2 * EMU_MAX_CODEBOOK };

typedef struct emu_cuts {
    int64_t cut[EMU_MAX_CUTS];      /* half units, ascending; 2^(bits + 1) - 1 of them, then INT64_MAX */
    uint8_t at[EMU_MAX_CUTS];       /* code at cut i */
    uint8_t below[EMU_MAX_CUTS];    /* code between the cuts i - 1 and i; the first and the last: outside */
    int32_t steps;                  /* as many bits as the count of cuts has */
    int64_t half_exp;               /* a half unit is 2^half_exp */
} emu_cuts;

void emu_plan_cuts(const emu_grid *to, const emu_rounding *rounding, emu_cuts *plan);

/* The largest whole number of half units that is not above a normal number, and whether something is left. */
static inline int64_t emu_count_halves(int64_t half_exp, uint64_t sign, uint64_t significand, int64_t lsb_exp, int64_t *left)
{
    const uint64_t limit = (uint64_t)1 << 62; /* above every cut */
    int64_t shift = half_exp - lsb_exp;
    uint64_t right = (uint64_t)(shift > 63 ? 63 : shift < 0 ? 0 : shift), up = (uint64_t)(shift < -63 ? 63 : shift > 0 ? 0 : -shift);
    uint64_t whole = significand >> right, lost = significand - (whole << right), moved = whole << up;
    uint64_t halves = moved >> up == whole && moved < limit ? moved : limit;
    *left = lost != 0;
    return sign ? -(int64_t)halves - *left : (int64_t)halves;
}

#endif
