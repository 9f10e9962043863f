/*
 * Marks: a bit for each of many things that are counted from 0.
 */
#ifndef XFA_MARKS_H
#define XFA_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- which transfers: a bit for each --------------------------------------------------------- */

/* Transfers of a run by process and number in it (op.transfer), marked by an observer of the first
 * walk: observers get transfers in the same order, so count them per process. */
struct xfw_marks {
    struct xfw_mark_bits {
        uint64_t *words;
        size_t count, capacity;
    } * processes;
    size_t process_count, process_capacity;
};
void xfw_mark(struct xfw_marks *marks, uint32_t process, uint64_t transfer);
void xfw_unmark(struct xfw_marks *marks, uint32_t process, uint64_t transfer);
bool xfw_marked(const struct xfw_marks *marks, uint32_t process, uint64_t transfer);
void xfw_marks_free(struct xfw_marks *marks);

/* ---- sets ------------------------------------------------------------------------------------ */

/* A set of numbers of classes, rows, sites, whatever is counted from 0. */
struct xfw_set {
    uint64_t *words;
    size_t count, capacity;
};
void xfw_set_add(struct xfw_set *set, uint32_t number);
bool xfw_set_has(const struct xfw_set *set, uint32_t number);
void xfw_set_free(struct xfw_set *set);

#endif
