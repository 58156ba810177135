/* A random datapath with all that its descriptor points to. */
#ifndef FUZZ_DATAPATH_H
#define FUZZ_DATAPATH_H

#include "fuzz.h"

typedef struct made_datapath {
    emu_datapath facts;
    emu_format a, b, scale, widest, result;
    emu_rounding rounding[4];
} made_datapath;

#define ONE_OF(list) (list)[below(random, sizeof(list) / sizeof *(list))]

/* Sound but for one field or format in about `broken_in`; a shipped one at times. */
void any_datapath(stream *random, made_datapath *made, uint64_t broken_in);

#endif
