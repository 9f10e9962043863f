/*
 * Sets of numbers, counted from 0, as bits.
 */
#ifndef XFA_MARKS_H
#define XFA_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/team.h"

/* ---- marks: a set of transfers --------------------------------------------------------- */

/* Transfers of a run, by process and number in the process (op.transfer). Observers mark them: each
 * pass has the same transfers in the same order, so they are counted per process. */
struct xfw_marks {
    struct xfw_mark_bits {
        uint64_t *words;
        size_t count, capacity;
    } * processes;
    size_t process_count, process_capacity;
};
void xfw_mark(struct xfw_marks *marks, uint32_t process, uint64_t transfer);
bool xfw_marked(const struct xfw_marks *marks, uint32_t process, uint64_t transfer);
void xfw_marks_free(struct xfw_marks *marks);
/* To other members of a team (team.h), and from one, added to what there is: of processes with
 * numbers below the limit, else `from` is bad. */
void xfw_marks_give(const struct xfw_marks *marks, struct xfa_parcel *parcel);
void xfw_marks_take(struct xfw_marks *marks, struct xfa_unpacking *from, size_t processes);

/* ---- sets ------------------------------------------------------------------------------------ */

/* A set of numbers of classes, rows or sites. */
struct xfw_set {
    uint64_t *words;
    size_t count, capacity;
};
void xfw_set_add(struct xfw_set *set, uint32_t number);
bool xfw_set_has(const struct xfw_set *set, uint32_t number);
void xfw_set_free(struct xfw_set *set);

#endif
