/* descriptor_load.c: a descriptor file from its first line to its last. */
#include "descriptor.h"

/* What a line of a text can need, at most, and what a file needs whatever it says: the library and the end of each of its tables. */
enum { BYTES_OF_LINE = 256, BYTES_OF_FILE = 1 << 16 };

static int32_t count_lines(const char *text, size_t length)
{
    int32_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

int32_t emu_measure_descriptor(const char *text, size_t length, size_t *bytes)
{
    if (!text || !bytes)
        return EMU_ERROR_NULL;
    if (length > EMU_MAX_DESCRIPTOR)
        return EMU_ERROR_DESCRIPTOR;
    *bytes = (size_t)count_lines(text, length) * BYTES_OF_LINE + BYTES_OF_FILE;
    return EMU_OK;
}

/* The last line: the SHA-256 of all bytes before it. */
static void read_end(emu_reader *reader)
{
    emu_sha256 hash;
    char wanted[65];
    size_t above = reader->at;
    while (above < reader->length && reader->text[above] == '#') { /* remarks may stand before it */
        while (above < reader->length && reader->text[above] != '\n')
            above++;
        above += above < reader->length;
    }
    if (!emu_read_line(reader, "end", 1))
        return;
    emu_sha256_begin(&hash);
    emu_sha256_add(&hash, reader->text, above);
    emu_sha256_end(&hash, wanted);
    if (!emu_is_word(reader, 1, wanted))
        emu_refuse(reader, "not the SHA-256 of the lines above", 1, "export the file again, or write what `head -n -1 FILE | sha256sum` prints");
}

static void load(emu_reader *reader)
{
    if (emu_read_line(reader, "emu", 2) && !(emu_is_word(reader, 1, "descriptor") && emu_is_word(reader, 2, "1")))
        emu_refuse(reader, "not the first line of a descriptor of this version", -1, "it is 'emu descriptor 1'");
    emu_load_formats(reader);
    emu_load_roundings(reader);
    emu_load_policies(reader);
    emu_load_transforms(reader);
    emu_load_blocks(reader);
    emu_load_layouts(reader);
    emu_load_recipes(reader);
    emu_load_datapaths(reader);
    read_end(reader);
    if (!reader->error && reader->at < reader->length) {
        reader->line++;
        emu_refuse(reader, "something follows the last line", -1, "leave it out");
    }
}

int32_t emu_load_descriptor(const char *text, size_t length, void *memory, size_t bytes, const emu_library **library, emu_fault *fault)
{
    emu_reader reader = {0};
    if (!text || !memory || !library || !fault)
        return EMU_ERROR_NULL;
    fault->line = 0;
    fault->text[0] = 0;
    reader.text = text;
    reader.length = length;
    reader.memory = memory;
    reader.bytes = bytes;
    reader.fault = fault;
    if (length > EMU_MAX_DESCRIPTOR) {
        emu_refuse_beyond(&reader, "bytes of the file", (int64_t)length, EMU_MAX_DESCRIPTOR);
        return reader.error;
    }
    reader.lines = count_lines(text, length);
    reader.library = emu_take(&reader, sizeof *reader.library);
    if (!reader.error)
        load(&reader);
    if (!reader.error)
        *library = reader.library;
    return reader.error;
}
