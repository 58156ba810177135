/* descriptor.h: what the files that read a descriptor share. Private.
 *
 * A text is read once, line after line. The first fault ends it: every function below does nothing once reader->error is set.
 */
#ifndef EMU_DESCRIPTOR_H
#define EMU_DESCRIPTOR_H

#include "../steps.h"
#include "../tables/tables.h"

enum { EMU_MOST_WORDS = 40, EMU_MOST_LINE = 400 };

typedef struct emu_reader {
    const char *text;
    size_t length;
    size_t at;                           /* of the next line */
    int32_t line;                        /* number of the line that was read last */
    int32_t lines;                       /* of the text */
    const char *words[EMU_MOST_WORDS];   /* of that line: where each begins, and how long it is */
    int32_t sizes[EMU_MOST_WORDS];
    int32_t word_count;
    char *memory;
    size_t bytes;
    size_t used;
    emu_library *library;
    emu_fault *fault;
    size_t said;                         /* characters of its text */
    int32_t error;
} emu_reader;

/* One line `key value ...` of an object. */
enum {
    EMU_FIELD_NUMBER,   /* int32_t, low..high */
    EMU_FIELD_WORD,     /* int32_t: the place of the word in `names` */
    EMU_FIELD_HEX,      /* uint64_t */
    EMU_FIELD_SPECIAL,  /* emu_special: rule, open, refused or a code */
    EMU_FIELD_FORMAT,   /* pointers: the id of an object above */
    EMU_FIELD_ROUNDING
};

typedef struct emu_field {
    const char *key;
    int32_t kind;
    int32_t count;             /* values of the line */
    size_t place;              /* of the first */
    int32_t low;
    int32_t high;
    const char *const *names;  /* NULL at the end */
    size_t when[2];            /* the line is there where the int32_t at when[i] is n and bit n of is[i] is set; is[i] 0: whatever it is */
    uint32_t is[2];
} emu_field;

extern const char *const emu_no_yes[];

extern const char *const emu_overflow_words[]; /* by EMU_SATURATE .. EMU_WRAP */

/* descriptor_text.c: lines, words, numbers, faults, memory. */
void emu_refuse(emu_reader *reader, const char *what, int32_t word, const char *how); /* word: which of the line is quoted, -1: none */
void emu_refuse_key(emu_reader *reader, const char *key);
int32_t emu_next_line(emu_reader *reader);
int32_t emu_is_word(const emu_reader *reader, int32_t place, const char *wanted);
int32_t emu_read_line(emu_reader *reader, const char *key, int32_t values); /* the next line must be this key with so many values */
int32_t emu_read_values(emu_reader *reader, const char *key, int32_t most);  /* the same with 1 to `most`: how many; 0: it is not */
int64_t emu_read_integer(emu_reader *reader, int32_t place, int64_t low, int64_t high);
uint64_t emu_read_hex(emu_reader *reader, int32_t place);
int32_t emu_read_word(emu_reader *reader, int32_t place, const char *const *names);
int32_t emu_read_count(emu_reader *reader, const char *key, int32_t low, int32_t high);
const char *emu_read_id(emu_reader *reader, int32_t place);
void emu_refuse_taken(emu_reader *reader, const void *rows, size_t size, int32_t count); /* the id at the first place, where a row has it */
const char *emu_read_new_id(emu_reader *reader, const void *rows, size_t size, int32_t count);
void emu_end_object(emu_reader *reader, int32_t line, int32_t error, const char *what, const char *how);
void *emu_take(emu_reader *reader, size_t bytes); /* zeros; NULL where there is no room */

/* descriptor_fields.c */
void emu_read_fields(emu_reader *reader, const emu_field *fields, void *object);
const emu_format *emu_read_format(emu_reader *reader, int32_t place);
const emu_rounding *emu_read_rounding(emu_reader *reader, int32_t place);
void emu_read_special(emu_reader *reader, int32_t place, emu_special *special);
const emu_transform *emu_read_transform(emu_reader *reader, int32_t place);
const char *emu_id_of(const emu_reader *reader, const emu_format *format);

/* descriptor_convert.c */
void emu_load_formats(emu_reader *reader);
void emu_load_roundings(emu_reader *reader);
void emu_load_policies(emu_reader *reader);

/* descriptor_block.c */
extern const char *const emu_shipped_facts; /* refused: an id of the shipped spec with other facts */
void emu_load_transforms(emu_reader *reader);
void emu_load_blocks(emu_reader *reader);
void emu_load_layouts(emu_reader *reader);

/* descriptor_recipe.c */
void emu_load_recipes(emu_reader *reader);

/* descriptor_datapath.c */
const emu_choices *emu_read_choices(emu_reader *reader);
const emu_format *emu_widest_scale(const emu_choices *choices);
void emu_load_datapaths(emu_reader *reader);

/* descriptor_levels.c: one datapath of levels, whose first line has been read. */
void emu_load_levels(emu_reader *reader, const char *id, emu_named_levels *row);

#endif
