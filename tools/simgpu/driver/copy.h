/*
 * Copies: what is moved, whether it may be, and how long it takes.
 */
#ifndef SIM_COPY_H
#define SIM_COPY_H

#include "tools/simgpu/driver/sim.h"

/* How long an operation takes, in ns. */
struct sim_cost {
    uint64_t device_ns;   /* on the engine, when it was idle */
    uint64_t behind_ns;   /* behind another copy: the gap and the time of the bytes */
    uint64_t host_ns;     /* until an asynchronous call returns */
    uint64_t blocking_ns; /* until a synchronous call returns */
    bool staged;          /* a copy between devices, by way of the host */
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

/* What may stand on a side. */
enum sim_want { SIM_ANY, SIM_HOST_SIDE, SIM_DEVICE_SIDE };

/* Fills a side for bytes at an address; an error when the range is not all valid memory of the
 * wanted kind. */
xcu_result sim_side_linear(struct sim_side *side, const void *address, size_t bytes,
                           enum sim_want want);

/* The same for rows and layers: the last byte touched must be inside. */
xcu_result sim_side_pitched(struct sim_side *side, const void *base, size_t pitch, size_t layer,
                            const struct xcu_offset *at, const struct sim_copy *shape,
                            enum sim_want want);
struct sim_array;
xcu_result sim_side_array(struct sim_side *side, struct sim_array *array, size_t x, size_t y,
                          size_t z, const struct sim_copy *shape);

enum xft_direction sim_copy_direction(const struct sim_copy *copy);
struct sim_cost sim_copy_cost(const struct sim_copy *copy);
struct sim_cost sim_fill_cost(size_t bytes, int device);
/* The profile's path between places whose devices are the program's ordinals (xfp_find). */
const struct xfp_path *sim_find_path(enum xfp_method method, struct xfp_place src,
                                     struct xfp_place dst, bool exactly);
/* Time of a path of the profile, or 0 when it has none. */
uint64_t sim_path_ns(enum xfp_method method, struct xfp_place src, struct xfp_place dst,
                     size_t bytes);

/* Moves the data. */
void sim_copy_move(const struct sim_copy *copy);

/*
 * Submits copies as one operation, and waits as such a call does: a synchronous one until the
 * data is there (device to device: not at all), an asynchronous one from or to pageable memory
 * until the driver has staged or delivered it.
 */
xcu_result sim_copy_submit(struct sim_copy *copies, size_t count, xcu_stream stream, bool blocking);

#endif
