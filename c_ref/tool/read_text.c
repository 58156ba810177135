/* read_text.c: a file as text. */
#include <stdio.h>

#include "shared.h"

int32_t emu_read_text(const char *path, char *text, size_t room, size_t *length)
{
    FILE *file = fopen(path, "rb");
    int failed;
    if (!file)
        return -1;
    *length = fread(text, 1, room, file);
    failed = ferror(file);
    if (*length == room && !fseek(file, 0, SEEK_END) && ftell(file) > (long)room)
        *length = (size_t)ftell(file);
    fclose(file);
    return failed ? -1 : 0;
}
