/* overflow.h: what becomes of a magnitude beyond the maximum, one element. Never sees discarded bits. The checked entry points and the
 * infinite source are in overflow.c. Included by steps.h. */
#ifndef EMU_OVERFLOW_H
#define EMU_OVERFLOW_H

enum { EMU_CODE_STANDS = 0, EMU_CODE_OPEN = 1, EMU_CODE_REFUSED = 2 };

static inline uint64_t emu_attach_sign(const emu_grid *grid, int32_t sign, uint64_t magnitude)
{
    int32_t loses_sign;
    if (!grid->sign_bit) {
        /* two's complement negates; without sign the magnitude is the code */
        uint64_t whole = sign && grid->is_signed ? 0 - magnitude : magnitude;
        return whole & emu_low_bits(grid->code_bits);
    }
    magnitude &= grid->sign_bit - 1;
    loses_sign = magnitude == 0 && grid->has_zero && !grid->has_minus_zero;
    return sign && !loses_sign ? magnitude | grid->sign_bit : magnitude;
}

/* Low bits of the unbounded magnitude, reaching into the place of the sign bit. */
static inline uint64_t emu_wrap(const emu_grid *grid, int32_t sign, uint64_t magnitude)
{
    uint64_t low = magnitude & emu_low_bits(grid->code_bits);
    if (!grid->sign_bit)
        return emu_attach_sign(grid, sign, magnitude);
    if (!sign || (low == 0 && grid->has_zero && !grid->has_minus_zero))
        return low;
    return low | grid->sign_bit;
}

/* Whether a finite value beyond the end of a range stays there. magnitude: of the end. */
static inline int32_t emu_stops_at(const emu_rounding *rounding, int32_t sign, uint64_t magnitude)
{
    return rounding->beyond_max[sign] == EMU_STOP_AT_MAX || (rounding->beyond_max[sign] == EMU_STOP_AT_ODD && (magnitude & 1));
}

static inline void emu_take_special(const emu_special *special, uint64_t *code, uint8_t *open)
{
    *code = special->rule == EMU_BY_CODE || special->rule == EMU_BY_ROUNDED ? special->code : 0;
    *open = special->rule == EMU_IS_OPEN ? EMU_CODE_OPEN : special->rule == EMU_IS_REFUSED ? EMU_CODE_REFUSED : EMU_CODE_STANDS;
}

/* The result of an overflow that is known to leave the finite range. */
static inline void emu_leave_range(const emu_grid *grid, const emu_policy *policy, int32_t sign, uint64_t *code, uint8_t *open)
{
    *open = EMU_CODE_STANDS;
    if (policy->overflow == EMU_TO_NAN || policy->overflow == EMU_IEEE_NAN)
        emu_take_special(&policy->overflow_nan[sign], code, open);
    else if (policy->overflow == EMU_TO_INF || policy->overflow == EMU_IEEE_INF)
        *code = emu_attach_sign(grid, sign, grid->inf_magnitude);
    else
        *code = emu_attach_sign(grid, sign, grid->largest[sign]);
}

static inline void emu_overflow(const emu_grid *grid, const emu_rounding *rounding, const emu_policy *policy, int32_t sign,
                                const emu_rounded *rounded, uint64_t *code, uint8_t *open)
{
    int32_t is_ieee = policy->overflow == EMU_IEEE_INF || policy->overflow == EMU_IEEE_NAN;
    *open = EMU_CODE_STANDS;
    if (grid->format->format_class == EMU_CODEBOOK)
        *code = rounded->magnitude;
    else if (!rounded->beyond && rounded->magnitude <= grid->largest[sign])
        *code = emu_attach_sign(grid, sign, rounded->magnitude);
    else if (policy->overflow == EMU_WRAP)
        *code = emu_wrap(grid, sign, rounded->magnitude);
    else if (is_ieee && emu_stops_at(rounding, sign, grid->largest[sign]))
        *code = emu_attach_sign(grid, sign, grid->largest[sign]);
    else
        emu_leave_range(grid, policy, sign, code, open);
}

#endif
