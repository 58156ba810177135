/* emu_dpi_library.c: descriptor files behind handles, objects by name, and the line that says what was wrong.
 *
 * The one file of the C reference that allocates: one piece of memory for each open library, as emu_measure_descriptor says, freed when it is
 * closed; at most EMU_DPI_LIBRARIES at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../tool/shared.h"
#include "emu_dpi_private.h"

enum { MOST_PATH = 160, MOST_NAME = 120, MOST_TEXT = 640, GENERATIONS = 1 << 24 };

/* A handle is a generation and a place, so that one that was closed is not taken for another that lies in its place. */
typedef struct place {
    const emu_library *library; /* NULL: free */
    void *memory;
    int32_t generation;
    char path[MOST_PATH + 1];
} place;

static place places[EMU_DPI_LIBRARIES];
static char fault_text[MOST_TEXT];
static int32_t fault_line;

const char *emu_dpi_fault(void)
{
    return fault_text;
}

int32_t emu_dpi_fault_line(void)
{
    return fault_line;
}

/* Keep the line: what, then why; `name` is cut where it is long. */
static int32_t refuse(int32_t error, const char *where, int32_t line, const char *name, const char *why)
{
    char number[16] = "";
    fault_line = line;
    if (line)
        snprintf(number, sizeof number, ":%d", (int)line);
    snprintf(fault_text, sizeof fault_text, "%.*s%s%s%.*s%s%s", MOST_PATH, where, number, *where && *name ? ": " : "", MOST_NAME, name,
             *where || *name ? ": " : "", why);
    return error;
}

static void copy_path(char *to, const char *path)
{
    int32_t length = 0;
    for (; path[length] && length < MOST_PATH; length++)
        to[length] = path[length];
    to[length] = 0;
}

static int32_t load(place *to, const char *text, size_t length, const char *path)
{
    emu_fault fault;
    size_t bytes;
    int32_t error = emu_measure_descriptor(text, length, &bytes);
    if (error)
        bytes = sizeof(void *); /* a file that is too long: emu_load_descriptor says so */
    to->memory = malloc(bytes);
    if (!to->memory)
        return refuse(EMU_ERROR_SPACE, path, 0, "", "no memory for it: close libraries that are not needed");
    error = emu_load_descriptor(text, length, to->memory, bytes, &to->library, &fault);
    if (!error)
        return EMU_OK;
    free(to->memory);
    to->memory = NULL;
    return refuse(error, path, fault.line, "", fault.text);
}

int32_t emu_dpi_open(const char *path)
{
    static char text[EMU_MAX_DESCRIPTOR + 1];
    size_t length;
    int32_t at = 0, error;
    if (!path || !*path)
        return -refuse(EMU_ERROR_NULL, "", 0, "emu_dpi_open", "no path: name a file that emu export descriptor wrote");
    while (at < EMU_DPI_LIBRARIES && places[at].library)
        at++;
    if (at == EMU_DPI_LIBRARIES)
        return -refuse(EMU_ERROR_SPACE, path, 0, "", "too many libraries are open: close one with emu_dpi_close");
    if (emu_read_text(path, text, sizeof text, &length))
        return -refuse(EMU_DPI_ERROR_FILE, path, 0, "", "cannot be read");
    error = load(&places[at], text, length, path);
    if (error)
        return -error;
    copy_path(places[at].path, path);
    places[at].generation = (places[at].generation + 1) % GENERATIONS;
    return places[at].generation * EMU_DPI_LIBRARIES + at + 1;
}

static place *find_place(int32_t handle)
{
    place *found;
    if (handle <= 0)
        return NULL;
    found = &places[(handle - 1) % EMU_DPI_LIBRARIES];
    return found->library && found->generation == (handle - 1) / EMU_DPI_LIBRARIES ? found : NULL;
}

static int32_t refuse_handle(void)
{
    return refuse(EMU_DPI_ERROR_HANDLE, "", 0, "handle", "of no open library: give what emu_dpi_open returned, until emu_dpi_close");
}

int32_t emu_dpi_close(int32_t handle)
{
    place *found = find_place(handle);
    if (!found)
        return refuse_handle();
    free(found->memory);
    found->memory = NULL;
    found->library = NULL;
    return EMU_OK;
}

int32_t emu_dpi_find_library(int32_t handle, const emu_library **library)
{
    const place *found = find_place(handle);
    if (!found && handle != EMU_DPI_SHIPPED)
        return refuse_handle();
    *library = found ? found->library : NULL;
    return EMU_OK;
}

/* The kind of object that has this name, for who asked for another; NULL: none. */
static const char *kind_of(const emu_library *library, const char *name)
{
    emu_datapath datapath;
    emu_levels levels;
    if (emu_find_format_in(library, name))
        return "a format";
    if (emu_find_rounding_in(library, name))
        return "a rounding";
    if (emu_find_transform_in(library, name))
        return "a transform";
    if (emu_find_block_in(library, name))
        return "a block";
    if (emu_find_layout_in(library, name))
        return "a layout";
    if (emu_find_recipe_in(library, name))
        return "a recipe";
    return !emu_find_datapath_in(library, name, &datapath) || !emu_find_levels_in(library, name, &levels) ? "a datapath" : NULL;
}

int32_t emu_dpi_unknown(int32_t handle, const char *kind, const char *name)
{
    const place *found = find_place(handle);
    const char *other = name && *name ? kind_of(found ? found->library : NULL, name) : NULL;
    char why[160];
    if (other)
        snprintf(why, sizeof why, "is the name of %s, not of %s", other, kind);
    else
        snprintf(why, sizeof why, "no such name of %s, %sin the shipped spec: write it with emu export descriptor", kind,
                 found ? "neither in this file nor " : "");
    return refuse(EMU_ERROR_NAME, found ? found->path : "", 0, name && *name ? name : "(no name)", why);
}

int32_t emu_dpi_find_format(int32_t handle, const char *id, const emu_format **found)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *found = emu_find_format_in(library, id);
    return *found ? EMU_OK : emu_dpi_unknown(handle, "a format", id);
}

int32_t emu_dpi_find_rounding(int32_t handle, const char *id, const emu_rounding **found)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *found = emu_find_rounding_in(library, id);
    return *found ? EMU_OK : emu_dpi_unknown(handle, "a rounding", id);
}

int32_t emu_dpi_find_policy(int32_t handle, const char *id, const char *destination, const emu_policy **found)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *found = emu_find_policy_in(library, id, destination);
    return *found ? EMU_OK : emu_dpi_unknown(handle, "a policy for this destination", id);
}

int32_t emu_dpi_find_transform(int32_t handle, const char *id, const emu_transform **found)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *found = emu_find_transform_in(library, id);
    return *found ? EMU_OK : emu_dpi_unknown(handle, "a transform", id);
}

int32_t emu_dpi_find_layout(int32_t handle, const char *id, const emu_layout **found)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *found = emu_find_layout_in(library, id);
    return *found ? EMU_OK : emu_dpi_unknown(handle, "a layout", id);
}

int32_t emu_dpi_find_recipe(int32_t handle, const char *id, const emu_recipe **found)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *found = emu_find_recipe_in(library, id);
    return *found ? EMU_OK : emu_dpi_unknown(handle, "a recipe", id);
}

int32_t emu_dpi_end(int32_t error, const char *name)
{
    static const char *const texts[] = {
        "",
        "a name or a pointer is missing",
        "the format cannot be used here",
        "the rounding does not fit the destination",
        "the policy does not fit the destination",
        "an operand has bits above the width of its codes",
        "random integers are missing, or have bits above their width",
        "a value that the format of the result, or the arithmetic, does not have",
        "an operand is open: nobody knows what it means",
        "the described library raises",
        "a program that cannot be run",
        "operands of another shape than the object takes",
        "too large for the packed vectors of EMU_DPI_BITS bits, 256 lanes, or the workspace",
        "a datapath that cannot be run",
        "the accumulator does not hold the sum",
        "no such object",
        "the descriptor is refused",
        "a layout that cannot be used, or a place outside it",
    };
    if (!error)
        return EMU_OK;
    return refuse(error, "", 0, name, error > 0 && error < (int32_t)(sizeof texts / sizeof *texts) ? texts[error] : "refused");
}
