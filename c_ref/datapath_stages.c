/* datapath_stages.c: the stages of a step as a reader gets them. */
#include "datapath.h"

void emu_keep_number(emu_wide *kept, int64_t value)
{
    kept->limbs[0] = (uint64_t)value;
    emu_wide_extend(kept, 1);
}

void emu_keep_terms(emu_stages *stages, const emu_term *terms, int32_t count)
{
    if (!stages)
        return;
    stages->term_count = count;
    for (int32_t i = 0; stages->terms && i < count; i++)
        stages->terms[i] = terms[i];
}
