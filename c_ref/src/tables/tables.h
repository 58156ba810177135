/* tables.h: the tables of tables.c as names.c searches them. Private. A row with name NULL ends each. */
#ifndef EMU_TABLES_H
#define EMU_TABLES_H

#include "../../emu_ref.h"

/* name: the id, or an alias of it. */
typedef struct emu_named_format {
    const char *name;
    const char *id;
    const emu_format *format;
} emu_named_format;

typedef struct emu_named_rounding {
    const char *name;
    const char *id;
    const emu_rounding *rounding;
} emu_named_rounding;

typedef struct emu_named_word {
    const char *name;
    const char *id;
    const emu_word *word;
} emu_named_word;

typedef struct emu_named_policy {
    const char *name;
    const char *destination; /* id of a format */
    const emu_policy *policy;
} emu_named_policy;

typedef struct emu_named_transform {
    const char *name;
    const char *id;
    const emu_transform *transform;
} emu_named_transform;

typedef struct emu_named_block {
    const char *name;
    const char *id;
    const emu_block *block;
} emu_named_block;

typedef struct emu_named_layout {
    const char *name;
    const char *id;
    const emu_layout *layout;
} emu_named_layout;

typedef struct emu_named_recipe {
    const char *name;
    const char *id;
    const emu_recipe *recipe;
} emu_named_recipe;

typedef struct emu_named_program {
    const char *name; /* id of a recipe */
    const char *profile;
    const emu_program *program;
} emu_named_program;

/* What a datapath leaves free: pairs of formats of A and B, formats of the scales, block sizes. */
typedef struct emu_choices {
    const emu_format *const *pairs;
    int32_t pair_count;
    const emu_format *const *scales;
    int32_t scale_count;
    const int32_t *blocks;
    int32_t block_count;
} emu_choices;

typedef struct emu_named_datapath {
    const char *name;
    const char *id;
    const emu_datapath *facts; /* a, b, scale and block missing; step or group 0: a block */
    const emu_choices *choices;
} emu_named_datapath;

/* A datapath of levels of a descriptor file; the shipped spec has none as constants. any_nan: of a NaN result only the class is known. */
typedef struct emu_named_levels {
    const char *name;
    const emu_levels *facts; /* a, b, scale and block missing */
    const emu_choices *choices;
    int32_t any_nan;
} emu_named_levels;

/* What one descriptor file says: tables as those below. */
struct emu_library {
    const emu_named_format *formats;
    const emu_named_rounding *roundings;
    const emu_named_word *words;
    const emu_named_policy *policies;
    const emu_named_transform *transforms;
    const emu_named_block *blocks;
    const emu_named_layout *layouts;
    const emu_named_recipe *recipes;
    const emu_named_program *programs;
    const emu_named_datapath *datapaths;
    const emu_named_levels *levels;
};

/* datapath_names.c: how many choices of operands there are, and one of them, blocks first. */
int32_t emu_count_choices(const emu_choices *choices);
void emu_choose_datapath(const emu_named_datapath *row, int32_t number, emu_datapath *datapath);
void emu_choose_levels(const emu_named_levels *row, int32_t number, emu_levels *levels);
const emu_named_levels *emu_find_levels_row(const emu_library *library, const char *name); /* NULL: none */

extern const emu_named_format emu_formats[];
extern const emu_named_rounding emu_roundings[];
extern const emu_named_word emu_words[];
extern const emu_named_policy emu_policies[];
extern const emu_named_transform emu_transforms[];
extern const emu_named_block emu_blocks[];
extern const emu_named_layout emu_layouts[];
extern const emu_named_recipe emu_recipes[];
extern const emu_named_program emu_programs[];
extern const emu_named_datapath emu_datapaths[];

#endif
