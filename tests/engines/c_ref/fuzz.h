/* What the files of the fuzz driver share: a counter-based stream of random words, descriptors that are sound, at a limit or broken, and
 * memory whose every byte the sanitizer knows. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "emu_ref.h"

typedef struct stream {
    uint64_t key, count;
} stream;

typedef struct tally {
    uint64_t checksum;   /* of every result of calls that succeeded, and of every error */
    uint64_t errors[18]; /* how many calls returned it */
    int is_broken;       /* a call broke its contract */
} tally;

uint64_t next_word(stream *random);
uint64_t below(stream *random, uint64_t limit);          /* 0 .. limit - 1 */
int one_in(stream *random, uint64_t count);
int32_t wild_number(stream *random);                     /* an edge of int32, a small number, or any */
uint64_t some_code(stream *random, const emu_format *format); /* mostly within the width, often an edge */
int32_t width_of(const emu_format *format);              /* bits of a code of a sound format, at most 64 */

/* Each is sound but for one call in `broken_in`; 0: always sound. */
void any_format(stream *random, emu_format *format, uint64_t broken_in);
void small_format(stream *random, emu_format *format, uint64_t broken_in); /* of few bits, a codebook at times */
void arithmetic_format(stream *random, emu_format *format, uint64_t broken_in);
void any_rounding(stream *random, emu_rounding *rounding, int may_draw, uint64_t broken_in);
void any_policy(stream *random, emu_policy *policy, const emu_format *destination, uint64_t broken_in);
void any_value(stream *random, emu_value *value, uint64_t broken_in);
void any_transform(stream *random, emu_transform *transform, const emu_format *sum, const emu_format *result, uint64_t broken_in);

const void *or_null(stream *random, const void *pointer, uint64_t count); /* the pointer or, one time in `count`, NULL */
int null_of(stream *random, uint64_t pointers);                            /* which of so many pointers is NULL; mostly none: -1 */
uint32_t drawn_for(stream *random, const emu_rounding *rounding);          /* a random integer; one in 200 has too many bits */

#define UNTOUCHED 0xA5A5A5A5A5A5A5A5u
void *block(size_t bytes); /* memory of exactly that size, every byte 0xA5 */
void keeps_words(tally *all, const uint64_t *words, size_t count); /* nothing has been written there */
void add_to(tally *all, uint64_t number);
void add_error(tally *all, int32_t error);
void add_value(tally *all, const emu_value *value);

/* fuzz_text.c: a sound descriptor in memory of exactly its size; one in `broken_in` is changed in one to three places, and most of those have
 * the digest of what they hold. changed_bytes: how many were taken out or put in so far, of a text that is cut off none. */
enum { STRANGE_WORDS = 31 };
extern const char *const strange_words[STRANGE_WORDS + 1]; /* NULL at the end */
extern uint64_t changed_bytes;
char *any_text(stream *random, size_t *length, uint64_t broken_in);

/* fuzz_arrays.c */
void fuzz_decode_array(stream *random, tally *all);
void fuzz_decode_to_array(stream *random, tally *all);
void fuzz_convert_array(stream *random, tally *all);
void fuzz_split_words(stream *random, tally *all);
void fuzz_calculate_array(stream *random, tally *all);
void fuzz_operate_array(stream *random, tally *all);
void fuzz_transform_matrix(stream *random, tally *all);

/* fuzz_program.c */
void fuzz_check_program(stream *random, tally *all);
void fuzz_count_workspace(stream *random, tally *all);
void fuzz_quantize(stream *random, tally *all);
void fuzz_dequantize(stream *random, tally *all);

void fuzz_trace_quantize(stream *random, tally *all);
void fuzz_trace_dequantize(stream *random, tally *all);
void fuzz_type_registers(stream *random, tally *all);

/* fuzz_layout.c */
void fuzz_check_layout(stream *random, tally *all);
void fuzz_layout_place(stream *random, tally *all);
void fuzz_layout_size(stream *random, tally *all);
void fuzz_layout_locate(stream *random, tally *all);

/* fuzz_datapath.c */
void fuzz_check_datapath(stream *random, tally *all);
void fuzz_derive_widths(stream *random, tally *all);
void fuzz_find_datapath(stream *random, tally *all);

/* fuzz_dot.c */
void fuzz_dot(stream *random, tally *all);
void fuzz_matmul(stream *random, tally *all);
void fuzz_finish_register(stream *random, tally *all);
void fuzz_alpha(stream *random, tally *all);
void fuzz_epilogue(stream *random, tally *all);
void fuzz_add_results(stream *random, tally *all);

/* fuzz_levels.c */
void fuzz_check_dot_levels(stream *random, tally *all);
void fuzz_count_dot_levels(stream *random, tally *all);
void fuzz_dot_levels(stream *random, tally *all);
void fuzz_dot_levels_flags(stream *random, tally *all);
void fuzz_find_stage(stream *random, tally *all);
void fuzz_trace_levels(stream *random, tally *all);

/* fuzz_descriptor.c */
void fuzz_measure_descriptor(stream *random, tally *all);
void fuzz_load_descriptor(stream *random, tally *all);
void fuzz_write_descriptor(stream *random, tally *all);
void fuzz_find_format_in(stream *random, tally *all);
void fuzz_find_rounding_in(stream *random, tally *all);
void fuzz_find_policy_in(stream *random, tally *all);
void fuzz_find_word_in(stream *random, tally *all);
void fuzz_find_transform_in(stream *random, tally *all);
void fuzz_find_block_in(stream *random, tally *all);
void fuzz_find_layout_in(stream *random, tally *all);
void fuzz_find_recipe_in(stream *random, tally *all);
void fuzz_find_program_in(stream *random, tally *all);
void fuzz_find_datapath_in(stream *random, tally *all);
void fuzz_find_levels_in(stream *random, tally *all);

/* fuzz_names.c */
void fuzz_find_format(stream *random, tally *all);
void fuzz_find_rounding(stream *random, tally *all);
void fuzz_find_word(stream *random, tally *all);
void fuzz_find_policy(stream *random, tally *all);
void fuzz_find_transform(stream *random, tally *all);
void fuzz_find_recipe(stream *random, tally *all);
void fuzz_find_program(stream *random, tally *all);

#endif
