/* A sound descriptor, and texts in which bytes, words and lines of it were changed, left out, doubled and exchanged; fuzz.h says more. */
#include <string.h>

#include "fuzz.h"
#include "fuzz_descriptor_text.h"
#include "src/descriptor/sha256.h"

enum { MOST = 1 << 16 };

uint64_t changed_bytes;

const char *const strange_words[STRANGE_WORDS + 1] = {"none", "rule", "open", "refused", "0", "1", "-1", "-0", "2", "3", "4096", "99999999999999999999", "9223372036854775807",
                                      "-9223372036854775807", "0x0", "0x", "0x00", "0x1", "0xffffffffffffffff", "0xG", "E", "end", "nan_codes",
                                      "a_very_long_id_that_has_more_than_sixty_three_characters_in_it_for_sure", "x y", "", " ", "\n", "\xff", "#",
                                      "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", NULL};

/* Where a word, or with `in_lines` a line, begins at or behind a place. */
static size_t find_begin(const char *text, size_t length, size_t at, int in_lines)
{
    while (at < length && at > 0 && text[at - 1] != '\n' && (in_lines || text[at - 1] != ' '))
        at++;
    return at;
}

static size_t find_end(const char *text, size_t length, size_t at, int in_lines)
{
    while (at < length && text[at] != '\n' && (in_lines || text[at] != ' '))
        at++;
    return at + (in_lines && at < length);
}

/* Put `size` bytes in the place of those from first to last; what does not fit is left alone. */
static size_t replace(char *text, size_t length, size_t first, size_t last, const char *piece, size_t size)
{
    char copy[256];
    size = size > sizeof copy ? sizeof copy : size;
    if (length - (last - first) + size > MOST)
        return length;
    changed_bytes += last - first + size;
    memcpy(copy, piece, size); /* it may lie in the text */
    memmove(text + first + size, text + last, length - last);
    memcpy(text + first, copy, size);
    return length - (last - first) + size;
}

/* Where word `number` of the line that begins at a place begins; the end of the line where it has fewer. */
static size_t find_word(const char *text, size_t length, size_t at, uint64_t number)
{
    for (; number > 0 && at < length && text[at] != '\n'; number--) {
        at = find_end(text, length, at, 0);
        at += at < length && text[at] == ' ';
    }
    return at;
}

/* A word takes the place of the same word of another line of its kind: facts that may well be sound. */
static size_t exchange(stream *random, char *text, size_t length)
{
    size_t line = find_begin(text, length, (size_t)below(random, length), 1), key = find_end(text, length, line, 0) - line;
    size_t other = find_begin(text, length, (size_t)below(random, length), 1);
    uint64_t number = 1 + (one_in(random, 2) ? 0 : below(random, 7));
    size_t first = find_word(text, length, line, number), from;
    while (other + key < length && memcmp(text + line, text + other, key + 1))
        other = find_end(text, length, other, 1);
    from = find_word(text, length, other, number);
    if (other + key >= length || first >= length || text[first] == '\n' || text[from] == '\n')
        return length;
    return replace(text, length, first, find_end(text, length, first, 0), text + from, find_end(text, length, from, 0) - from);
}

static size_t change(stream *random, char *text, size_t length)
{
    uint64_t kind = below(random, 16);
    int in_lines = kind >= 5;
    size_t first = find_begin(text, length, (size_t)below(random, length), in_lines), last = find_end(text, length, first, in_lines);
    size_t other = find_begin(text, length, (size_t)below(random, length), in_lines), end = find_end(text, length, other, in_lines);
    const char *piece = strange_words[below(random, STRANGE_WORDS)];
    char byte = (char)next_word(random);
    switch (kind) {
    case 0: /* any byte */
        changed_bytes++;
        text[below(random, length)] = byte;
        return length;
    case 1: /* a number one more or less */
        if (first == last || text[last - 1] < '0' || text[last - 1] > '9')
            return length;
        changed_bytes++;
        text[last - 1] = (char)('0' + (text[last - 1] - '0' + 1 + (byte & 8)) % 10);
        return length;
    case 2:
    case 3:
        return replace(text, length, first, last, piece, strlen(piece));
    case 4:
    case 5:
        return replace(text, length, first, last, text + other, end - other);
    case 6:
        return replace(text, length, first, first, text + other, end - other);
    case 7:
        return replace(text, length, first, last, "", 0);
    case 8:
        return one_in(random, 4) ? (size_t)below(random, length) + 1 : length;
    default:
        return exchange(random, text, length);
    }
}

/* Write the digest that the last line must hold, where there is such a line. */
static void seal(char *text, size_t length)
{
    emu_sha256 hash;
    char digest[65];
    size_t above = length < 70 ? 0 : length - 69; /* "end ", 64 digits, a line end */
    if (!above || memcmp(text + above - 1, "\nend ", 5) || text[length - 1] != '\n')
        return;
    emu_sha256_begin(&hash);
    emu_sha256_add(&hash, text, above);
    emu_sha256_end(&hash, digest);
    memcpy(text + above + 4, digest, 64);
}

char *any_text(stream *random, size_t *length, uint64_t broken_in)
{
    static char text[MOST + 1];
    char *exact;
    *length = 0;
    for (size_t i = 0; i < sizeof sound_lines / sizeof *sound_lines; i++) {
        memcpy(text + *length, sound_lines[i], strlen(sound_lines[i]));
        *length += strlen(sound_lines[i]);
    }
    for (uint64_t changes = one_in(random, broken_in) ? 1 + below(random, 3) : 0; changes > 0 && *length > 1; changes--)
        *length = change(random, text, *length);
    if (!one_in(random, 16))
        seal(text, *length);
    exact = block(*length);
    memcpy(exact, text, *length);
    return exact;
}
