/* The functions of the C library that the C reference and the rows of emu_ref use; libc.c holds them, so that the module imports nothing. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
size_t strlen(const char *text);
int strcmp(const char *one, const char *two);
int strncmp(const char *one, const char *two, size_t count);
char *strchr(const char *text, int letter);
char *strstr(const char *text, const char *part);
