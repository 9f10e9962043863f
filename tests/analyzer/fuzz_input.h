/*
 * What the fuzz targets make of an input: the first byte says how, the rest is a trace. Bit 0: sums
 * are made right, since they would stop most mutations at the door. Bit 1: zeros follow, so that
 * there is room for whole slabs. Bit 2: with them, the first slab comes once more behind it, in
 * another lane (bit 4) or further on in the same (bits 5 to 7).
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The trace, in memory of its own (the sanitizer watches its end), to be freed; NULL: no input. */
uint8_t *fuzz_trace(const uint8_t *data, size_t size, size_t *bytes);

#endif
