#include "preload/apply/gpus/contexts.h"

#include <string.h>

#include "preload/apply/state/driver.h"

static struct xfs_contexts *at(const struct xfs_contexts_table *table, unsigned n)
{
    return (struct xfs_contexts *)((char *)table->entries + n * table->bytes);
}

static bool take(struct xfs_contexts *of)
{
    bool taken = false;
    return atomic_compare_exchange_strong(&of->taken, &taken, true);
}

void xfs_contexts_give_back(struct xfs_contexts *of)
{
    atomic_store(&of->taken, false);
}

static bool is_of(const struct xfs_contexts_table *table, const struct xfs_contexts *of,
                  xcu_context one, xcu_context other)
{
    return (of->context[0] == one && of->context[1] == other) ||
           (table->any_order && of->context[0] == other && of->context[1] == one);
}

void *xfs_contexts_find(struct xfs_contexts_table *table, xcu_context one, xcu_context other)
{
    unsigned count = atomic_load(&table->count);
    for (unsigned i = 0; i < count; i++)
        if (is_of(table, at(table, i), one, other))
            return at(table, i);
    return NULL;
}

void xfs_contexts_begin(const struct xfs_contexts_table *table, struct xfs_contexts *of,
                        xcu_context one, xcu_context other)
{
    memset((char *)of + sizeof *of, 0, table->bytes - sizeof *of);
    of->context[0] = one;
    of->context[1] = other;
    for (unsigned side = 0; side < 2; side++)
        of->id[side] = of->context[side] ? xfs_apply_context_id(of->context[side]) : 0;
}

bool xfs_contexts_alive(const struct xfs_contexts *of)
{
    return of->id[0] && of->id[1] && of->id[0] == xfs_apply_context_id(of->context[0]) &&
           of->id[1] == xfs_apply_context_id(of->context[1]);
}

static struct xfs_contexts *add(struct xfs_contexts_table *table, xcu_context one,
                                xcu_context other)
{
    unsigned count = atomic_load(&table->count), n = 0;
    while (n < count && at(table, n)->context[0])
        n++;
    if (n == table->most || !take(at(table, n)))
        return NULL;
    xfs_contexts_begin(table, at(table, n), one, other);
    if (n == count)
        atomic_store(&table->count, count + 1);
    return at(table, n);
}

void *xfs_contexts_take(struct xfs_contexts_table *table, xcu_context one, xcu_context other)
{
    struct xfs_contexts *of = xfs_contexts_find(table, one, other);
    if (of && !take(of))
        return NULL;
    if (of && !is_of(table, of, one, other)) {
        xfs_contexts_give_back(of); /* it has become another */
        return NULL;
    }
    if (of) {
        if (!xfs_contexts_alive(of))
            xfs_contexts_begin(table, of, one, other);
        return of;
    }
    if (atomic_flag_test_and_set(&table->adding))
        return NULL;
    of = xfs_contexts_find(table, one, other) ? NULL : add(table, one, other);
    atomic_flag_clear(&table->adding);
    return of;
}

static bool has(const struct xfs_contexts *of, xcu_context context)
{
    return of->context[0] == context || of->context[1] == context;
}

void *xfs_contexts_take_of(struct xfs_contexts_table *table, unsigned n, xcu_context context)
{
    struct xfs_contexts *of = at(table, n);
    if (!has(of, context) || !take(of))
        return NULL;
    if (has(of, context))
        return of;
    xfs_contexts_give_back(of);
    return NULL;
}

unsigned xfs_contexts_count(struct xfs_contexts_table *table)
{
    return atomic_load(&table->count);
}

void xfs_contexts_after_fork(struct xfs_contexts_table *table)
{
    memset(table->entries, 0, table->most * table->bytes);
    atomic_store(&table->count, 0);
    atomic_flag_clear(&table->adding);
}
