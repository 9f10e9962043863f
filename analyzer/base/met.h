/*
 * Tables that members of a team (team.h) merge, in the order in which one process would have met
 * their items.
 */
#ifndef XFA_MET_H
#define XFA_MET_H

#include "analyzer/base/table.h"
#include "analyzer/base/team.h"

/* Where the key of an item was met first. Members have processes of their own, and walk over them
 * in one order: so the item that came first is the one of the lowest process, and of these the one
 * that came first to who has it. */
struct xfa_met {
    uint32_t process; /* its number; for the observer to set, when the item is new */
    uint32_t place;   /* among the items of who gave it */
};

/* A table of items that have such a one in them, the first of which is the key, without padding
 * before `met`. */
struct xfa_met_table {
    size_t met; /* its place in the item */
    /* Are the key, and whatever else is a number of something, those of the run? of: the caller's.
     */
    bool (*is_good)(const void *of, const void *item);
    /* Adds the sums of another item with the same key. item: zeroed, where it is new. */
    void (*add)(void *item, const void *more);
};
void xfa_met_give(const struct xfa_table *table, struct xfa_parcel *parcel);
void xfa_met_take(struct xfa_table *table, const struct xfa_met_table *how, const void *of,
                  struct xfa_unpacking *from);
/* All have been taken. */
void xfa_met_sort(struct xfa_table *table, const struct xfa_met_table *how);

#endif
