/* An example of a design in C: bf16 to E2M1, nearest, ties to even, as the policy `nvidia` wants it. Put your own here. */
#include "emu_rows.h"

static uint32_t convert(uint32_t x)
{
    uint32_t sign = x >> 15 << 3, magnitude = x & 0x7fff;
    if (magnitude > 0x7f80)
        return 7; /* NaN: its sign is lost */
    if (magnitude >= 0x40a0 + 1) /* more than 5, and all beyond 6 */
        return sign | 7;
    /* Midpoints between codes, as bf16: 0.25 0.75 1.25 1.75 2.5 3.5 5. A tie goes to the even code. */
    static const uint32_t midpoint[7] = {0x3e80, 0x3f40, 0x3fa0, 0x3fe0, 0x4020, 0x4060, 0x40a0};
    uint32_t code = 0;
    while (code < 7 && (magnitude > midpoint[code] || (magnitude == midpoint[code] && code % 2)))
        code++;
    return sign | code;
}

void dut(const emu_bits *in, emu_bits *out)
{
    out[0].w[0] = convert(in[0].w[0]);
}
