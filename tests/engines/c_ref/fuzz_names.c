/* Calls of the functions that find shipped descriptors by name: ids, aliases, names of other kinds, cut and empty ones, NULL. */
#include "fuzz.h"

static const char *const formats[] = {"e2m1", "fp4", "bf16", "fp32", "e8m0", "ue8m0", "nf4", "ue4m3", "int4"};
static const char *const roundings[] = {"rne", "rz", "sr_add8", "sr_ptx_split8", "odd"};
static const char *const words[] = {"sr_ptx_share16", "sr_ptx_split8", "sr_b200_bitrev"};
static const char *const policies[] = {"nvidia", "ocp_saturate", "ieee", "torch"};
static const char *const transforms[] = {"rht16_te", "rht16_exact", "rht16_ufp4"};
static const char *const recipes[] = {"nvfp4_te_ref", "hif4", "mxfp4_torchao_floor", "nvufp4"};
static const char *const strange[] = {"", "e", "e2m1x", "E2M1", "nvfp4_te_re", "rn", "no such name", "\x80\xff"};

/* Mostly one of the list. */
static const char *any_name(stream *random, const char *const *list, uint64_t count)
{
    if (one_in(random, 20))
        return NULL;
    if (one_in(random, 6))
        return strange[below(random, sizeof strange / sizeof *strange)];
    return list[below(random, count)];
}

#define ANY(list) any_name(random, list, sizeof(list) / sizeof *(list))

/* What is found passes its own check. */
static void add_found(tally *all, int is_found, int32_t error)
{
    add_error(all, is_found ? EMU_OK : EMU_ERROR_NULL);
    all->is_broken |= is_found && error;
}

void fuzz_find_format(stream *random, tally *all)
{
    const emu_format *found = emu_find_format(ANY(formats));
    add_found(all, found != NULL, emu_check_format(found));
}

void fuzz_find_rounding(stream *random, tally *all)
{
    const emu_rounding *found = emu_find_rounding(ANY(roundings));
    add_found(all, found != NULL, emu_check_rounding(found, emu_find_format("e2m1")));
}

void fuzz_find_word(stream *random, tally *all)
{
    const emu_word *found = emu_find_word(one_in(random, 4) ? ANY(roundings) : ANY(words));
    int32_t is_beyond = 0;
    for (int32_t i = 0; found && i < found->lanes * found->random_bits; i++)
        is_beyond |= found->positions[i] >= found->bits;
    add_found(all, found != NULL, is_beyond);
}

void fuzz_find_policy(stream *random, tally *all)
{
    const char *name = ANY(policies), *destination = ANY(formats);
    const emu_policy *found = emu_find_policy(name, destination);
    add_found(all, found != NULL, emu_check_policy(found, emu_find_format(destination)));
}

void fuzz_find_transform(stream *random, tally *all)
{
    const emu_transform *found = emu_find_transform(ANY(transforms));
    add_found(all, found != NULL, emu_check_transform(found));
}

void fuzz_find_recipe(stream *random, tally *all)
{
    const emu_recipe *found = emu_find_recipe(ANY(recipes));
    add_found(all, found != NULL, found && emu_check_format(found->element));
}

void fuzz_find_program(stream *random, tally *all)
{
    static const char *const profiles[] = {"exact", "te", "torchao", "te", "exact"};
    const char *name = ANY(recipes), *profile = one_in(random, 2) ? NULL : ANY(profiles);
    const emu_program *found = emu_find_program(name, profile);
    add_found(all, found != NULL, emu_check_program(found));
}
