#include "preload/base/numbers.h"

#include <stddef.h>
#include <sys/mman.h>

bool xfs_numbers_init(struct xfs_numbers *numbers, uint32_t room, xfs_number_wait *wait)
{
    void *memory = mmap(NULL, room * sizeof *numbers->slots, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    numbers->room = room;
    numbers->wait = wait;
    numbers->slots = memory == MAP_FAILED ? NULL : memory;
    return numbers->slots != NULL;
}

/* The slot belongs to this thread until it has a number, or writing has failed. */
static uint32_t fill(struct xfs_numbers *numbers, uint64_t *slot, uint64_t hash,
                     xfs_number_write *write, struct xfs_recorder *recorder, const void *thing)
{
    uint32_t number = __atomic_add_fetch(&numbers->given, 1, __ATOMIC_RELAXED);
    bool good = number < XFS_NUMBER_NONE && write(recorder, thing, number);
    uint64_t own = (hash & ~XFS_NUMBER_MASK) | (good ? number : XFS_NUMBER_NONE);
    __atomic_store_n(slot, own, __ATOMIC_RELEASE);
    return good ? number : 0;
}

uint32_t xfs_number_add(struct xfs_numbers *numbers, uint64_t hash, xfs_number_write *write,
                        struct xfs_recorder *recorder, const void *thing)
{
    uint64_t found, own = (hash & ~XFS_NUMBER_MASK) | XFS_NUMBER_SOON, since = 0;
    do {
        uint64_t *slot = xfs_number_slot(numbers, hash, &found);
        uint32_t number = (uint32_t)(found & XFS_NUMBER_MASK);
        if (found && number < XFS_NUMBER_NONE)
            return number;
        if (number == XFS_NUMBER_SOON)
            continue; /* another thread is about to */
        if (found == 0 &&
            __atomic_load_n(&numbers->used, __ATOMIC_RELAXED) >= numbers->room / 4 * 3)
            return 0;
        if (!__atomic_compare_exchange_n(slot, &found, own, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        if ((found & XFS_NUMBER_MASK) == 0)
            __atomic_add_fetch(&numbers->used, 1, __ATOMIC_RELAXED);
        return fill(numbers, slot, hash, write, recorder, thing);
    } while (numbers->wait(recorder, &since));
    return 0;
}
