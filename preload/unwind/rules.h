/*
 * A cache of rules for all threads, read and written without a lock: an entry that two threads
 * wrote at once, or that was read while it was written, is recognised and ignored. A rule that was
 * replaced is computed again.
 */
#ifndef XFS_RULES_H
#define XFS_RULES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* 2^13 sets of two: 256 KiB, of which only used pages are touched. */
#define XFS_RULE_SETS_LOG 13

struct xfs_rule_entry {
    _Atomic uint64_t key, rule;
};
extern struct xfs_rule_entry (*xfs_rule_table)[2]; /* NULL: none */

void xfs_rules_init(void);

/* The stamp of rules that are valid now: it changes when a module is unloaded. 0 while one is being
 * unloaded: rules computed meanwhile are not stored. */
uint64_t xfs_rules_stamp(void);

/* Computes the rule of the instruction; 0 where no module describes its frame. */
uint64_t xfs_rules_find(uintptr_t pc, uint64_t stamp);

/* An entry's key shows that its rule belongs to this instruction and stamp. The multiplication
 * makes sure that halves of two entries do not form a valid third one. */
static inline uint64_t xfs_rule_key(uintptr_t pc, uint64_t rule, uint64_t stamp)
{
    return (rule * 0x9e3779b97f4a7c15u) ^ stamp ^ pc;
}

static inline size_t xfs_rule_set(uintptr_t pc)
{
    return (size_t)((pc * 0x9e3779b97f4a7c15u) >> (64 - XFS_RULE_SETS_LOG));
}

static inline uint64_t xfs_rule_of(uintptr_t pc, uint64_t stamp)
{
    if (xfs_rule_table) {
        struct xfs_rule_entry *set = xfs_rule_table[xfs_rule_set(pc)];
        for (int i = 0; i < 2; i++) {
            uint64_t rule = atomic_load_explicit(&set[i].rule, memory_order_relaxed);
            if (atomic_load_explicit(&set[i].key, memory_order_relaxed) ==
                    xfs_rule_key(pc, rule, stamp) &&
                rule != 0 && stamp != 0)
                return rule;
        }
    }
    return xfs_rules_find(pc, stamp);
}

#endif
