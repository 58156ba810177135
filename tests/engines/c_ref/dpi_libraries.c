/* dpi_libraries.c: libraries behind handles under the sanitizers: every place taken, used, given back and taken again; wrong handles and names.
 * Arguments: a descriptor that has the datapath `my_random`, and some that are refused. Prints one line and returns 0, or says where not. */
#include <stdio.h>
#include <string.h>

#include "dpi/emu_dpi.h"

static int fail(const char *what, int32_t error)
{
    fprintf(stderr, "dpi_libraries: %s: %d %s\n", what, (int)error, emu_dpi_fault());
    return 1;
}

static int use(int32_t handle, int32_t wanted)
{
    static emu_bits zero, ones, out, more;
    uint64_t number;
    uint32_t flags;
    uint8_t open;
    int32_t products, draws, bits, error;
    memset(ones, 255, sizeof ones);
    error = emu_dpi_dot_row_in(handle, "my_random", 0, &products, &draws, &bits, &flags, &open);
    if (error != wanted)
        return fail("dot_row", error);
    error = emu_dpi_dot_in(handle, "my_random", products, zero, zero, zero, zero, 0, zero, &number, &flags, &open);
    if (error != wanted)
        return fail("dot", error);
    for (int32_t k = -1; k < 300; k++)
        (void)emu_dpi_dot_in(handle, "my_random", k, ones, ones, ones, ones, ~(uint64_t)0, ones, &number, &flags, &open);
    for (int32_t columns = -1; columns < 40; columns++)
        (void)emu_dpi_quantize_in(handle, "nvfp4_te_ref", "fp32", ones, columns, 0x40000000, ones, out, more, &open);
    (void)emu_dpi_dequantize_in(handle, "nvfp4_te_ref", "te", "fp32", ones, ones, out);
    (void)emu_dpi_transform_in(handle, "rht16_te", "fp64", ones, ones, out);
    (void)emu_dpi_layout_place_in(handle, "sf128x4", 1, 1, 4, 4, &number);
    (void)emu_dpi_convert_in(handle, "fp32", "e2m1", "rne", "nvidia", 1, 0, &number, &open);
    return emu_dpi_dot_in(handle, NULL, 0, zero, zero, zero, zero, 0, zero, &number, &flags, &open) == EMU_OK;
}

int main(int count, char **words)
{
    int32_t handles[EMU_DPI_LIBRARIES];
    for (int round = 0; round < 3; round++) {
        for (int32_t i = 0; i < EMU_DPI_LIBRARIES; i++) {
            handles[i] = emu_dpi_open(words[1]);
            if (handles[i] <= 0)
                return fail("open", handles[i]);
        }
        if (emu_dpi_open(words[1]) != -EMU_ERROR_SPACE)
            return fail("one more", 0);
        for (int32_t i = 0; i < EMU_DPI_LIBRARIES; i += 21) {
            if (use(handles[i], EMU_OK))
                return 1;
        }
        for (int32_t i = EMU_DPI_LIBRARIES - 1; i >= 0; i--) {
            if (emu_dpi_close(handles[i]) || use(handles[i], EMU_DPI_ERROR_HANDLE) || emu_dpi_close(handles[i]) != EMU_DPI_ERROR_HANDLE)
                return fail("close", handles[i]);
        }
    }
    for (int i = 2; i < count; i++) {
        if (emu_dpi_open(words[i]) >= 0 || !*emu_dpi_fault() || strchr(emu_dpi_fault(), '\n'))
            return fail(words[i], 0);
    }
    if (use(-1, EMU_DPI_ERROR_HANDLE) || use(INT32_MAX, EMU_DPI_ERROR_HANDLE) || use(EMU_DPI_SHIPPED, EMU_ERROR_NAME) || emu_dpi_open(NULL) >= 0)
        return fail("no library", 0);
    printf("fine\n");
    return 0;
}
