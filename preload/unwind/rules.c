#include "preload/unwind/rules.h"

#include <stdbool.h>
#include <sys/mman.h>

#include "preload/base/attributes.h"
#include "preload/base/unloads.h"
#include "preload/unwind/fde.h"
#include "preload/unwind/row.h"
#include "preload/unwind/rule.h"

struct xfs_rule_entry (*xfs_rule_table)[2];

void xfs_rules_init(void)
{
    size_t bytes = sizeof(struct xfs_rule_entry[2]) << XFS_RULE_SETS_LOG;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map != MAP_FAILED)
        xfs_rule_table = map;
}

uint64_t xfs_rules_stamp(void)
{
    uint64_t unloads = xfs_unloads();
    return unloads == XFS_UNLOADING ? 0 : (unloads + 1) * 0xd6e8feb86659fd93u;
}

static void keep(uintptr_t pc, uint64_t rule, uint64_t stamp)
{
    struct xfs_rule_entry *set = xfs_rule_table[xfs_rule_set(pc)];
    uint64_t key = atomic_load_explicit(&set[0].key, memory_order_relaxed),
             first = atomic_load_explicit(&set[0].rule, memory_order_relaxed);
    atomic_store_explicit(&set[1].key, key, memory_order_relaxed);
    atomic_store_explicit(&set[1].rule, first, memory_order_relaxed);
    atomic_store_explicit(&set[0].key, xfs_rule_key(pc, rule, stamp), memory_order_relaxed);
    atomic_store_explicit(&set[0].rule, rule, memory_order_relaxed);
}

XFS_COLD uint64_t xfs_rules_find(uintptr_t pc, uint64_t stamp)
{
    struct xfs_module module;
    struct xfs_fde fde;
    if (!xfs_module_of(pc, &module) || !xfs_fde_find(&module, pc, &fde))
        return 0;
    uint64_t rule = xfs_row_rule(&fde, pc);
    if (stamp && xfs_rule_table)
        keep(pc, rule, stamp);
    return rule;
}
