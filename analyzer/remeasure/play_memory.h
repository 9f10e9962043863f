/*
 * Which memory a played run needs: the addresses that its copies and memsets name, merged by kind
 * of memory into as few regions as possible. Where a kind needs more than XFA_PLAY_HOST_BYTES of
 * the host's or XFA_PLAY_GPU_BYTES of a GPU's memory, it gets one region of that size, in which
 * addresses wrap around.
 */
#ifndef XFA_PLAY_MEMORY_H
#define XFA_PLAY_MEMORY_H

#include "analyzer/base/table.h"
#include "probe/play.h"

#define XFA_PLAY_HOST_BYTES ((uint64_t)4 << 30)
#define XFA_PLAY_GPU_BYTES ((uint64_t)16 << 30)

struct xfa_play_kind {
    uint8_t memory; /* enum xft_memory */
    uint8_t reserved;
    int16_t gpu;  /* as the driver counts here; of host memory -1 */
    int16_t node; /* of host memory; -1 = not known */
};

struct xfa_play_memory {
    struct xfa_table kinds;         /* play_memory.c */
    uint64_t host_bytes, gpu_bytes; /* limits; tests take less */
};

void xfa_play_memory_init(struct xfa_play_memory *memory);
void xfa_play_memory_free(struct xfa_play_memory *memory);

/* Adds bytes that are used. device: the GPU in whose context host memory is allocated. Returns the
 * number of the kind, for xfa_play_memory_find(). */
uint32_t xfa_play_memory_use(struct xfa_play_memory *memory, const struct xfa_play_kind *kind,
                             int device, uint64_t address, uint64_t bytes);

/* Once all bytes are added: the regions, for free(). */
struct xfp_play_region *xfa_play_memory_regions(struct xfa_play_memory *memory, size_t *count);

/* Region of added bytes, and their offset in it. */
void xfa_play_memory_find(const struct xfa_play_memory *memory, uint32_t kind, uint64_t address,
                          uint64_t bytes, uint32_t *region, uint64_t *at);

#endif
