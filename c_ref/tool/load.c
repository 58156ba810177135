/* load.c: the file of --descriptor. */
#include "tool.h"

enum { MEMORY = 1 << 24 };

int load_descriptor(options *given)
{
    static char text[EMU_MAX_DESCRIPTOR + 1];
    static union {
        char bytes[MEMORY];
        uint64_t word;
        void *pointer;
    } memory;
    emu_fault fault;
    size_t length;
    FILE *file = fopen(given->descriptor, "rb");
    if (!file)
        return complain(given->descriptor, "cannot be read");
    length = fread(text, 1, sizeof text, file);
    if (ferror(file)) {
        fclose(file);
        return complain(given->descriptor, "cannot be read");
    }
    fclose(file);
    if (!emu_load_descriptor(text, length, &memory, sizeof memory, &given->library, &fault))
        return 0;
    fprintf(stderr, "emu_ref: %s:%d: %s\n", given->descriptor, (int)fault.line, fault.text);
    return EXIT_BAD;
}
