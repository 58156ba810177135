/* What the files of emu_ref that make rows ask of stdio.h. Of the functions only snprintf and sscanf are there: nothing that is linked calls
 * the others. */
#include <stddef.h>

#define EOF (-1)
typedef struct emu_no_file FILE;
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
int getc(FILE *file);
int snprintf(char *restrict to, size_t size, const char *restrict form, ...);
int sscanf(const char *restrict from, const char *restrict form, ...);
