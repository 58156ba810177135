/* Calls of the functions that load and write a descriptor: of a sound text and of changed ones. What is loaded all the same must pass its
 * own checks, and what is written is loaded again. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "fuzz_descriptor_text.h"

enum { MOST = 1 << 16 };

void fuzz_measure_descriptor(stream *random, tally *all)
{
    size_t length, bytes = 77;
    char *text = any_text(random, &length, 4);
    int null = null_of(random, 2);
    int32_t error = emu_measure_descriptor(null == 0 ? NULL : text, one_in(random, 20) ? EMU_MAX_DESCRIPTOR + 1 : length, null == 1 ? NULL : &bytes);
    add_error(all, error);
    add_to(all, bytes);
    all->is_broken |= error && bytes != 77;
    free(text);
}

/* A library in memory of its own, NULL where the text is refused; *memory is to be freed. */
static const emu_library *any_library(stream *random, void **memory, uint64_t broken_in, tally *all)
{
    const emu_library *library = NULL;
    emu_fault fault;
    size_t length, bytes = 0;
    char *text = any_text(random, &length, broken_in);
    int null = all ? null_of(random, 4) : -1;
    int32_t error;
    emu_measure_descriptor(text, length, &bytes);
    if (all && one_in(random, 40))
        bytes = (size_t)below(random, bytes);
    *memory = block(bytes);
    memset(&fault, 0xA5, sizeof fault);
    error = emu_load_descriptor(null == 0 ? NULL : text, one_in(random, 400) ? EMU_MAX_DESCRIPTOR + 1 : length, null == 1 ? NULL : *memory, bytes,
                                null == 2 ? NULL : &library, null == 3 ? NULL : &fault);
    free(text); /* a library keeps nothing of it */
    if (!all)
        return error ? NULL : library;
    add_error(all, error);
    all->is_broken |= (error != EMU_OK) != (library == NULL);
    if (error && error != EMU_ERROR_NULL) {
        all->is_broken |= !memchr(fault.text, 0, sizeof fault.text) || !*fault.text || fault.line < 0;
        add_to(all, (uint64_t)fault.line);
        for (const char *at = fault.text; *at; at++)
            add_to(all, (uint64_t)(unsigned char)*at);
    }
    return error ? NULL : library;
}

/* For the functions that look for a name: of eight, one library that is loaded now, of a text that may be broken; else the sound one, kept. */
static const emu_library *any_kept_library(stream *random, void **memory)
{
    static uint64_t room[MOST];
    static const emu_library *kept;
    *memory = NULL;
    if (one_in(random, 8))
        return any_library(random, memory, 2, NULL);
    if (!kept) {
        stream plain = {1, 0};
        emu_fault fault;
        size_t length;
        char *text = any_text(&plain, &length, 0);
        emu_load_descriptor(text, length, room, sizeof room, &kept, &fault);
        free(text);
    }
    return kept;
}

static void check_library(const emu_library *library, tally *all)
{
    for (size_t i = 0; i < sizeof sound_formats / sizeof *sound_formats; i++) {
        const emu_format *format = emu_find_format_in(library, sound_formats[i]);
        if (format)
            all->is_broken |= emu_check_format(format) != EMU_OK;
    }
}

void fuzz_load_descriptor(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_library(random, &memory, 2, all);
    if (library)
        check_library(library, all);
    free(memory);
}

/* A text in memory of its own, NULL where there is none. */
static char *written(const emu_library *library, size_t *length)
{
    char *text = NULL;
    if (emu_write_descriptor(library, NULL, 0, length) == EMU_ERROR_SPACE) {
        text = block(*length);
        emu_write_descriptor(library, text, *length, length);
    }
    return text;
}

/* What is written is loaded again, and then written as it was. */
static void check_written(const char *text, size_t length, tally *all)
{
    const emu_library *library = NULL;
    emu_fault fault;
    size_t bytes = 0, again = 0;
    char *memory, *other;
    emu_measure_descriptor(text, length, &bytes);
    memory = block(bytes);
    all->is_broken |= emu_load_descriptor(text, length, memory, bytes, &library, &fault) != EMU_OK;
    other = written(library, &again);
    all->is_broken |= !other || again != length || memcmp(text, other, length);
    free(other);
    free(memory);
}

void fuzz_write_descriptor(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    size_t whole = 0, room, length = 77;
    char *sound = library ? written(library, &whole) : NULL, *text;
    int null = null_of(random, 3);
    int32_t error;
    if (sound && one_in(random, 8))
        check_written(sound, whole, all);
    room = one_in(random, 6) ? (size_t)below(random, whole + 1) : whole;
    text = block(room);
    error = emu_write_descriptor(null == 0 ? NULL : library, null == 1 ? NULL : text, room, null == 2 ? NULL : &length);
    add_error(all, error);
    if (error == EMU_ERROR_NULL)
        all->is_broken |= length != 77;
    else
        all->is_broken |= length != whole || (error != EMU_OK) != (room < whole || null == 1);
    for (size_t i = 0; error && i < room; i++)
        all->is_broken |= (unsigned char)text[i] != 0xA5;
    if (!error && sound) {
        all->is_broken |= memcmp(text, sound, whole) != 0;
        for (size_t i = 0; i < whole; i += 64)
            add_to(all, (uint64_t)(unsigned char)text[i]);
    }
    free(text);
    free(sound);
    free(memory);
}

static const char *any_id(stream *random, const char *const *list, uint64_t count)
{
    if (one_in(random, 20))
        return NULL;
    return one_in(random, 6) ? strange_words[below(random, STRANGE_WORDS)] : list[below(random, count)];
}

#define ANY_ID(list) any_id(random, list, sizeof(list) / sizeof *(list))

/* What is found passes its own check. */
static void add_found(tally *all, void *memory, int is_found, int32_t error)
{
    add_error(all, is_found ? EMU_OK : EMU_ERROR_NULL);
    all->is_broken |= is_found && error;
    free(memory);
}

void fuzz_find_format_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_format *found = emu_find_format_in(library, ANY_ID(sound_formats));
    add_found(all, memory, found != NULL, emu_check_format(found));
}

void fuzz_find_rounding_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_rounding *found = emu_find_rounding_in(library, ANY_ID(sound_roundings));
    add_found(all, memory, found != NULL, emu_check_rounding(found, emu_find_format("fp32")));
}

void fuzz_find_policy_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const char *destination = ANY_ID(sound_formats);
    const emu_policy *found = emu_find_policy_in(library, ANY_ID(sound_policies), destination);
    add_found(all, memory, found != NULL, emu_check_policy(found, emu_find_format_in(library, destination)));
}

void fuzz_find_word_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_word *found = emu_find_word_in(library, one_in(random, 2) ? "sr_ptx_share16" : ANY_ID(sound_roundings));
    int32_t is_beyond = 0;
    for (int32_t i = 0; found && i < found->lanes * found->random_bits; i++)
        is_beyond |= found->positions[i] >= found->bits;
    add_found(all, memory, found != NULL, is_beyond);
}

void fuzz_find_transform_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_transform *found = emu_find_transform_in(library, ANY_ID(sound_transforms));
    add_found(all, memory, found != NULL, emu_check_transform(found));
}

void fuzz_find_block_in(stream *random, tally *all)
{
    static const char *const names[] = {"mxfp4", "if4", "ufp4", "nvfp4", "hif4"};
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_block *found = emu_find_block_in(library, ANY_ID(names));
    int32_t is_broken = found && (found->rows < 1 || found->columns < 1 || found->element_count < 1);
    for (int32_t i = 0; found && i < found->level_count; i++)
        is_broken |= emu_check_format(found->levels[i].format) != EMU_OK;
    add_found(all, memory, found != NULL, is_broken);
}

void fuzz_find_layout_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_layout *found = emu_find_layout_in(library, ANY_ID(sound_layouts));
    add_found(all, memory, found != NULL, emu_check_layout(found));
}

void fuzz_find_recipe_in(stream *random, tally *all)
{
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const emu_recipe *found = emu_find_recipe_in(library, ANY_ID(sound_recipes));
    add_found(all, memory, found != NULL, found && emu_check_format(found->element));
}

void fuzz_find_program_in(stream *random, tally *all)
{
    static const char *const profiles[] = {"torchao", "f46", "exact", "te"};
    void *memory;
    const emu_library *library = any_kept_library(random, &memory);
    const char *id = ANY_ID(sound_recipes);
    const emu_program *found = emu_find_program_in(library, id, one_in(random, 2) ? NULL : ANY_ID(profiles));
    const emu_format *types[1024];
    add_found(all, memory, found != NULL, emu_type_registers(found, types));
}

void fuzz_find_datapath_in(stream *random, tally *all)
{
    static const char *const names[] = {"hopper_fp8/e4m3xe5m2", "hopper_fp8/e4m3xe4m3", "int64_narrow/e1m2xe1m2/16", "nv_like",
                                        "promote_narrow/e1m2xint4/32", "cdna3_fp8/e4m3fnuzxe4m3fnuz", "nv_like/e2m1xe1m2/e8m0/17",
                                        "nv_like_narrow/e1m2xint4/ue4m3/16", "hopper_fp8/e5m2xe5m2", "nv_like/e2m1xe1m2/ue4m3/16"};
    void *memory;
    emu_datapath found;
    const emu_library *library = any_kept_library(random, &memory);
    int null = null_of(random, 2);
    int32_t error = emu_find_datapath_in(library, null == 0 ? NULL : names[below(random, sizeof names / sizeof *names)], null == 1 ? NULL : &found);
    add_error(all, error);
    if (!error)
        all->is_broken |= emu_check_datapath(&found) != EMU_OK;
    free(memory);
}

void fuzz_find_levels_in(stream *random, tally *all)
{
    static const char *const names[] = {"drawn_261", "drawn_276", "drawn_345/ue4m3", "drawn_345/e8m0", "drawn_345", "drawn_261/e2m1xe2m1", "hopper_fp8",
                                        "a_name_that_is_longer_than_any_name_of_a_datapath_in_a_file_can_ever_be", ""};
    void *memory;
    emu_levels found;
    const emu_library *library = any_kept_library(random, &memory);
    int null = null_of(random, 2);
    int32_t error = emu_find_levels_in(library, null == 0 ? NULL : names[below(random, sizeof names / sizeof *names)], null == 1 ? NULL : &found);
    add_error(all, error);
    if (!error)
        all->is_broken |= emu_check_dot_levels(&found) != EMU_OK;
    free(memory);
}
