#include "preload/intercept/ranges.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "common/search.h"
#include "preload/base/attributes.h"
#include "xferscope/trace.h"

#define FIRST_CAPACITY 4096

/* Readers take no lock and may see a range half written: they check xfs_ranges_sequence afterwards,
 * and read again if it has changed. */
struct slot {
    _Atomic uint64_t start, end;
    _Atomic uint32_t kind; /* place and memory */
};

/* A reader may see an older table with a newer count: so each table has its capacity. */
struct table {
    size_t capacity;
    struct slot slots[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *_Atomic table;
static _Atomic size_t count;
_Atomic uint32_t xfs_ranges_sequence;
_Atomic uint64_t xfs_ranges_low, xfs_ranges_high;
/* This thread changes the set: a signal handler that interrupts it must not wait for the lock. */
static XFS_TLS volatile bool changing;

static void begin_change(void)
{
    pthread_mutex_lock(&lock);
    changing = true;
    atomic_fetch_add_explicit(&xfs_ranges_sequence, 1, memory_order_acq_rel);
    atomic_thread_fence(memory_order_seq_cst);
}

static uint64_t start_of(const struct slot *slot)
{
    return atomic_load_explicit(&slot->start, memory_order_relaxed);
}

static uint64_t end_of(const struct slot *slot)
{
    return atomic_load_explicit(&slot->end, memory_order_relaxed);
}

static void note_bounds(void)
{
    const struct slot *array = table ? table->slots : NULL;
    bool any = array && count > 0;
    atomic_store_explicit(&xfs_ranges_low, any ? start_of(array) : 0, memory_order_relaxed);
    atomic_store_explicit(&xfs_ranges_high, any ? end_of(&array[count - 1]) : 0,
                          memory_order_relaxed);
}

static void end_change(void)
{
    note_bounds();
    atomic_fetch_add_explicit(&xfs_ranges_sequence, 1, memory_order_release);
    changing = false;
    pthread_mutex_unlock(&lock);
}

static struct xfs_range get(const struct slot *slot)
{
    uint32_t kind = atomic_load_explicit(&slot->kind, memory_order_relaxed);
    return (struct xfs_range){start_of(slot), end_of(slot), (int16_t)(kind >> 8), (uint8_t)kind};
}

static void put(struct slot *slot, struct xfs_range range)
{
    uint32_t kind = (uint32_t)(uint16_t)range.place << 8 | range.memory;
    atomic_store_explicit(&slot->start, range.start, memory_order_relaxed);
    atomic_store_explicit(&slot->end, range.end, memory_order_relaxed);
    atomic_store_explicit(&slot->kind, kind, memory_order_relaxed);
}

static bool ends_by(const void *slot, const void *address)
{
    return end_of(slot) <= *(const uint64_t *)address;
}

/* Index of the first range that ends after the address. */
static size_t first_after(const struct slot *array, size_t n, uint64_t address)
{
    return xfc_partition(array, n, sizeof *array, ends_by, &address);
}

static bool grow(void)
{
    struct table *old = table;
    size_t capacity = old ? old->capacity * 2 : FIRST_CAPACITY;
    struct table *new = mmap(NULL, sizeof *new + capacity * sizeof(struct slot),
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (new == MAP_FAILED)
        return false;
    new->capacity = capacity;
    for (size_t i = 0; old && i < count; i++)
        put(&new->slots[i], get(&old->slots[i]));
    atomic_store(&table, new);
    return true;
}

static void remove_at(size_t index, size_t n)
{
    struct slot *array = table->slots;
    for (size_t i = index; i + n < count; i++)
        put(&array[i], get(&array[i + n]));
    atomic_store(&count, count - n);
}

void xfs_ranges_add(const struct xfs_range *range)
{
    if (range->end <= range->start)
        return;
    begin_change();
    if ((table && count < table->capacity) || grow()) {
        struct slot *array = table->slots;
        size_t at = first_after(array, count, range->start), overlapped = 0;
        while (at + overlapped < count && start_of(&array[at + overlapped]) < range->end)
            overlapped++;
        if (overlapped)
            remove_at(at, overlapped);
        for (size_t i = count; i > at; i--)
            put(&array[i], get(&array[i - 1]));
        put(&array[at], *range);
        atomic_store(&count, count + 1);
    } /* else not tracked: the driver is queried instead */
    end_change();
}

bool xfs_ranges_remove(uint64_t start, struct xfs_range *removed)
{
    bool found = false;
    begin_change();
    size_t at = table ? first_after(table->slots, count, start) : 0;
    if (at < count && start_of(&table->slots[at]) == start) {
        *removed = get(&table->slots[at]);
        remove_at(at, 1);
        found = true;
    }
    end_change();
    return found;
}

void xfs_ranges_clear(void)
{
    begin_change();
    atomic_store(&count, 0);
    end_change();
}

void xfs_ranges_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    changing = false;
    atomic_store(&xfs_ranges_sequence, (xfs_ranges_sequence + 2) & ~1u);
    atomic_store(&count, 0);
    note_bounds();
}

static bool nothing_known(struct xfs_range *found, uint64_t start, uint64_t end)
{
    *found = (struct xfs_range){start, end, XFT_PLACE_UNKNOWN, XFT_MEM_UNKNOWN};
    return false;
}

static bool search(uint64_t address, struct xfs_range *found)
{
    const struct table *now = table;
    size_t n = count;
    if (now == NULL)
        return nothing_known(found, 0, UINT64_MAX);
    const struct slot *array = now->slots;
    if (n > now->capacity)
        n = now->capacity;
    size_t at = first_after(array, n, address);
    if (at < n && start_of(&array[at]) <= address) {
        *found = get(&array[at]);
        return true;
    }
    return nothing_known(found, at > 0 ? end_of(&array[at - 1]) : 0,
                         at < n ? start_of(&array[at]) : UINT64_MAX);
}

bool xfs_ranges_find(uint64_t address, struct xfs_range *found)
{
    for (unsigned tries = 1; !changing; tries++) {
        uint32_t before = atomic_load_explicit(&xfs_ranges_sequence, memory_order_acquire);
        if ((before & 1) == 0) {
            bool inside = search(address, found);
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&xfs_ranges_sequence, memory_order_relaxed) == before)
                return inside;
        }
        if (tries % 1024 == 0)
            sched_yield(); /* the writer may not be running */
    }
    return nothing_known(found, address, address + 1);
}
