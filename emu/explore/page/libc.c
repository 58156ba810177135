/* libc.c: the functions of the C library that the module needs. */
#include <stdarg.h>
#include <stdint.h>

#include "stdio.h"
#include "string.h"

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = to < from ? i : count - 1 - i;
        ((uint8_t *)to)[at] = ((const uint8_t *)from)[at];
    }
    return to;
}

void *memset(void *to, int byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

int strncmp(const char *one, const char *two, size_t count)
{
    while (count && *one && *one == *two) {
        one++;
        two++;
        count--;
    }
    return count ? (uint8_t)*one - (uint8_t)*two : 0;
}

int strcmp(const char *one, const char *two) { return strncmp(one, two, (size_t)-1); }

char *strchr(const char *text, int letter)
{
    while (*text && *text != (char)letter)
        text++;
    return *text == (char)letter ? (char *)(uintptr_t)text : NULL;
}

char *strstr(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; *text; text++) {
        if (strncmp(text, part, length) == 0)
            return (char *)(uintptr_t)text;
    }
    return length ? NULL : (char *)(uintptr_t)text;
}

static const char *decimal(int number, char digits[12])
{
    char *at = digits + 11;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return at;
}

/* %s, and %d of what is not negative; nothing else is asked for. */
int snprintf(char *restrict to, size_t size, const char *restrict form, ...)
{
    size_t at = 0;
    va_list given;
    va_start(given, form);
    for (; *form; form++) {
        char text[12] = {*form}, is_text = *form == '%' && form[1] == 's';
        const char *from = is_text ? va_arg(given, const char *) : *form == '%' ? decimal(va_arg(given, int), text) : text;
        form += *form == '%';
        for (; *from; from++, at++) {
            if (at + 1 < size)
                to[at] = *from;
        }
    }
    va_end(given);
    to[at < size ? at : size - 1] = 0;
    return (int)at;
}

static int take_number(const char **from, int *number)
{
    if (**from < '0' || **from > '9')
        return 0;
    for (*number = 0; **from >= '0' && **from <= '9'; ++*from)
        *number = 10 * *number + (**from - '0');
    return 1;
}

/* The form "u%d_%3[a-z]%d"; no other is asked for. */
int sscanf(const char *restrict from, const char *restrict form, ...)
{
    va_list given;
    va_start(given, form);
    int *step = va_arg(given, int *), length = 0;
    char *what = va_arg(given, char *);
    int *number = va_arg(given, int *);
    va_end(given);
    if (*from++ != 'u' || !take_number(&from, step) || *from++ != '_')
        return 0;
    while (length < 3 && *from >= 'a' && *from <= 'z')
        what[length++] = *from++;
    if (!length)
        return 1;
    what[length] = 0;
    return take_number(&from, number) ? 3 : 2;
}
