#include "preload/apply/streams/uses.h"

#include <stdatomic.h>
#include <string.h>

#include "preload/base/brief_lock.h"

#define SPINS 20000

struct known {
    struct xfs_use memory;
    uint64_t used[XFS_USES_PLACES], written[XFS_USES_PLACES]; /* numbers of work; 0: never */
};

static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct known known[XFS_USES_KNOWN];
static unsigned known_count;
static _Atomic uint64_t begun[XFS_USES_PLACES], over[XFS_USES_PLACES];
static atomic_uint submitting[XFS_USES_PLACES];

static bool is_used(const struct known *one, unsigned place)
{
    return one->used[place] > atomic_load(&over[place]);
}

static bool is_written(const struct known *one, unsigned place)
{
    return one->written[place] > atomic_load(&over[place]);
}

static bool is_idle(const struct known *one)
{
    for (unsigned place = 0; place < XFS_USES_PLACES; place++)
        if (is_used(one, place))
            return false;
    return true;
}

/* The allocation, or a place for it; NULL: there are too many. */
static struct known *find(uint64_t buffer)
{
    struct known *idle = NULL;
    for (unsigned i = 0; i < known_count; i++) {
        if (known[i].memory.buffer == buffer)
            return &known[i];
        if (idle == NULL && is_idle(&known[i]))
            idle = &known[i];
    }
    return known_count < XFS_USES_KNOWN ? &known[known_count] : idle;
}

static bool meets_another(const struct known *one, unsigned place, bool writes)
{
    for (unsigned other = 0; other < XFS_USES_PLACES; other++)
        if (other != place && (writes ? is_used(one, other) : is_written(one, other)))
            return true;
    return false;
}

static bool may_begin(unsigned place, const struct xfs_use *uses, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct known *one = find(uses[i].buffer);
        if (one == NULL ||
            (one->memory.buffer == uses[i].buffer && meets_another(one, place, uses[i].writes)))
            return false;
    }
    return true;
}

/* False: one more than there is room for. */
static bool note(unsigned place, const struct xfs_use *use, uint64_t number)
{
    struct known *one = find(use->buffer);
    if (one == NULL)
        return false;
    if (one == &known[known_count])
        known_count++;
    if (one->memory.buffer != use->buffer)
        memset(one, 0, sizeof *one);
    one->memory = *use;
    one->used[place] = number;
    if (use->writes)
        one->written[place] = number;
    return true;
}

bool xfs_uses_begin(unsigned place, const struct xfs_use *uses, unsigned count)
{
    if (!xfs_brief_take(&taken, SPINS))
        return false;
    bool may = may_begin(place, uses, count);
    uint64_t number = atomic_load(&begun[place]) + 1;
    for (unsigned i = 0; i < count && may; i++)
        may = note(place, &uses[i], number);
    if (may) {
        atomic_store(&begun[place], number);
        atomic_fetch_add(&submitting[place], 1);
    }
    xfs_brief_give_back(&taken);
    return may;
}

void xfs_uses_submitted(unsigned place)
{
    atomic_fetch_sub(&submitting[place], 1);
}

uint64_t xfs_uses_so_far(unsigned place)
{
    if (!xfs_brief_take(&taken, SPINS))
        return 0;
    uint64_t number = atomic_load(&submitting[place]) ? 0 : atomic_load(&begun[place]);
    if (number <= atomic_load(&over[place]))
        number = 0;
    xfs_brief_give_back(&taken);
    return number;
}

void xfs_uses_over(unsigned place, uint64_t so_far)
{
    uint64_t before = atomic_load(&over[place]);
    while (before < so_far && !atomic_compare_exchange_weak(&over[place], &before, so_far))
        ;
}

bool xfs_uses_pending(unsigned place)
{
    return atomic_load(&begun[place]) > atomic_load(&over[place]);
}

bool xfs_uses_submitting(void)
{
    for (unsigned place = 0; place < XFS_USES_PLACES; place++)
        if (atomic_load(&submitting[place]))
            return true;
    return false;
}

void xfs_uses_forget(void)
{
    memset(known, 0, sizeof known);
    known_count = 0;
    atomic_flag_clear(&taken);
    for (unsigned place = 0; place < XFS_USES_PLACES; place++) {
        atomic_store(&begun[place], 0);
        atomic_store(&over[place], 0);
        atomic_store(&submitting[place], 0);
    }
}
