/*
 * Copies: their two sides, checked; how long they take; moving the data.
 */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "tools/simgpu/gpu/objects.h"

/* How long an operation takes, in ns. */
struct sim_cost {
    uint64_t device_ns;   /* on the engine, when it was idle */
    uint64_t behind_ns;   /* behind another copy: the gap and the time of the bytes */
    uint64_t host_ns;     /* until an asynchronous call returns */
    uint64_t blocking_ns; /* until a synchronous call returns */
    bool staged;          /* a copy between devices, by way of the host */
};

struct sim_array {
    struct xcu_array_descriptor desc;
    int device;
    size_t element, pitch, slice, bytes; /* bytes of: an element, a row, a layer, everything */
    size_t rows, layers;
    uint8_t *data;
    struct sim_mipmap *mipmap;
};
struct sim_mipmap {
    struct xcu_array_descriptor desc;
    unsigned levels;
    struct sim_array **level;
};

/* One side of a copy. */
struct sim_side {
    uint8_t *start;      /* of the first byte moved */
    size_t pitch, slice; /* bytes from row to row, from layer to layer */
    enum xft_memory memory;
    int device; /* -1 = host */
    int numa;
    struct sim_range *managed;
};

struct sim_copy {
    struct sim_side src, dst;
    size_t width, height, depth; /* bytes, rows, layers */
};

static inline size_t sim_copy_bytes(const struct sim_copy *copy)
{
    return copy->width * copy->height * copy->depth;
}

/* Which memory a side may be. */
enum sim_want { SIM_ANY, SIM_HOST_SIDE, SIM_DEVICE_SIDE };

/* Describes the side that is so many bytes at an address. An error when not all of them are memory
 * of the wanted kind. */
xcu_result sim_side_linear(struct sim_side *side, const void *address, size_t bytes,
                           enum sim_want want);

/* The same for rows and layers: the last byte touched must be inside. */
xcu_result sim_side_pitched(struct sim_side *side, const void *base, size_t pitch, size_t layer,
                            const struct xcu_offset *at, const struct sim_copy *shape,
                            enum sim_want want);
xcu_result sim_side_array(struct sim_side *side, struct sim_array *array, size_t x, size_t y,
                          size_t z, const struct sim_copy *shape);

enum xft_direction sim_copy_direction(const struct sim_copy *copy);
struct sim_cost sim_copy_cost(const struct sim_copy *copy);
struct sim_cost sim_fill_cost(size_t bytes, int device);

/* Moves the data. */
void sim_copy_move(const struct sim_copy *copy);

#endif
