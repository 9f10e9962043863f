#include "symbols/symbols.h"

#include <stdlib.h>

#include "common/search.h"
#include "symbols/known_modules.h"
#include "xferscope/trace.h"

/* A big program has thousands of call sites. */
#define MOST_ADDRESSES (1u << 18)
#define MOST_SYMBOL_BYTES (32u << 20)

#define NO_MODULE UINT32_MAX

struct addresses {
    struct address {
        uint64_t address;
        uint32_t module; /* its index */
        uint32_t next;   /* while modules are sought: no index before it lacks one */
    } * at;
    size_t count;
};

/* ---- the addresses ---------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct address *)a)->address, y = ((const struct address *)b)->address;
    return x < y ? -1 : x > y;
}

static int by_module(const void *a, const void *b)
{
    const struct address *x = a, *y = b;
    return x->module != y->module ? (x->module < y->module ? -1 : 1) : by_address(a, b);
}

/* Each once. False: out of memory. */
static bool take_addresses(struct addresses *all, const struct xfs_symbols_wanted *wanted)
{
    all->at = malloc((wanted->address_count + 1) * sizeof *all->at);
    if (all->at == NULL)
        return false;
    for (size_t i = 0; i < wanted->address_count; i++)
        if (!(wanted->addresses[i] &
              XFT_PYTHON_FRAME)) /* these have their symbols from the start */
            all->at[all->count++] = (struct address){wanted->addresses[i], NO_MODULE, 0};
    if (all->count == 0)
        return true;
    qsort(all->at, all->count, sizeof *all->at, by_address);
    size_t unique = 1;
    for (size_t i = 1; i < all->count; i++)
        if (all->at[i].address != all->at[unique - 1].address)
            all->at[unique++] = all->at[i];
    all->count = unique < MOST_ADDRESSES ? unique : MOST_ADDRESSES;
    return true;
}

/* ---- which module ----------------------------------------------------------------------- */

/* The first address at or behind i that no module has been found for. */
static size_t without_module(struct addresses *all, size_t i)
{
    while (i < all->count && all->at[i].next != i) {
        if (all->at[i].next < all->count)
            all->at[i].next = all->at[all->at[i].next].next;
        i = all->at[i].next;
    }
    return i;
}

static bool lies_before(const void *wanted, const void *address)
{
    return ((const struct address *)wanted)->address < *(const uint64_t *)address;
}

static size_t first_from(const struct addresses *all, uint64_t address)
{
    return xfc_partition(all->at, all->count, sizeof *all->at, lies_before, &address);
}

/* Addresses may have been mapped again: the last mapping counts, so modules are tried from the last
 * to the first. The address looked up is that of the call, not of the next instruction. */
static void find_modules(struct addresses *all, const struct xfs_symbols_wanted *wanted)
{
    for (size_t i = 0; i < all->count; i++)
        all->at[i].next = (uint32_t)i;
    for (size_t m = wanted->module_count; m-- > 0;) {
        const struct xfs_loaded_module *module = &wanted->modules[m];
        if (module->start == UINT64_MAX)
            continue;
        size_t i = without_module(all, first_from(all, module->start + 1));
        while (i < all->count && all->at[i].address - 1 < module->end) {
            all->at[i].module = (uint32_t)m;
            all->at[i].next = (uint32_t)i + 1;
            i = without_module(all, i + 1);
        }
    }
    if (all->count)
        qsort(all->at, all->count, sizeof *all->at, by_module);
}

/* ---- resolving -------------------------------------------------------------------------- */

static bool resolve(const struct addresses *all, const struct xfs_symbols_wanted *wanted,
                    struct xfs_known *known, const int *stop, struct xfs_symbol_list *out)
{
    struct xfs_known_module *at = NULL;
    uint32_t current = NO_MODULE;
    for (size_t i = 0; i < all->count; i++) {
        const struct address *address = &all->at[i];
        if (address->module == NO_MODULE || out->count > MOST_SYMBOL_BYTES)
            break;
        if (__atomic_load_n(stop, __ATOMIC_RELAXED))
            return false;
        const struct xfs_loaded_module *module = &wanted->modules[address->module];
        if (current != address->module && (at = xfs_known_module(known, module)) == NULL)
            return false;
        current = address->module;
        xfs_known_resolve(known, at, module, wanted->start_real_ns, address->address, out);
        if (out->failed)
            return false;
    }
    return true;
}

bool xfs_symbols_name(struct xfs_known *known, const struct xfs_symbols_wanted *wanted,
                      const int *stop, void **payload, size_t *bytes)
{
    struct addresses all = {0};
    struct xfs_symbol_list out = {0};
    struct xfs_known *own = known ? NULL : xfs_known_new();
    known = known ? known : own;
    bool good = known && take_addresses(&all, wanted);
    if (good) {
        find_modules(&all, wanted);
        good = resolve(&all, wanted, known, stop, &out);
    }
    xfs_known_free(own);
    free(all.at);
    if (!good) {
        free(out.bytes);
        return false;
    }
    *payload = out.bytes;
    *bytes = out.count;
    return true;
}
