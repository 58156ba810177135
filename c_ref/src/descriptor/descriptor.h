/* descriptor.h: what the files that read and write a descriptor share. Private.
 *
 * A text is read once, line after line. The first fault ends it: every function below does nothing once reader->error is set.
 * Each file reads and writes the lines of its kinds: emu_load_* and emu_save_* take the same tables of fields and lists of words.
 */
#ifndef EMU_DESCRIPTOR_H
#define EMU_DESCRIPTOR_H

#include "../steps.h"
#include "../tables/tables.h"
#include "sha256.h"

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

/* What has been written: only counted where there is no text. */
typedef struct emu_writer {
    const emu_library *library;
    char *text;
    size_t length;
    emu_sha256 hash; /* of what stands in the text */
} emu_writer;

/* One line `key value ...` of an object. */
enum {
    EMU_FIELD_NUMBER,   /* int32_t, low..high */
    EMU_FIELD_WORD,     /* int32_t: the place of the word in `names` */
    EMU_FIELD_HEX,      /* uint64_t */
    EMU_FIELD_SPECIAL,  /* emu_special: rule, open, refused, a code, or a code and _rounded */
    EMU_FIELD_FORMAT,   /* pointers: the id of an object above */
    EMU_FIELD_ARITHMETIC,
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
/* Refuse what passes a limit, in the line that was read last: `name` is `found`, at most `most`. */
void emu_refuse_beyond(emu_reader *reader, const char *name, int64_t found, int64_t most);
void emu_end_limits(emu_reader *reader, int32_t line, const emu_limit *limit); /* the same in the line where an object begins, where there is one */
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
const char *emu_decimal(int64_t number, char digits[24]); /* its first digit or sign, in `digits` */

/* descriptor_fields.c */
void emu_read_fields(emu_reader *reader, const emu_field *fields, void *object);
const emu_format *emu_read_format(emu_reader *reader, int32_t place);
const emu_rounding *emu_read_rounding(emu_reader *reader, int32_t place);
const emu_format *emu_read_arithmetic(emu_reader *reader, int32_t place); /* with the widths of an arithmetic */
void emu_read_special(emu_reader *reader, int32_t place, emu_special *special);
const emu_transform *emu_read_transform(emu_reader *reader, int32_t place);
const char *emu_id_of(const emu_library *library, const emu_format *format);
void emu_write_fields(emu_writer *writer, const emu_field *fields, const void *object);
void emu_write_format(emu_writer *writer, const emu_format *format);       /* NULL: none */
void emu_write_rounding(emu_writer *writer, const emu_rounding *rounding); /* NULL: none */
/* Put text right behind the last word. */
void emu_append(emu_writer *writer, const char *text);
void emu_write_special(emu_writer *writer, const emu_special *special);

/* descriptor_write.c: lines and words of the text that is written. */
void emu_write_key(emu_writer *writer, const char *key); /* begins a line */
void emu_write_word(emu_writer *writer, const char *word);
void emu_write_integer(emu_writer *writer, int64_t number);
void emu_write_hex(emu_writer *writer, uint64_t bits);
void emu_write_line(emu_writer *writer, const char *key, const char *word);
void emu_write_count(emu_writer *writer, const char *key, int32_t count);
int32_t emu_count_rows(const void *rows, size_t size); /* structs that begin with a name, up to one without */

/* descriptor_convert.c */
void emu_load_formats(emu_reader *reader);
void emu_load_roundings(emu_reader *reader);
void emu_load_policies(emu_reader *reader);
void emu_save_formats(emu_writer *writer);
void emu_save_roundings(emu_writer *writer);
void emu_save_policies(emu_writer *writer);

/* descriptor_block.c */
extern const char *const emu_shipped_facts; /* refused: an id of the shipped spec with other facts */
void emu_load_transforms(emu_reader *reader);
void emu_load_blocks(emu_reader *reader);
void emu_load_layouts(emu_reader *reader);
void emu_save_transforms(emu_writer *writer);
void emu_save_blocks(emu_writer *writer);
void emu_save_layouts(emu_writer *writer);

/* descriptor_recipe.c */
void emu_load_recipes(emu_reader *reader);
void emu_save_recipes(emu_writer *writer);

/* descriptor_program.c: one program of a recipe, whose first line has been read or written. */
void emu_load_program(emu_reader *reader, const emu_block *block, const emu_program *shared, int32_t wants_values, emu_program *program);
void emu_save_program(emu_writer *writer, const emu_recipe *recipe, const emu_program *program);

/* descriptor_datapath.c */
const emu_choices *emu_read_choices(emu_reader *reader);
const emu_format *emu_widest_scale(const emu_choices *choices);
void emu_load_datapaths(emu_reader *reader);
void emu_save_datapaths(emu_writer *writer);
void emu_write_choices(emu_writer *writer, const emu_choices *choices);

/* descriptor_levels.c: one datapath of levels; its first line has been read. */
void emu_load_levels(emu_reader *reader, const char *id, emu_named_levels *row);
void emu_save_levels(emu_writer *writer, const emu_named_levels *row);

#endif
