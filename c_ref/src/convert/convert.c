/* convert.c: code of one format -> code of another = decode, round, overflow, encode under a policy. Only composes the steps. */
#include <string.h>

#include "normals.h"

/* A negative source other than zero and NaN, on the way to a format without sign. */
static void convert_negative(const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy, const emu_value *value,
                             uint32_t random, uint64_t *converted, uint8_t *open)
{
    const emu_special *outcome = &policy->negative;
    emu_grid both_signs; /* the same magnitudes, rounded as those of negative numbers */
    emu_rounded rounded;
    if (outcome->rule == EMU_BY_ROUNDED && value->value_class == EMU_INFINITE && policy->inf[1].rule != EMU_BY_RULE)
        outcome = &policy->inf[1];
    emu_take_special(outcome, converted, open);
    if (outcome->rule != EMU_BY_ROUNDED || value->value_class == EMU_INFINITE)
        return;
    both_signs = *destination;
    both_signs.is_signed = 1;
    emu_round(&both_signs, rounding, value, random, &rounded);
    if ((!rounded.magnitude && !rounded.beyond) || emu_stops_at(rounding, 1, 0))
        *converted = 0;
}

/* source: of the value; NULL: of none. */
static inline void convert_value(const emu_grid *source, const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy,
                                 emu_value value, uint32_t random, uint64_t *converted, uint8_t *open)
{
    emu_rounded rounded;
    int32_t sign = destination->is_signed ? value.sign : 0, bits;
    if (value.value_class == EMU_OPEN) {
        *converted = 0;
        *open = EMU_CODE_OPEN;
    } else if (value.value_class == EMU_NAN) {
        emu_take_special(&policy->nan[value.sign], converted, open);
    } else if (value.sign && !destination->is_signed && value.value_class != EMU_ZERO && policy->negative.rule != EMU_BY_RULE) {
        convert_negative(destination, rounding, policy, &value, random, converted, open);
    } else if (value.value_class == EMU_ZERO && policy->zero[value.sign].rule != EMU_BY_RULE) {
        emu_take_special(&policy->zero[value.sign], converted, open);
    } else if (value.value_class == EMU_INFINITE) {
        emu_overflow_infinite(destination, policy, sign, converted, open);
    } else {
        bits = source ? emu_significand_bits(source, &value) : emu_bit_length(value.significand);
        emu_round_bits(destination, rounding, &value, bits, random, &rounded);
        emu_overflow(destination, rounding, policy, sign, &rounded, converted, open);
    }
}

static inline void convert(const emu_grid *source, const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy,
                           uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open)
{
    emu_value value;
    emu_decode(source, code, &value);
    convert_value(source, destination, rounding, policy, value, random, converted, open);
}

void emu_project(const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy, const emu_value *value,
                 uint64_t *converted, uint8_t *open)
{
    convert_value(NULL, destination, rounding, policy, *value, 0, converted, open);
}

void emu_convert(const emu_grid *source, const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy, uint64_t code,
                 uint32_t random, uint64_t *converted, uint8_t *open)
{
    convert(source, destination, rounding, policy, code, random, converted, open);
}

/* Check all four descriptors, make both grids. */
static int32_t prepare(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                       emu_conversion *made)
{
    int32_t error = emu_make_grid(source, &made->from);
    if (!error)
        error = emu_make_grid(destination, &made->to);
    if (!error)
        error = emu_check_destination(&made->to);
    if (!error)
        error = emu_check_rounding(rounding, destination);
    if (!error)
        error = emu_check_policy(policy, destination);
    if (error)
        return error;
    made->rounding = rounding;
    made->policy = policy;
    return EMU_OK;
}

int32_t emu_convert_code(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                         uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open)
{
    emu_conversion job;
    int32_t error = prepare(source, destination, rounding, policy, &job);
    if (error)
        return error;
    if (!converted || !open)
        return EMU_ERROR_NULL;
    if (!emu_is_code(&job.from, code))
        return EMU_ERROR_CODE;
    if (random > emu_low_bits(rounding->random_bits))
        return EMU_ERROR_RANDOM;
    convert(&job.from, &job.to, rounding, policy, code, random, converted, open);
    return EMU_OK;
}

static int32_t check_random(const emu_rounding *rounding, const uint32_t *random, size_t count)
{
    if ((random != NULL) != (rounding->random_bits > 0))
        return EMU_ERROR_RANDOM;
    for (size_t i = 0; random && i < count; i++) {
        if (random[i] > emu_low_bits(rounding->random_bits))
            return EMU_ERROR_RANDOM;
    }
    return EMU_OK;
}

/* First as if every code were normal; the others once more, by the steps. */
EMU_FORMS static size_t convert_normals(const emu_normals *given, const uint64_t *codes, size_t count, uint64_t *restrict converted)
{
    const emu_normals plan = *given;
    uint64_t others = 0;
    for (size_t i = 0; i < count; i++) {
        converted[i] = emu_convert_normal(&plan, codes[i]);
        others += emu_is_normal(&plan, codes[i]) ^ 1;
    }
    return (size_t)others;
}

/* The same to a codebook: all numbers of half units, then the place of each among the cuts, by halves, then the codes. */
EMU_FORMS static size_t convert_by_cuts(const emu_normals *source, const emu_cuts *cuts, const uint64_t *codes, size_t count,
                                        uint64_t *restrict converted)
{
    const emu_normals plan = *source;
    int64_t below[EMU_CHUNK], above[EMU_CHUNK]; /* half units around the number; equal where it is whole */
    uint64_t place[EMU_CHUNK], others = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t magnitude = codes[i] & ~plan.source_sign_bit, significand = plan.first_normal | (magnitude & (plan.first_normal - 1));
        int64_t lsb_exp = (int64_t)(magnitude >> plan.source_frac_bits) - plan.source_bias - plan.source_frac_bits, left;
        below[i] = emu_count_halves(cuts->half_exp, (codes[i] & plan.source_sign_bit) != 0, significand, lsb_exp, &left);
        above[i] = below[i] + left;
        place[i] = 0;
        others += emu_is_normal(&plan, codes[i]) ^ 1;
    }
    for (uint64_t step = (uint64_t)1 << (cuts->steps - 1); step; step >>= 1) {
        for (size_t i = 0; i < count; i++)
            place[i] += cuts->cut[place[i] + step - 1] < above[i] ? step : 0;
    }
    for (size_t i = 0; i < count; i++)
        converted[i] = cuts->cut[place[i]] == below[i] ? cuts->at[place[i]] : cuts->below[place[i]];
    return (size_t)others;
}

static size_t convert_normal_ones(const emu_conversion *job, const uint64_t *codes, size_t count, uint64_t *converted)
{
    if (job->has_plan == EMU_NORMALS_BY_PLACE)
        return convert_normals(&job->plan, codes, count, converted);
    if (job->has_plan == EMU_NORMALS_BY_CUTS)
        return convert_by_cuts(&job->plan, &job->cuts, codes, count, converted);
    return count;
}

size_t emu_convert_chunk(const emu_conversion *job, uint64_t *codes, const uint32_t *random, size_t count, uint8_t *states)
{
    uint64_t normals[EMU_CHUNK];
    size_t unanswered = 0, others = convert_normal_ones(job, codes, count, normals);
    for (size_t i = 0; i < count; i++)
        states[i] = EMU_CODE_STANDS;
    for (size_t i = 0; others && i < count; i++) {
        if (job->has_plan && emu_is_normal(&job->plan, codes[i]))
            continue;
        emu_convert(&job->from, &job->to, job->rounding, job->policy, codes[i], random ? random[i] : 0, &normals[i], &states[i]);
        unanswered += states[i] != EMU_CODE_STANDS;
    }
    memcpy(codes, normals, count * sizeof *codes);
    return unanswered;
}

int32_t emu_convert_array(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                          const void *codes, const uint32_t *random, size_t count, void *converted, uint8_t *open)
{
    emu_conversion job;
    int32_t error = prepare(source, destination, rounding, policy, &job);
    if (!error && (!codes || !converted))
        error = EMU_ERROR_NULL;
    if (!error)
        error = emu_check_codes(&job.from, codes, count);
    if (!error)
        error = check_random(rounding, random, count);
    if (!error)
        job.has_plan = emu_plan_normals(&job);
    for (size_t start = 0; !error && start < count; start += EMU_CHUNK) {
        uint64_t chunk[EMU_CHUNK];
        uint8_t scratch[EMU_CHUNK];
        uint8_t *states = open ? open + start : scratch;
        size_t size = count - start < EMU_CHUNK ? count - start : EMU_CHUNK, good = size;
        emu_load_codes(codes, job.from.code_bytes, start, size, chunk);
        if (emu_convert_chunk(&job, chunk, random ? random + start : NULL, size, states) && !open) {
            for (good = 0; states[good] == EMU_CODE_STANDS; good++)
                continue;
            error = states[good] == EMU_CODE_OPEN ? EMU_ERROR_OPEN : EMU_ERROR_REFUSED;
        }
        emu_store_codes(converted, job.to.code_bytes, start, good, chunk);
    }
    return error;
}

int32_t emu_decode_to_array(const emu_format *format, const emu_format *result, const void *codes, size_t count, void *decoded)
{
    emu_grid from, to;
    int32_t error = emu_make_grid(format, &from);
    if (!error)
        error = emu_make_grid(result, &to);
    if (!error && (!codes || !decoded))
        error = EMU_ERROR_NULL;
    if (!error)
        error = emu_check_codes(&from, codes, count);
    for (size_t i = 0; !error && i < count; i++) {
        emu_value value;
        uint64_t code;
        emu_load_codes(codes, from.code_bytes, i, 1, &code);
        emu_decode(&from, code, &value);
        error = emu_encode(&to, &value, &code);
        if (!error)
            emu_store_codes(decoded, to.code_bytes, i, 1, &code);
    }
    return error;
}
