/*
 * Host memory that copies of a run use, by process: stretches of addresses, those that touch or
 * overlap as one; but those that different threads use, and that only touch, are several. It is
 * what page-locking once has to lock. Zeroed at first.
 */
#ifndef XFW_BUFFERS_H
#define XFW_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/team.h"

#define XFW_MOST_BUFFERS 65536 /* of a process; further ones are not kept */
struct xfw_buffer {
    uint64_t first, end;
    uint64_t thread; /* that used it first: the system's number */
};
struct xfw_buffers {
    struct xfw_process_buffers {
        struct xfw_buffer *items; /* by address */
        size_t count, capacity;
    } * processes;
    size_t count, capacity;
};
/* Returns how many of the bytes had not been used before. */
uint64_t xfw_buffers_add(struct xfw_buffers *buffers, uint32_t process, uint64_t thread,
                         uint64_t first, uint64_t bytes);
/* The place of the buffer that has the address; SIZE_MAX: none has. */
size_t xfw_buffers_find(const struct xfw_buffers *buffers, uint32_t process, uint64_t address);
void xfw_buffers_free(struct xfw_buffers *buffers);
/* To other members of a team (base/team.h), and those of one, which has other processes: with
 * numbers below the limit, else `from` is bad. */
void xfw_buffers_give(const struct xfw_buffers *buffers, struct xfa_parcel *parcel);
void xfw_buffers_take(struct xfw_buffers *buffers, struct xfa_unpacking *from, size_t processes);

#endif
