/* bridge_dequantize.c: element codes and levels of whole tiles back to values, with what each step left. */
#include "bridge.h"

/* A level of a program -> out: rows and columns that one of its codes covers (0: all), its format. */
EXPORT(ex_side) void ex_side(const emu_program *program, int32_t level, int64_t *out)
{
    out[0] = program->levels[level].rows;
    out[1] = program->levels[level].columns;
    out[2] = (int64_t)(size_t)program->levels[level].format;
}

/* rows, columns: of codes and values; levels and registers are of whole tiles. codes, levels (one after the other), values, cells: 64 bits a code; unknown: a byte for each cell; places: where the cells of a register
 * begin, and behind the last one their number. EMU_ERROR_OPEN where the sources leave any value open. */
EXPORT(ex_dequantize)
int32_t ex_dequantize(const emu_program *program, const emu_format *result, uint64_t *codes, size_t rows, size_t columns, uint64_t *levels,
                      uint64_t *values, uint64_t *cells, uint8_t *unknown, uint32_t *places)
{
    size_t tall = padded(rows, program->tile_rows), wide = padded(columns, program->tile_columns), words = 0, place = 0;
    int32_t error = emu_count_workspace(program, columns, &words);
    emu_matrix *registers = ex_room(sizeof *registers * (size_t)program->register_count), given = {codes, 8, rows, columns, NULL};
    emu_matrix *sides = ex_room(sizeof *sides * 16), made = {values, 8, rows, columns, NULL};
    uint64_t *workspace = ex_room(words * 8);
    if (error || !registers || !sides || !workspace)
        return error ? error : EMU_ERROR_SPACE;
    for (int32_t i = 0; i < program->level_count; i++) {
        sides[i] = (emu_matrix){levels, 8, parts(program->levels[i].rows, tall), parts(program->levels[i].columns, wide), NULL};
        levels += sides[i].rows * sides[i].columns;
    }
    for (int32_t i = 0; i < program->register_count; i++) {
        const emu_register *here = &program->registers[i];
        registers[i] = (emu_matrix){cells + place, 8, parts(here->rows, tall), parts(here->columns, wide), unknown + place};
        places[i] = (uint32_t)place;
        place += registers[i].rows * registers[i].columns;
    }
    places[program->register_count] = (uint32_t)place;
    error = emu_dequantize(program, &given, sides, result, &made, workspace, words);
    return error ? error : emu_trace_dequantize(program, &given, sides, registers, workspace, words);
}
