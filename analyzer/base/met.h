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

/* The same of a table whose items others name by their places: returns where what was given lies
 * now, in the order of giving; and where each item lies now, by the place that it had before. For
 * free(); NULL where `from` is bad. */
uint32_t *xfa_met_take_places(struct xfa_table *table, const struct xfa_met_table *how,
                              const void *of, struct xfa_unpacking *from, size_t *count);
uint32_t *xfa_met_sort_places(struct xfa_table *table, const struct xfa_met_table *how);

/* Lists of items that are of one process each, in the order of the processes. */
void xfa_list_give(const void *items, size_t count, size_t bytes, struct xfa_parcel *parcel);
/* Adds what was given: returns the items, of which there is room for *capacity. */
void *xfa_list_take(void *items, size_t *capacity, size_t *count, size_t bytes,
                    struct xfa_unpacking *from);
/* All have been taken. process: where the number of an item's process (uint32_t) lies in it; it is
 * known to be one of the run. Items of one process keep their order. */
void xfa_list_sort(void *items, size_t count, size_t bytes, size_t process);

#endif
