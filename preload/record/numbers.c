#define _GNU_SOURCE
#include "numbers.h"

#include <sys/mman.h>

bool xfs_numbers_init(struct xfs_numbers *numbers, uint32_t room)
{
    pthread_mutex_init(&numbers->lock, NULL);
    void *memory = mmap(NULL, room * sizeof *numbers->slots, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    numbers->room = room;
    numbers->slots = memory == MAP_FAILED ? NULL : memory;
    return numbers->slots != NULL;
}

/* Under the lock: another thread may have been here since. */
static uint32_t insert(struct xfs_numbers *numbers, uint64_t hash, xfs_number_write *write,
                       struct xfs_recorder *recorder, const void *thing)
{
    uint64_t found;
    struct xfs_number_slot *slot = xfs_number_slot(numbers, hash, &found);
    if (found == hash)
        return slot->number;
    if (numbers->count >= numbers->room / 4 * 3 || !write(recorder, thing, numbers->count + 1))
        return 0;
    slot->number = ++numbers->count;
    __atomic_store_n(&slot->hash, hash, __ATOMIC_RELEASE);
    return slot->number;
}

uint32_t xfs_number_add(struct xfs_numbers *numbers, uint64_t hash, xfs_number_write *write,
                        struct xfs_recorder *recorder, const void *thing)
{
    pthread_mutex_lock(&numbers->lock);
    uint32_t number = insert(numbers, hash, write, recorder, thing);
    pthread_mutex_unlock(&numbers->lock);
    return number;
}
