/* The two functions of the C library that the C reference uses; bridge.c holds them, so that the module imports nothing. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memset(void *to, int byte, size_t count);
