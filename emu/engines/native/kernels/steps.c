/* The steps of a recipe on registers of lanes: each is one loop. */
#include "kernels.h"

typedef struct emu_lanes {
    int32_t count;
    const uint32_t *from[4];
} emu_lanes;

#define LANES(expression)                                                             \
    {                                                                                 \
        const uint32_t *restrict a = count.from[0], *restrict b = count.from[1];      \
        const uint32_t *restrict c = count.from[2], *restrict d = count.from[3];      \
        (void)a, (void)b, (void)c, (void)d;                                           \
        for (int32_t i = 0; i < count.count; i++)                                     \
            out[i] = (expression);                                                    \
    }                                                                                 \
    break

#include "steps.h"

EMU_INLINE void run_steps(const emu_kernel_step *steps, int32_t step_count, int32_t count, uint32_t (*registers)[EMU_LANES], int32_t form) {
    for (int32_t k = 0; k < step_count; k++) {
        const int32_t *args = steps[k].args;
        const emu_lanes lanes = {count, {registers[args[0]], registers[args[1]], registers[args[2]], registers[args[3]]}};
        one_step(steps + k, lanes, registers[steps[k].out], form);
    }
}

EMU_FORMS(run_steps, (const emu_kernel_step *steps, int32_t step_count, int32_t count, uint32_t (*registers)[EMU_LANES]), steps, step_count,
          count, registers)

/* Whether every register, table and number of a list of steps is in range. */
static int32_t are_steps_valid(const emu_kernel_step *steps, int32_t step_count) {
    if (step_count < 0 || (step_count && steps == NULL))
        return 0;
    for (int32_t k = 0; k < step_count; k++) {
        const emu_kernel_step *step = steps + k;
        if (step->operation < EMU_STEP_ADD || step->operation > EMU_STEP_DECODE_FLOAT || step->out < 0 || step->out >= EMU_MAX_REGISTERS)
            return 0;
        for (int arg = 0; arg < 4; arg++)
            if (step->args[arg] < 0 || step->args[arg] >= EMU_MAX_REGISTERS || step->args[arg] == step->out)
                return 0;
        if ((step->operation == EMU_STEP_CAST || step->operation == EMU_STEP_CAST_FLOAT) && step->codes == NULL)
            return 0;
        if ((step->operation == EMU_STEP_DECODE || step->operation == EMU_STEP_DECODE_FLOAT) && step->values == NULL)
            return 0;
        if (step->frac_bits < 0 || step->frac_bits > 22 || step->bias < 0 || step->bias > 126)
            return 0;
    }
    return 1;
}

int32_t emu_run_steps(int32_t form, const emu_kernel_step *steps, int32_t step_count, int32_t count, uint32_t *registers) {
    if (registers == NULL || count < 0 || count > EMU_LANES || !are_steps_valid(steps, step_count))
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    EMU_RUN(form, run_steps, steps, step_count, count, (uint32_t(*)[EMU_LANES])registers);
    return EMU_KERNEL_OK;
}

int32_t emu_start_registers(int32_t form, const uint32_t *initial, int32_t count, const emu_kernel_step *once, int32_t once_count,
                            const emu_kernel_step *steps, int32_t step_count, uint32_t registers[][EMU_LANES]) {
    int32_t error = emu_check_floats();
    for (int32_t k = 0; k < count; k++)
        registers[k][0] = initial[k];
    if (!error)
        error = emu_run_steps(form, once, once_count, 1, registers[0]);
    if (!error)
        error = emu_run_steps(form, steps, step_count, 0, registers[0]);
    if (error)
        return error;
    for (int32_t k = 0; k < count; k++)
        for (int32_t lane = 1; lane < EMU_LANES; lane++)
            registers[k][lane] = registers[k][0];
    return EMU_KERNEL_OK;
}
