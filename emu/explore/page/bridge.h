/* bridge.h: what the files of the bridge share. */
#include "src/descriptor/sha256.h"
#include "src/dot/levels.h"
#include "string.h"
#include "tool/philox.h"

#define EXPORT(name) __attribute__((export_name(#name)))

void *ex_room(size_t bytes);
uint8_t *ex_mark(void);
void ex_release(uint8_t *mark);

/* A length filled up with tiles; how many cells a register or level has along one, each of `step` elements, 0: of all. */
static inline size_t padded(size_t length, int32_t tile) { return (length + (size_t)tile - 1) / (size_t)tile * (size_t)tile; }
static inline size_t parts(int32_t step, size_t length) { return step ? length / (size_t)step : 1; }
