/* Random datapaths, mostly sound, over formats that are; and calls of the functions that take nothing else. */
#include <string.h>

#include "fuzz_datapath.h"

static const char *const elements[] = {"e2m1", "e1m2", "int4", "e0m3", "e4m3", "e5m2", "e2m3", "fp16", "bf16", "fp32", "e4m3fnuz"};
static const char *const scales[] = {"ue4m3", "ue4m3", "ue5m3", "e8m0", "e8m0", "e4m3", "bf16", "e5m2"};
static const char *const results[] = {"fp32", "fp32", "fp32", "fp16", "bf16", "e5m2"};
static const char *const shipped[] = {
    "blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf4_b32_ue8m0", "blackwell_mxf8f6f4/e5m2xe4m3", "hopper_fp8/e4m3xe5m2", "cdna3_fp8/e4m3fnuzxe5m2fnuz",
    "ideal/e1m2xint4/e8m0/16", "int64/e2m1xe2m1/16", "late_c/e0m3xe0m3/ue4m3/32", "nv_like_exact/e2m1xe1m2/ue5m3/16", "promote/e1m2xe1m2/16",
    "blackwell_e0m3_wrap/e0m3xe0m3", "cheap/int4xint4/ue4m3/16", "hopper_fp16/bf16xbf16", "hopper_fp16_f16", "blackwell_e0m3_raised",
};

static void set_format(emu_format *format, const char *name)
{
    *format = *emu_find_format(name);
}

static void choose_sizes(stream *random, emu_datapath *facts)
{
    int32_t is_grouped = facts->apply == EMU_APPLY_GROUP || facts->apply == EMU_APPLY_PROMOTE;
    facts->group = is_grouped ? 1 << below(random, 5) : 1;
    facts->step = facts->apply == EMU_APPLY_PROMOTE ? facts->group : facts->group << below(random, 4);
    facts->split = facts->c_kind == EMU_C_REALIGNED && facts->step % 2 == 0 ? 2 : 1;
    facts->k = facts->step << below(random, 3);
    facts->block = facts->apply == EMU_APPLY_NONE ? 0 : one_in(random, 3) ? 2 * facts->k : facts->group;
    if (one_in(random, 60))
        facts->k = facts->step = facts->group << 9; /* many terms, at times too many */
}

static void choose_align(stream *random, emu_datapath *facts)
{
    int32_t is_exact = facts->c_kind == EMU_C_ADDED || facts->c_kind == EMU_C_LAST || facts->apply == EMU_APPLY_PROMOTE || one_in(random, 5);
    if (facts->c_kind == EMU_C_REALIGNED)
        is_exact = 0;
    facts->frac_rule = is_exact ? EMU_UNLIMITED : one_in(random, 3) && facts->c_kind == EMU_C_ALIGNED ? EMU_DERIVED : EMU_STATED;
    facts->frac_bits = (int32_t)below(random, one_in(random, 6) ? 200 : 40);
    facts->integer_rule = (int32_t)below(random, 3);
    facts->integer_bits = (int32_t)below(random, 20);
    facts->floor_rule = facts->c_kind == EMU_C_REALIGNED ? EMU_UNLIMITED : (int32_t)below(random, 3);
    if (facts->floor_rule == EMU_DERIVED && facts->integer_rule == EMU_UNLIMITED)
        facts->integer_rule = EMU_DERIVED;
    facts->floor_exp = (int32_t)below(random, 300) - 200;
    facts->align_mode = (int32_t)below(random, 3);
    facts->cancelled_group_counts = !one_in(random, 3);
    if (facts->c_kind != EMU_C_REALIGNED) {
        facts->is_normalised = one_in(random, 4);
        facts->exponent_raise = one_in(random, 4) ? (int32_t)below(random, 12) - 6 : one_in(random, 20) ? (int32_t)below(random, 200) - 100 : 0;
        facts->wraps = facts->apply != EMU_APPLY_PROMOTE && !is_exact && facts->integer_rule != EMU_UNLIMITED && one_in(random, 3);
    }
    facts->f2 = facts->frac_bits + (int32_t)below(random, 10);
    facts->drop_below = (int32_t)below(random, 40);
    facts->accumulator_bits = one_in(random, 3) ? 8 + (int32_t)below(random, 200) : 64;
}

/* One of the int32 that lie between two places of a descriptor. */
static void break_number(stream *random, emu_datapath *facts, size_t first, size_t last)
{
    size_t place = first + 4 * (size_t)below(random, (last - first) / 4 + 1);
    int32_t number = wild_number(random);
    memcpy((char *)facts + place, &number, sizeof number);
}

static void choose_rest(stream *random, emu_datapath *facts, uint64_t broken_in)
{
    const emu_format *result = facts->result;
    int32_t width = result->frac_bits > 0 && result->frac_bits < 63 ? result->frac_bits : 1;
    facts->ignores_unused_bits = one_in(random, 2);
    facts->is_fused = one_in(random, 2);
    facts->keep = one_in(random, 3) ? (int32_t)below(random, (uint64_t)width + 1) : width;
    facts->saturates = one_in(random, 3);
    facts->flushes_elements = one_in(random, 4);
    facts->flushes_scales = one_in(random, 4);
    facts->flushes_c = one_in(random, 4);
    facts->flushes_result = facts->apply != EMU_APPLY_PROMOTE && one_in(random, 4);
    facts->nan_scale_live = one_in(random, 2);
    facts->ieee_zero = one_in(random, 2);
    facts->any_nan = one_in(random, 2);
    facts->nan_code = ((UINT64_MAX >> (64 - width_of(result))) >> 1) | 1;
    if (one_in(random, broken_in))
        break_number(random, facts, offsetof(emu_datapath, k), offsetof(emu_datapath, accumulator_bits));
    if (one_in(random, broken_in))
        break_number(random, facts, offsetof(emu_datapath, keep), offsetof(emu_datapath, any_nan));
    if (one_in(random, 4 * broken_in))
        facts->is_fused = wild_number(random);
    if (one_in(random, 4 * broken_in))
        facts->nan_code = next_word(random) >> 40;
}

static void choose_formats(stream *random, made_datapath *made, uint64_t broken_in)
{
    static const char *const narrow[] = {"e2m1", "e1m2", "int4", "e0m3"};
    int32_t is_grouped = made->facts.apply == EMU_APPLY_GROUP || made->facts.apply == EMU_APPLY_PROMOTE;
    set_format(&made->a, is_grouped && !one_in(random, 6) ? ONE_OF(narrow) : ONE_OF(elements));
    set_format(&made->b, is_grouped && !one_in(random, 6) ? ONE_OF(narrow) : ONE_OF(elements));
    set_format(&made->scale, made->facts.apply == EMU_APPLY_PROMOTE && !one_in(random, 4) ? "fp32" : ONE_OF(scales));
    if (one_in(random, 10) && made->a.bits == 0 && made->a.exp_bits + made->a.frac_bits < 7)
        made->a.unused_high_bits = 1;
    set_format(&made->widest, ONE_OF(scales));
    set_format(&made->result, ONE_OF(results));
    if (one_in(random, 8)) {
        made->scale.nan = made->scale.format_class == EMU_EXPONENT ? EMU_NAN_NONE : made->scale.nan;
        made->scale.nan_codes[0] = 0;
    }
    if (one_in(random, 100))
        made->result.unused_high_bits = 1;
    if (one_in(random, broken_in)) {
        emu_format *formats[] = {&made->a, &made->b, &made->scale, &made->widest, &made->result};
        any_format(random, formats[below(random, 5)], 4);
    }
}

void any_datapath(stream *random, made_datapath *made, uint64_t broken_in)
{
    static const int32_t applied[] = {EMU_APPLY_NONE, EMU_APPLY_GROUP, EMU_APPLY_GROUP, EMU_APPLY_PRODUCT, EMU_APPLY_PROMOTE};
    static const int32_t joins[] = {EMU_C_ALIGNED, EMU_C_ALIGNED, EMU_C_ADDED, EMU_C_LAST, EMU_C_REALIGNED};
    emu_datapath *facts = &made->facts;
    memset(made, 0, sizeof *made);
    if (one_in(random, 3) && emu_find_datapath(ONE_OF(shipped), facts) == EMU_OK)
        return;
    facts->apply = ONE_OF(applied);
    facts->c_kind = facts->apply == EMU_APPLY_PROMOTE ? EMU_C_ALIGNED : ONE_OF(joins);
    if (facts->c_kind == EMU_C_REALIGNED)
        facts->apply = EMU_APPLY_NONE;
    choose_formats(random, made, broken_in);
    for (int k = 0; k < 4; k++)
        any_rounding(random, &made->rounding[k], one_in(random, 100), 4 * broken_in);
    facts->a = &made->a;
    facts->b = &made->b;
    facts->scale = facts->apply == EMU_APPLY_NONE ? NULL : &made->scale;
    facts->widest_scale = one_in(random, 2) ? &made->widest : NULL;
    facts->result = &made->result;
    facts->rounding = &made->rounding[0];
    facts->scale_product = &made->rounding[1];
    facts->term = &made->rounding[2];
    facts->sum = &made->rounding[3];
    choose_sizes(random, facts);
    choose_align(random, facts);
    choose_rest(random, facts, broken_in);
    switch (null_of(random, 20)) {
    case 0: facts->a = NULL; break;
    case 1: facts->b = NULL; break;
    case 2: facts->scale = facts->scale ? NULL : &made->scale; break;
    case 3: facts->result = NULL; break;
    case 4: facts->rounding = NULL; break;
    case 5: facts->scale_product = NULL; break;
    case 6: facts->term = NULL; break;
    case 7: facts->sum = NULL; break;
    default: break;
    }
}

void fuzz_check_datapath(stream *random, tally *all)
{
    made_datapath made;
    any_datapath(random, &made, 4);
    add_error(all, emu_check_datapath(or_null(random, &made.facts, 100)));
}

void fuzz_derive_widths(stream *random, tally *all)
{
    made_datapath made;
    emu_widths widths;
    memset(&widths, 0x55, sizeof widths);
    any_datapath(random, &made, 8);
    int null = null_of(random, 2);
    int32_t error = emu_derive_widths(null == 0 ? NULL : &made.facts, null == 1 ? NULL : &widths);
    add_error(all, error);
    all->is_broken |= error && widths.frac_bits != 0x55555555;
    for (size_t i = 0; !error && i < sizeof widths / 4; i++)
        add_to(all, (uint64_t)((const int32_t *)&widths)[i]);
}

/* Names of the spec, cut short or with a byte changed. */
void fuzz_find_datapath(stream *random, tally *all)
{
    static const char *const near[] = {"", "/", "nv_like", "nv_like/e1m2xe1m2", "nv_like/e1m2xe1m2/ue4m3", "nv_like/e1m2xe1m2/ue4m3/16/",
                                       "nv_like/e1m2xe1m2/ue4m3/016", "nv_like/fp32xe1m2/ue4m3/16", "nv_like/e1m2e1m2/ue4m3/16",
                                       "nv_like/e1m2xe1m2/fp32/16", "nv_like/e1m2xe1m2/ue4m3/99999999999999999999", "hopper_fp16/bf16xfp16",
                                       "a_name_that_is_longer_than_any_name_of_the_spec_and_so_it_is_no_such_name",
                                       "nv_like/a_name_that_is_longer_than_any_name_of_the_spec_and_so_it_is_no_such_name",
                                       "nv_like/e1m2xa_name_that_is_longer_than_any_name_of_the_spec_and_so_it_is_no_such_name",
                                       "nv_like/e1m2xe1m2/a_name_that_is_longer_than_any_name_of_the_spec_and_so_it_is_no_such_name",
                                       "nv_like/e1m2x", "nv_like/e1m2xe1m2/none/16", "nv_like/e1m2xnone/ue4m3/16", "int64/e2m1xe2m1/", "cdna4"};
    char name[128];
    emu_datapath found;
    memset(&found, 0x55, sizeof found);
    strcpy(name, one_in(random, 3) ? ONE_OF(near) : ONE_OF(shipped));
    if (one_in(random, 6) && name[0]) {
        char letter = (char)below(random, 128);
        name[below(random, strlen(name))] = letter;
    }
    int null = null_of(random, 2);
    int32_t error = emu_find_datapath(null == 0 ? NULL : name, null == 1 ? NULL : &found);
    add_error(all, error);
    all->is_broken |= error ? found.k != 0x55555555 : emu_check_datapath(&found) != EMU_OK;
    add_to(all, error ? 0 : (uint64_t)found.k);
}
