/* load.c: descriptor files: the file of --descriptor, and the command that writes one again. */
#include "tool.h"

enum { MEMORY = 1 << 24 };

static char text[EMU_MAX_DESCRIPTOR + 1]; /* what is read is no longer needed when it is loaded */

/* Load the text of a file; name: of the file. */
static int load(const char *name, size_t length, const emu_library **library)
{
    static union {
        char bytes[MEMORY];
        uint64_t word;
        void *pointer;
    } memory;
    emu_fault fault;
    if (!emu_load_descriptor(text, length, &memory, sizeof memory, library, &fault))
        return 0;
    fprintf(stderr, "emu_ref: %s:%d: %s\n", name, (int)fault.line, fault.text);
    return EXIT_BAD;
}

int load_descriptor(options *given)
{
    size_t length;
    if (emu_read_text(given->descriptor, text, sizeof text, &length))
        return complain(given->descriptor, "cannot be read");
    return load(given->descriptor, length, &given->library);
}

int run_descriptor(void)
{
    const emu_library *library;
    size_t length = fread(text, 1, sizeof text, stdin);
    if (length == sizeof text) { /* too long: how long */
        char more[1 << 12];
        for (size_t here; length < MEMORY && (here = fread(more, 1, sizeof more, stdin)) > 0;)
            length += here;
    }
    if (ferror(stdin))
        return complain("stdin", "cannot be read");
    if (load("stdin", length, &library))
        return EXIT_BAD;
    if (emu_write_descriptor(library, text, sizeof text, &length))
        return complain("descriptor", "cannot be written");
    return fwrite(text, 1, length, stdout) != length || fflush(stdout) ? complain("descriptor", "cannot write") : EXIT_EQUAL;
}
