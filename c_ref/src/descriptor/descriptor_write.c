/* descriptor_write.c: a library as the text of a descriptor file, from its first line to its last. */
#include "descriptor.h"

static void put(emu_writer *writer, const char *text)
{
    for (; *text; text++, writer->length++) {
        if (!writer->text)
            continue;
        emu_sha256_add(&writer->hash, text, 1);
        writer->text[writer->length] = *text;
    }
}

void emu_write_key(emu_writer *writer, const char *key)
{
    if (writer->length)
        put(writer, "\n");
    put(writer, key);
}

void emu_write_word(emu_writer *writer, const char *word)
{
    put(writer, " ");
    put(writer, word);
}

void emu_append(emu_writer *writer, const char *text)
{
    put(writer, text);
}

void emu_write_integer(emu_writer *writer, int64_t number)
{
    char digits[24];
    emu_write_word(writer, emu_decimal(number, digits));
}

void emu_write_hex(emu_writer *writer, uint64_t bits)
{
    char digits[20];
    int32_t first = 19;
    digits[first] = 0;
    do {
        digits[--first] = "0123456789abcdef"[bits & 15];
        bits >>= 4;
    } while (bits);
    digits[--first] = 'x';
    digits[--first] = '0';
    emu_write_word(writer, digits + first);
}

void emu_write_line(emu_writer *writer, const char *key, const char *word)
{
    emu_write_key(writer, key);
    emu_write_word(writer, word);
}

void emu_write_count(emu_writer *writer, const char *key, int32_t count)
{
    emu_write_key(writer, key);
    emu_write_integer(writer, count);
}

int32_t emu_count_rows(const void *rows, size_t size)
{
    int32_t count = 0;
    while (*(const char *const *)((const char *)rows + (size_t)count * size))
        count++;
    return count;
}

/* The lines that emu_load_descriptor reads, in its order. */
static void save(emu_writer *writer)
{
    char digest[65];
    emu_sha256_begin(&writer->hash);
    emu_write_line(writer, "emu", "descriptor");
    emu_write_integer(writer, 1);
    emu_save_formats(writer);
    emu_save_roundings(writer);
    emu_save_policies(writer);
    emu_save_transforms(writer);
    emu_save_blocks(writer);
    emu_save_layouts(writer);
    emu_save_recipes(writer);
    emu_save_datapaths(writer);
    put(writer, "\n");
    emu_sha256_end(&writer->hash, digest);
    put(writer, "end");
    emu_write_word(writer, digest);
    put(writer, "\n");
}

int32_t emu_write_descriptor(const emu_library *library, char *text, size_t bytes, size_t *length)
{
    emu_writer writer = {0};
    if (!library || !length)
        return EMU_ERROR_NULL;
    writer.library = library;
    save(&writer);
    *length = writer.length;
    if (!text || bytes < writer.length)
        return EMU_ERROR_SPACE;
    writer.length = 0;
    writer.text = text;
    save(&writer);
    return EMU_OK;
}
