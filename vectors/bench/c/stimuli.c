/* stimuli: inputs of your own for `emu_ref fill`, one bf16 code a line: half of them near the values of 4-bit formats, half anything.
 *
 *   stimuli COUNT SEED | emu_ref fill convert/e2m1/rne/nvidia --source bf16 > own.tv
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* xorshift64*: the same numbers on every machine. */
static uint32_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * 0x2545f4914f6cdd1dull >> 32);
}

int main(int argc, char **argv)
{
    unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    uint64_t state = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (count == 0 || state == 0) {
        fprintf(stderr, "usage: stimuli COUNT SEED, both above 0\n");
        return 2;
    }
    for (unsigned long row = 0; row < count; row++) {
        uint32_t x = next_random(&state) & 0xffff;
        if (row % 2) /* exponent field 124 to 131: 1/8 to 32 */
            x = (x & 0x807f) | (124 + (x >> 7 & 7)) << 7;
        printf("%04x\n", (unsigned)x);
    }
    return 0;
}
