/* What every part of the fuzz driver uses: random numbers, memory, and the tally of results. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

uint64_t next_word(stream *random)
{
    uint64_t word = random->key + ++random->count * 0x9E3779B97F4A7C15u;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

uint64_t below(stream *random, uint64_t limit)
{
    return next_word(random) % limit;
}

int one_in(stream *random, uint64_t count)
{
    return count != 0 && below(random, count) == 0;
}

const void *or_null(stream *random, const void *pointer, uint64_t count)
{
    return one_in(random, count) ? NULL : pointer;
}

int32_t wild_number(stream *random)
{
    static const int32_t edges[] = {INT32_MIN, INT32_MAX, -1, 0, 1, 2, 63, 64, 65, 255, 256, 257,
                                    1 << 20, -(1 << 20), (1 << 20) + 1, -(1 << 20) - 1, 1 << 22};
    uint64_t word = next_word(random);
    switch (word >> 62) {
    case 0: return (int32_t)(word % 24) - 8;
    case 1: return (int32_t)(uint32_t)word;
    default: return edges[word % (sizeof edges / sizeof *edges)];
    }
}

void *block(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        exit(9);
    memset(memory, 0xA5, bytes);
    return memory;
}

int null_of(stream *random, uint64_t pointers)
{
    return one_in(random, 25) ? (int)below(random, pointers) : -1;
}

uint32_t drawn_for(stream *random, const emu_rounding *rounding)
{
    uint64_t word = next_word(random);
    return one_in(random, 200) ? UINT32_MAX : (uint32_t)(word & (((uint64_t)1 << (rounding->random_bits & 31)) - 1));
}

void keeps_words(tally *all, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        all->is_broken |= words[i] != UNTOUCHED;
}

void add_to(tally *all, uint64_t number)
{
    all->checksum = (all->checksum ^ number) * 0x100000001B3u + (all->checksum >> 40);
}

void add_error(tally *all, int32_t error)
{
    if (error < EMU_OK || error >= 18)
        all->is_broken = 1;
    else
        all->errors[error]++;
    add_to(all, (uint64_t)(uint32_t)error);
}
