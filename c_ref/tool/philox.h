/* philox.h: word `place` of (key, stream 0) of Philox4x32-10. */
#ifndef EMU_PHILOX_H
#define EMU_PHILOX_H

#include <stdint.h>

uint32_t philox_word(uint64_t key, uint64_t place);

#endif
