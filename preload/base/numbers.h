/*
 * Numbers for what the file stores once: call stacks, lines of Python programs, texts. The first
 * is 1.
 *
 * A thing is identified by a 64-bit hash of its content: a slot holds 44 bits of it, and the slot's
 * position the rest. There is no lock: a new thing is in the file before its number is published,
 * and of two threads that add the same one the second waits for the first.
 */
#ifndef XFS_NUMBERS_H
#define XFS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct xfs_recorder; /* passed on to the callbacks */

#define XFS_NUMBER_BITS 20
#define XFS_NUMBER_MASK ((UINT64_C(1) << XFS_NUMBER_BITS) - 1)
#define XFS_NUMBER_SOON XFS_NUMBER_MASK       /* a thread is writing the thing */
#define XFS_NUMBER_NONE (XFS_NUMBER_MASK - 1) /* writing failed; the next thread may try */

struct xfs_numbers {
    uint64_t *slots; /* hash, its last bits replaced by the number; 0: empty. NULL: no table */
    uint32_t room;   /* slots, a power of two; three quarters of them are used */
    uint32_t used;   /* slots; atomic */
    uint32_t given;  /* numbers; atomic */
    bool (*wait)(const struct xfs_recorder *recorder, uint64_t *since);
};

/* False, and no table, when memory is short. `wait`: pauses while another thread writes the same
 * thing; false when waiting longer does not help. *since is 0 at first. */
typedef bool xfs_number_wait(const struct xfs_recorder *recorder, uint64_t *since);
bool xfs_numbers_init(struct xfs_numbers *numbers, uint32_t room, xfs_number_wait *wait);

/* Writes the thing under its number to the file; false when that failed. */
typedef bool xfs_number_write(struct xfs_recorder *recorder, const void *thing, uint32_t number);

/* Adds a thing that the caller did not find in the table. */
uint32_t xfs_number_add(struct xfs_numbers *numbers, uint64_t hash, xfs_number_write *write,
                        struct xfs_recorder *recorder, const void *thing);

/* The slot with this hash, or the empty one where it belongs; *found: its content. */
static inline uint64_t *xfs_number_slot(const struct xfs_numbers *numbers, uint64_t hash,
                                        uint64_t *found)
{
    uint32_t i = (uint32_t)hash & (numbers->room - 1);
    while ((*found = __atomic_load_n(&numbers->slots[i], __ATOMIC_ACQUIRE)) != 0 &&
           (*found ^ hash) >> XFS_NUMBER_BITS != 0)
        i = (i + 1) & (numbers->room - 1);
    return &numbers->slots[i];
}

/* The thing's number; 0 when it has none. There is a table. */
static inline uint32_t xfs_number_find(const struct xfs_numbers *numbers, uint64_t hash)
{
    uint64_t found;
    xfs_number_slot(numbers, hash, &found);
    uint32_t number = (uint32_t)(found & XFS_NUMBER_MASK);
    return number < XFS_NUMBER_NONE ? number : 0;
}

/* The same; 0 when it cannot get one. Inline: it is on the path of every event with a stack. */
static inline uint32_t xfs_number_of(struct xfs_numbers *numbers, uint64_t hash,
                                     xfs_number_write *write, struct xfs_recorder *recorder,
                                     const void *thing)
{
    uint32_t number = xfs_number_find(numbers, hash);
    return number ? number : xfs_number_add(numbers, hash, write, recorder, thing);
}

#endif
