/*
 * Numbers for what the file keeps once: call stacks, lines of Python programs, texts. The first is
 * 1.
 *
 * A thing is known by a 64-bit hash of its content. The table is read without a lock; a new thing
 * is in the file before anybody learns its number.
 */
#ifndef XFS_NUMBERS_H
#define XFS_NUMBERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct xfs_recorder;

struct xfs_number_slot {
    uint64_t hash;   /* 0 = empty */
    uint32_t number; /* valid when hash is */
    uint32_t reserved;
};

struct xfs_numbers {
    pthread_mutex_t lock;
    struct xfs_number_slot *slots; /* NULL: there is no table */
    uint32_t room;                 /* slots, a power of two; three quarters of them are used */
    uint32_t count;
};

/* False, and no table, when memory is short. */
bool xfs_numbers_init(struct xfs_numbers *numbers, uint32_t room);

/* Writes the thing under its number to the file; false when that failed. */
typedef bool xfs_number_write(struct xfs_recorder *recorder, const void *thing, uint32_t number);

/* Of a thing that is not in the table yet, as far as the caller could see. */
uint32_t xfs_number_add(struct xfs_numbers *numbers, uint64_t hash, xfs_number_write *write,
                        struct xfs_recorder *recorder, const void *thing);

/* The slot that has this hash, or the empty one where it belongs. */
static inline struct xfs_number_slot *xfs_number_slot(const struct xfs_numbers *numbers,
                                                      uint64_t hash, uint64_t *found)
{
    uint32_t i = (uint32_t)hash & (numbers->room - 1);
    while ((*found = __atomic_load_n(&numbers->slots[i].hash, __ATOMIC_ACQUIRE)) != 0 &&
           *found != hash)
        i = (i + 1) & (numbers->room - 1);
    return &numbers->slots[i];
}

/* The thing's number; 0 when it has none and cannot get one. There is a table. Inline: it is on the
 * path of every event with a stack. */
static inline uint32_t xfs_number_of(struct xfs_numbers *numbers, uint64_t hash,
                                     xfs_number_write *write, struct xfs_recorder *recorder,
                                     const void *thing)
{
    uint64_t found;
    const struct xfs_number_slot *slot = xfs_number_slot(numbers, hash | 1, &found);
    return found ? slot->number : xfs_number_add(numbers, hash | 1, write, recorder, thing);
}

#endif
