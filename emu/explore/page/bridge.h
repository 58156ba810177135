/* bridge.h: what the files of the bridge share. */
#include "src/descriptor/sha256.h"
#include "src/dot/levels.h"
#include "string.h"

#define EXPORT(name) __attribute__((export_name(#name)))

void *ex_room(size_t bytes);
uint8_t *ex_mark(void);
void ex_release(uint8_t *mark);
