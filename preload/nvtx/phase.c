#include "preload/nvtx/parts.h"

#include <string.h>

#include "preload/base/attributes.h"
#include "preload/base/settings.h"
#include "preload/record/periods.h"

/* Ranges of the process that are open at once; further ones are ignored. */
#define MOST_OPEN 64

static char wanted[XFS_NAME_BYTES];
static size_t wanted_bytes;
static atomic_bool set;

/* In this thread: the outermost wanted range, and the depth of its domain since then. */
struct nesting {
    uint32_t depth; /* 0: none is open */
    const struct xfs_text *domain;
};
static XFS_TLS struct nesting own;

static atomic_ullong open_ids[MOST_OPEN];

void xfs_phase_set(const char *phase)
{
    if (atomic_load(&set))
        return;
    size_t bytes = strnlen(phase, sizeof wanted - 1);
    memcpy(wanted, phase, bytes);
    wanted_bytes = bytes;
    atomic_store(&set, bytes > 0);
}

static bool is_text(const char *text, size_t bytes, const char *other, size_t other_bytes)
{
    return bytes == other_bytes && memcmp(text, other, bytes) == 0;
}

/* NAME in any domain, or DOMAIN:NAME; names may hold colons themselves. */
static bool is_wanted(const struct xfs_text *domain, const struct xfs_message *message)
{
    const char *name = message->kept ? message->kept->text : message->text;
    size_t bytes = message->kept ? message->kept->bytes : message->bytes;
    if (name == NULL)
        return false;
    if (is_text(name, bytes, wanted, wanted_bytes))
        return true;
    return domain && wanted_bytes > domain->bytes && wanted[domain->bytes] == ':' &&
           memcmp(wanted, domain->text, domain->bytes) == 0 &&
           is_text(name, bytes, wanted + domain->bytes + 1, wanted_bytes - domain->bytes - 1);
}

static bool put_id(uint64_t id)
{
    for (size_t i = 0; i < MOST_OPEN; i++) {
        unsigned long long none = 0;
        if (atomic_compare_exchange_strong(&open_ids[i], &none, id))
            return true;
    }
    return false;
}

static bool take_id(uint64_t id)
{
    for (size_t i = 0; i < MOST_OPEN; i++) {
        unsigned long long same = id;
        if (atomic_compare_exchange_strong(&open_ids[i], &same, 0))
            return true;
    }
    return false;
}

void xfs_phase_begin(const struct xfs_text *domain, const struct xfs_message *message, uint64_t id)
{
    if (__builtin_expect(!atomic_load_explicit(&set, memory_order_relaxed), 1))
        return;
    if (id) {
        if (is_wanted(domain, message) && put_id(id))
            xfs_periods_range(1);
        return;
    }
    if (own.depth > 0) {
        own.depth += domain == own.domain;
    } else if (is_wanted(domain, message)) {
        own = (struct nesting){1, domain};
        xfs_periods_range(1);
    }
}

void xfs_phase_end(const struct xfs_text *domain, uint64_t id)
{
    if (__builtin_expect(!atomic_load_explicit(&set, memory_order_relaxed), 1))
        return;
    if (id) {
        if (take_id(id))
            xfs_periods_range(-1);
        return;
    }
    if (own.depth > 0 && domain == own.domain && --own.depth == 0)
        xfs_periods_range(-1);
}

/* Ranges of other threads, and of the process, are not open in the child. */
int xfs_phase_after_fork(void)
{
    for (size_t i = 0; i < MOST_OPEN; i++)
        atomic_store(&open_ids[i], 0);
    return own.depth > 0;
}
