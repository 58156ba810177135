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
    if (emu_read_text(given->descriptor, text, sizeof text, &length))
        return complain(given->descriptor, "cannot be read");
    if (!emu_load_descriptor(text, length, &memory, sizeof memory, &given->library, &fault))
        return 0;
    fprintf(stderr, "emu_ref: %s:%d: %s\n", given->descriptor, (int)fault.line, fault.text);
    return EXIT_BAD;
}
