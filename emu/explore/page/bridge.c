/* bridge.c: what the page calls. It finds descriptors, makes matrices of what lies in memory and copies results out of structs; every
 * number is made by emu_ref.h. Results of a call lie in `out`, 64 bits each; a call returns EMU_OK or an EMU_ERROR_* number. */
#include "bridge.h"

extern uint8_t __heap_base;
static uint8_t *top;
static emu_fault fault;

/* Memory for who asks, NULL where there is no more; ex_release gives back all that came after a mark. */
EXPORT(ex_room) void *ex_room(size_t bytes)
{
    uint8_t *room = top ? top : &__heap_base;
    room += (16 - (size_t)room % 16) % 16;
    size_t end = (size_t)room + bytes, pages = __builtin_wasm_memory_size(0);
    if (end > pages * 65536 && __builtin_wasm_memory_grow(0, (end - pages * 65536 + 65535) / 65536) == (size_t)-1)
        return NULL;
    top = room + bytes;
    return room;
}

EXPORT(ex_mark) uint8_t *ex_mark(void) { return top; }
EXPORT(ex_release) void ex_release(uint8_t *mark) { top = mark; }
EXPORT(ex_fault) const char *ex_fault(void) { return fault.text; }
EXPORT(ex_fault_line) int32_t ex_fault_line(void) { return fault.line; }

EXPORT(ex_load) const emu_library *ex_load(const char *text, size_t length)
{
    const emu_library *library = NULL;
    size_t bytes = 0;
    memset(&fault, 0, sizeof fault);
    if (emu_measure_descriptor(text, length, &bytes))
        return NULL;
    void *room = ex_room(bytes);
    return !room || emu_load_descriptor(text, length, room, bytes, &library, &fault) ? NULL : library;
}

/* The digest that the last line of a descriptor holds. */
EXPORT(ex_digest) void ex_digest(const char *text, size_t length, char hex[65])
{
    emu_sha256 hash;
    emu_sha256_begin(&hash);
    emu_sha256_add(&hash, text, length);
    emu_sha256_end(&hash, hex);
}

/* Numbers. */
EXPORT(ex_format) const emu_format *ex_format(const emu_library *library, const char *id) { return emu_find_format_in(library, id); }
EXPORT(ex_rounding) const emu_rounding *ex_rounding(const emu_library *library, const char *id) { return emu_find_rounding_in(library, id); }
EXPORT(ex_random_bits) int32_t ex_random_bits(const emu_rounding *rounding) { return rounding->random_bits; }

/* How values share the random words of a rounding, 0s where they do not -> out: values of a word, its bits. */
EXPORT(ex_sharing) void ex_sharing(const emu_library *library, const char *rounding, int64_t *out)
{
    const emu_word *shared = emu_find_word_in(library, rounding);
    out[0] = shared ? shared->lanes : 0;
    out[1] = shared ? shared->bits : 0;
}

/* The random integer that a value takes out of a word that it shares. lane: below the values of a word. */
EXPORT(ex_lane) uint32_t ex_lane(const emu_library *library, const char *rounding, uint64_t word, int32_t lane)
{
    const emu_word *shared = emu_find_word_in(library, rounding);
    uint32_t integers[64] = {0};
    emu_split_words(&word, shared->positions, shared->lanes, shared->random_bits, (size_t)lane + 1, integers);
    return integers[lane];
}

EXPORT(ex_policy) const emu_policy *ex_policy(const emu_library *library, const char *id, const char *destination)
{
    return emu_find_policy_in(library, id, destination);
}

EXPORT(ex_format_facts) void ex_format_facts(const emu_format *format, int64_t *out)
{
    int32_t is_float = format->format_class == EMU_FLOAT;
    out[0] = format->format_class;
    out[1] = emu_stored_bits(format);
    out[2] = is_float ? format->has_sign : format->format_class == EMU_INTEGER && format->integer_sign != EMU_UNSIGNED;
    out[3] = is_float ? format->exp_bits : 0;
    out[4] = is_float ? format->frac_bits : 0;
}

/* What the formula of a code is made of, by the class of the format, in out[2..]; out[0] is the class, out[1] the sign bit or -1.
 * float: exponent field, bias, fraction field, frac_bits, 1 where the fraction stands behind a 1, inf, nan. integer: how the sign is kept, the
 * stored number without a sign bit of its own, 2^bits where two's complement takes it off, unit. exponent: bias. codebook: entry, unit. */
EXPORT(ex_parts) void ex_parts(const emu_format *format, uint64_t code, int64_t *out)
{
    uint64_t field = format->format_class == EMU_FLOAT ? code >> format->frac_bits : 0, top_bit = format->format_class == EMU_INTEGER ? 1ull << (format->bits - 1) : 0;
    out[0] = format->format_class;
    out[1] = -1;
    switch (format->format_class) {
    case EMU_FLOAT:
        out[1] = format->has_sign ? (int64_t)(field >> format->exp_bits & 1) : -1;
        out[2] = (int64_t)(field & ((1ull << format->exp_bits) - 1));
        out[3] = format->bias;
        out[4] = (int64_t)(code & ((1ull << format->frac_bits) - 1));
        out[5] = format->frac_bits;
        out[6] = out[2] > 0 || !format->subnormals;
        out[7] = format->inf;
        out[8] = format->nan;
        break;
    case EMU_INTEGER:
        out[1] = format->integer_sign == EMU_SIGN_MAGNITUDE ? (code & top_bit) != 0 : -1;
        out[2] = (int64_t)(format->integer_sign == EMU_SIGN_MAGNITUDE ? code & (top_bit - 1) : code);
        out[3] = format->integer_sign == EMU_TWOS_COMPLEMENT && code & top_bit ? (int64_t)(top_bit * 2) : 0;
        out[4] = format->unit_exp;
        break;
    case EMU_EXPONENT: out[2] = format->bias; break;
    default:
        out[2] = format->values[code];
        out[3] = format->unit_exp;
    }
}

EXPORT(ex_decode) int32_t ex_decode(const emu_format *format, uint64_t code, int64_t *out)
{
    emu_value value;
    int32_t error = emu_decode_code(format, code, &value);
    if (error)
        return error;
    out[0] = value.value_class;
    out[1] = value.sign;
    out[2] = value.lsb_exp;
    out[3] = (int64_t)value.significand;
    return EMU_OK;
}

EXPORT(ex_round)
int32_t ex_round(const emu_format *format, const emu_rounding *rounding, int32_t sign, int32_t lsb_exp, uint64_t significand, uint32_t random,
                 int64_t *out)
{
    emu_value value = {EMU_NORMAL, sign, lsb_exp, significand};
    emu_rounded rounded;
    int32_t error = emu_round_value(format, rounding, &value, random, &rounded);
    if (error)
        return error;
    out[0] = (int64_t)rounded.magnitude;
    out[1] = rounded.beyond;
    out[2] = rounded.inexact;
    return EMU_OK;
}

EXPORT(ex_encode) int32_t ex_encode(const emu_format *format, int32_t sign, uint64_t magnitude, uint64_t *out)
{
    return emu_encode_magnitude(format, sign, magnitude, out);
}

EXPORT(ex_max_magnitude) int32_t ex_max_magnitude(const emu_format *format, int32_t sign, uint64_t *out)
{
    return emu_max_magnitude(format, sign, out);
}

EXPORT(ex_convert)
int32_t ex_convert(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                   uint64_t code, uint32_t random, uint64_t *out)
{
    uint8_t open = 0;
    int32_t error = emu_convert_code(source, destination, rounding, policy, code, random, &out[0], &open);
    out[1] = open;
    return error;
}

/* Blocks. A register has `rows` x `columns` cells; an extent of 0 covers everything. */
EXPORT(ex_program) const emu_program *ex_program(const emu_library *library, const char *recipe, const char *profile)
{
    return emu_find_program_in(library, recipe, profile);
}

EXPORT(ex_program_facts) void ex_program_facts(const emu_program *program, int64_t *out)
{
    out[0] = program->tile_rows;
    out[1] = program->tile_columns;
    out[2] = program->register_count;
    out[3] = program->step_count;
    out[4] = program->level_count;
    out[5] = program->random >= 0;
    out[6] = program->tensor_amax >= 0;
    out[7] = program->codes;
    out[8] = program->x;
    out[9] = program->tensor_amax;
    out[10] = program->tail;
}

EXPORT(ex_register) const char *ex_register(const emu_program *program, int32_t number, int64_t *out)
{
    out[0] = program->registers[number].rows;
    out[1] = program->registers[number].columns;
    out[2] = program->registers[number].is_constant;
    return program->names ? program->names[number] : NULL;
}

EXPORT(ex_step_out) int32_t ex_step_out(const emu_program *program, int32_t step) { return program->steps[step].out; }
/* The registers of a step's arguments, -1 where it has fewer than four. */
EXPORT(ex_step_args) void ex_step_args(const emu_program *program, int32_t step, int64_t *out)
{
    for (int32_t i = 0; i < 4; i++)
        out[i] = program->steps[step].args[i];
}

EXPORT(ex_level_register) int32_t ex_level_register(const emu_program *program, int32_t level) { return program->levels[level].reg; }

EXPORT(ex_types) int32_t ex_types(const emu_program *program, const emu_format **types) { return emu_type_registers(program, types); }

/* How a recipe draws, 0s where it does not -> out: bits of a random integer, elements that share a word, bits of a word. */
EXPORT(ex_drawing) void ex_drawing(const emu_library *library, const char *id, int64_t *out)
{
    const emu_program *program = emu_find_program_in(library, id, NULL);
    const emu_recipe *recipe = emu_find_recipe_in(library, id);
    out[0] = out[1] = out[2] = 0;
    for (int32_t i = 0; program && i < program->step_count; i++)
        if (program->steps[i].random >= 0) {
            const emu_word *word = recipe ? recipe->word : NULL;
            out[0] = program->steps[i].rounding->random_bits;
            out[1] = word ? word->lanes : 1;
            out[2] = word ? word->bits : out[0];
        }
}

/* `count` words of so many bits that a key gives; one of more than 32 bits takes two of the generator's, low first. */
EXPORT(ex_words) void ex_words(uint64_t key, int32_t bits, size_t count, uint64_t *words)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t whole = bits > 32 ? philox_word(key, 2 * i) | (uint64_t)philox_word(key, 2 * i + 1) << 32 : philox_word(key, i);
        words[i] = bits < 64 ? whole & ((1ull << bits) - 1) : whole;
    }
}

/* The random integers of `count` elements out of words. */
EXPORT(ex_integers)
int32_t ex_integers(const emu_library *library, const char *id, const uint64_t *words, size_t count, uint32_t *integers)
{
    const emu_recipe *recipe = emu_find_recipe_in(library, id);
    const emu_word *word = recipe ? recipe->word : NULL;
    if (word)
        return emu_split_words(words, word->positions, word->lanes, word->random_bits, count, integers);
    for (size_t i = 0; i < count; i++)
        integers[i] = (uint32_t)words[i];
    return EMU_OK;
}

/* x, cells: 64 bits a code; random: an integer for each element of x, NULL where none is drawn; cells and open of register i begin at
 * places[i], which is written; those of a matrix that is no multiple of the tile are as many as of the next one that is. signs: four words of the
 * recipe's own rotations, NULL for theirs. */
EXPORT(ex_trace)
int32_t ex_trace(const emu_program *program, const emu_format *source, uint64_t *x, size_t rows, size_t columns, const uint32_t *tensor_amax,
                 uint32_t *random, const uint64_t *signs, uint64_t *cells, uint8_t *open, uint32_t *places)
{
    size_t tall = padded(rows, program->tile_rows), wide = padded(columns, program->tile_columns), words = 0, place = 0;
    int32_t error = emu_count_workspace(program, columns, &words);
    emu_matrix *registers = ex_room(sizeof *registers * (size_t)program->register_count), given = {x, 8, rows, columns, NULL};
    emu_matrix drawn = {random, 4, rows, columns, NULL};
    uint64_t *workspace = ex_room(words * 8);
    if (error || !registers || !workspace)
        return error ? error : EMU_ERROR_SPACE;
    for (int32_t i = 0; i < program->register_count; i++) {
        const emu_register *here = &program->registers[i];
        registers[i] = (emu_matrix){cells + place, 8, parts(here->rows, tall), parts(here->columns, wide), open + place};
        places[i] = (uint32_t)place;
        place += registers[i].rows * registers[i].columns;
    }
    places[program->register_count] = (uint32_t)place;
    return emu_trace_quantize(program, source, &given, tensor_amax, random ? &drawn : NULL, signs, registers, workspace, words);
}

/* Rotations. out: size, result format, four words of signs. */
EXPORT(ex_transform) const emu_transform *ex_transform(const emu_library *library, const char *id) { return emu_find_transform_in(library, id); }

EXPORT(ex_transform_facts) void ex_transform_facts(const emu_transform *transform, int64_t *out)
{
    out[0] = transform->size;
    out[1] = (int64_t)(size_t)transform->result;
    for (int32_t i = 0; i < 4; i++)
        out[2 + i] = (int64_t)transform->signs[i];
}

/* One row. codes, rotated: 64 bits a code. signs: four words, NULL for the transform's own. */
EXPORT(ex_rotate)
int32_t ex_rotate(const emu_format *source, const emu_transform *transform, const uint64_t *signs, uint64_t *codes, uint64_t *rotated, size_t count)
{
    emu_matrix x = {codes, 8, 1, count, NULL}, y = {rotated, 8, 1, count, NULL};
    return emu_transform_matrix(source, transform, signs, &x, &y);
}

/* Layouts. */
EXPORT(ex_layout) const emu_layout *ex_layout(const emu_library *library, const char *id) { return emu_find_layout_in(library, id); }

EXPORT(ex_layout_size) int32_t ex_layout_size(const emu_layout *layout, uint64_t rows, uint64_t codes, uint64_t *out)
{
    out[1] = (uint64_t)layout->holds_scales;
    out[2] = (uint64_t)layout->code_bits;
    return emu_layout_size(layout, rows, codes, out);
}

EXPORT(ex_layout_place)
int32_t ex_layout_place(const emu_layout *layout, uint64_t row, uint64_t index, uint64_t rows, uint64_t codes, uint64_t *out)
{
    return emu_layout_place(layout, row, index, rows, codes, out);
}

EXPORT(ex_layout_locate)
int32_t ex_layout_locate(const emu_layout *layout, uint64_t place, uint64_t rows, uint64_t codes, uint64_t *out)
{
    return emu_layout_locate(layout, place, rows, codes, &out[0], &out[1]);
}
