/* descriptor_text.c: the text of a descriptor as lines of words: numbers, words of a list, ids; faults; memory. */
#include "descriptor.h"

enum { MOST_ID = 63, MOST_QUOTED = 40 };

/* Add a text to the fault; what does not fit is left out. */
static void say(emu_reader *reader, const char *text, int32_t most)
{
    emu_fault *fault = reader->fault;
    for (int32_t i = 0; i < most && text[i] && reader->said + 1 < sizeof fault->text; i++)
        fault->text[reader->said++] = text[i];
    fault->text[reader->said] = 0;
}

static void say_quoted(emu_reader *reader, int32_t word)
{
    say(reader, " '", 2);
    say(reader, reader->words[word], reader->sizes[word] < MOST_QUOTED ? reader->sizes[word] : MOST_QUOTED);
    say(reader, "'", 1);
}

const char *emu_decimal(int64_t number, char digits[24])
{
    size_t first = 23;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    digits[first] = 0;
    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        digits[--first] = '-';
    return digits + first;
}

void emu_refuse(emu_reader *reader, const char *what, int32_t word, const char *how)
{
    if (reader->error)
        return;
    reader->error = EMU_ERROR_DESCRIPTOR;
    reader->fault->line = reader->line;
    say(reader, what, EMU_MOST_LINE);
    if (word >= 0)
        say_quoted(reader, word);
    say(reader, ": ", 2);
    say(reader, how, EMU_MOST_LINE);
}

/* Say two numbers between three texts. */
static void say_numbers(emu_reader *reader, const char *before, int64_t first, const char *between, int64_t second, const char *behind)
{
    char digits[24];
    say(reader, before, EMU_MOST_LINE);
    say(reader, emu_decimal(first, digits), MOST_ID);
    say(reader, between, EMU_MOST_LINE);
    say(reader, emu_decimal(second, digits), MOST_ID);
    say(reader, behind, EMU_MOST_LINE);
}

void emu_refuse_beyond(emu_reader *reader, const char *name, int64_t found, int64_t most)
{
    if (reader->error || found <= most)
        return;
    reader->error = EMU_ERROR_DESCRIPTOR;
    reader->fault->line = reader->line;
    say(reader, name, EMU_MOST_LINE);
    say_numbers(reader, " = ", found, ": at most ", most, "");
}

void emu_end_limits(emu_reader *reader, int32_t line, const emu_limit *limit)
{
    if (!limit->name || reader->error)
        return;
    emu_refuse_beyond(reader, limit->name, limit->found, limit->most);
    reader->fault->line = line;
}

/* The line is not the one that must come here. */
void emu_refuse_key(emu_reader *reader, const char *key)
{
    reader->error = EMU_ERROR_DESCRIPTOR;
    reader->fault->line = reader->line;
    say(reader, "a line of", MOST_QUOTED);
    say_quoted(reader, 0);
    say(reader, " where '", MOST_QUOTED);
    say(reader, key, MOST_ID);
    say(reader, "' with its values must stand: write the lines in the order of docs/descriptors.md", EMU_MOST_LINE);
}

/* Cut the line into its words; 0 where it is not one. */
static int32_t cut_line(emu_reader *reader, const char *line, size_t size)
{
    reader->word_count = 0;
    for (size_t i = 0; i < size; i++) {
        int32_t begins = i == 0 || line[i - 1] == ' ';
        if (line[i] < ' ' || line[i] > '~')
            return 0;
        if (line[i] == ' ') {
            if (begins || i + 1 == size)
                return 0;
            continue;
        }
        if (begins) {
            reader->words[reader->word_count] = line + i;
            reader->sizes[reader->word_count++] = 0;
        }
        reader->sizes[reader->word_count - 1]++;
    }
    return size > 0;
}

/* Read the next line that is no remark; 0 at the end or at a fault. */
int32_t emu_next_line(emu_reader *reader)
{
    while (!reader->error && reader->at < reader->length) {
        const char *line = reader->text + reader->at;
        size_t size = 0, spaces = 0, rest = reader->length - reader->at;
        while (size < rest && line[size] != '\n')
            size++;
        reader->line++;
        reader->at += size + 1;
        for (size_t i = 0; i < size; i++)
            spaces += line[i] == ' ';
        if (size == rest)
            emu_refuse(reader, "the last line has no line end", -1, "the file is cut off, export it again");
        else if (size > EMU_MOST_LINE)
            emu_refuse_beyond(reader, "characters of the line", (int64_t)size, EMU_MOST_LINE);
        else if (spaces >= EMU_MOST_WORDS)
            emu_refuse_beyond(reader, "words of the line", (int64_t)spaces + 1, EMU_MOST_WORDS);
        else if (!cut_line(reader, line, size))
            emu_refuse(reader, "not a line of words", -1, "printable ASCII, one space between words, no empty line, at most 400 characters and 40 words");
        else if (line[0] != '#')
            return 1;
    }
    if (!reader->error) {
        reader->line++;
        emu_refuse(reader, "the file ends here", -1, "it is cut off, the last line is 'end'");
    }
    return 0;
}

int32_t emu_is_word(const emu_reader *reader, int32_t place, const char *wanted)
{
    int32_t i = 0, size = reader->sizes[place];
    const char *word = reader->words[place];
    while (i < size && wanted[i] && word[i] == wanted[i])
        i++;
    return i == size && !wanted[i];
}

int32_t emu_read_line(emu_reader *reader, const char *key, int32_t values)
{
    if (!emu_next_line(reader))
        return 0;
    if (emu_is_word(reader, 0, key) && reader->word_count == 1 + values)
        return 1;
    emu_refuse_key(reader, key);
    return 0;
}

int32_t emu_read_values(emu_reader *reader, const char *key, int32_t most)
{
    if (!emu_next_line(reader))
        return 0;
    if (emu_is_word(reader, 0, key) && reader->word_count > 1 && reader->word_count <= 1 + most)
        return reader->word_count - 1;
    if (emu_is_word(reader, 0, key) && reader->word_count > 1)
        emu_refuse_beyond(reader, key, reader->word_count - 1, most);
    else
        emu_refuse_key(reader, key);
    return 0;
}

static void refuse_number(emu_reader *reader, const char *what, int32_t place, int64_t low, int64_t high)
{
    if (reader->error)
        return;
    emu_refuse(reader, what, place, "write an integer without leading zeros");
    say_numbers(reader, " from ", low, " to ", high, " as");
    if (reader->word_count > 2) {
        char digits[24];
        say(reader, " value ", MOST_ID);
        say(reader, emu_decimal(place, digits), MOST_ID);
        say(reader, " of", MOST_ID);
    }
    say_quoted(reader, 0);
}

/* An integer as it is written: no plus, no leading zero. */
int64_t emu_read_integer(emu_reader *reader, int32_t place, int64_t low, int64_t high)
{
    const char *word = reader->words[place];
    int32_t size = reader->sizes[place], is_negative = word[0] == '-', sound = size > is_negative, fits = size - is_negative <= 19;
    uint64_t number = 0;
    int64_t found;
    for (int32_t i = is_negative; sound && i < size; i++) {
        sound = word[i] >= '0' && word[i] <= '9';
        number = fits ? 10 * number + (uint64_t)(word[i] - '0') : 0;
    }
    sound = sound && (word[is_negative] != '0' || size == 1);
    fits = fits && number <= INT64_MAX;
    found = !sound || !fits ? 0 : is_negative ? -(int64_t)number : (int64_t)number;
    if (sound && fits && low <= found && found <= high)
        return found;
    refuse_number(reader, sound ? "out of range" : "not an integer", place, low, high);
    return low;
}

/* A bit pattern as it is written: 0x, small letters, no leading zero. */
uint64_t emu_read_hex(emu_reader *reader, int32_t place)
{
    const char *word = reader->words[place];
    int32_t size = reader->sizes[place], sound = size > 2 && size <= 18 && word[0] == '0' && word[1] == 'x';
    uint64_t number = 0;
    for (int32_t i = 2; sound && i < size; i++) {
        int32_t is_digit = word[i] >= '0' && word[i] <= '9';
        sound = is_digit || (word[i] >= 'a' && word[i] <= 'f');
        number = number << 4 | (uint64_t)(is_digit ? word[i] - '0' : word[i] - 'a' + 10);
    }
    if (sound && (word[2] != '0' || size == 3))
        return number;
    emu_refuse(reader, "not a bit pattern", place, "write 0x, then at most 16 of 0-9a-f without a leading zero");
    return 0;
}

/* The place of a word in a list. */
int32_t emu_read_word(emu_reader *reader, int32_t place, const char *const *names)
{
    int32_t found = 0;
    while (names[found] && !emu_is_word(reader, place, names[found]))
        found++;
    if (names[found])
        return found;
    if (!reader->error) {
        emu_refuse(reader, "no such word", place, "write one of");
        for (found = 0; names[found]; found++) {
            say(reader, " ", 1);
            say(reader, names[found], MOST_ID);
        }
    }
    return 0;
}

/* A line that says how many lines or objects follow; there must be as many lines at least. */
int32_t emu_read_count(emu_reader *reader, const char *key, int32_t low, int32_t high)
{
    int32_t rest, count;
    if (!emu_read_line(reader, key, 1))
        return 0;
    rest = reader->lines - reader->line;
    count = (int32_t)emu_read_integer(reader, 1, low, high);
    if (reader->error)
        return 0;
    if (count <= rest)
        return count;
    emu_refuse(reader, "fewer lines follow than", 1, "the file is cut off, export it again");
    return 0;
}

/* A name of its own in memory. */
const char *emu_read_id(emu_reader *reader, int32_t place)
{
    int32_t size = reader->sizes[place], sound = size <= MOST_ID;
    char *id;
    for (int32_t i = 0; sound && i < size; i++) {
        char found = reader->words[place][i];
        sound = (found >= 'a' && found <= 'z') || (found >= '0' && found <= '9') || found == '_';
    }
    emu_refuse_beyond(reader, "characters of the id", size, MOST_ID);
    if (!sound || emu_is_word(reader, place, "none"))
        emu_refuse(reader, "not an id", place, "write at most 63 of a-z0-9_, not none");
    id = emu_take(reader, (size_t)size + 1); /* zeros */
    for (int32_t i = 0; id && i < size; i++)
        id[i] = reader->words[place][i];
    return id;
}

/* rows: structs of `size` bytes that begin with a name. */
void emu_refuse_taken(emu_reader *reader, const void *rows, size_t size, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (emu_is_word(reader, 1, *(const char *const *)((const char *)rows + (size_t)i * size)))
            emu_refuse(reader, "a second object with the id", 1, "give it an id of its own");
    }
}

/* The id at the first place after the key, which no row above has. */
const char *emu_read_new_id(emu_reader *reader, const void *rows, size_t size, int32_t count)
{
    emu_refuse_taken(reader, rows, size, count);
    return emu_read_id(reader, 1);
}

/* Refuse an object that begins at `line` where there is an error in it. */
void emu_end_object(emu_reader *reader, int32_t line, int32_t error, const char *what, const char *how)
{
    if (!error || reader->error)
        return;
    emu_refuse(reader, what, -1, how);
    reader->fault->line = line;
}

void *emu_take(emu_reader *reader, size_t bytes)
{
    size_t room = (bytes + 15) / 16 * 16;
    char *taken = reader->memory + reader->used;
    if (reader->error)
        return NULL;
    if (room > reader->bytes - reader->used) {
        emu_refuse(reader, "no room for what the file says", -1, "give as many bytes as emu_measure_descriptor says");
        reader->error = EMU_ERROR_SPACE;
        return NULL;
    }
    reader->used += room;
    for (size_t i = 0; i < room; i++)
        taken[i] = 0;
    return taken;
}
