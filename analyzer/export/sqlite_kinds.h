/*
 * What a trace calls memory and copies, as Nsight Systems' SQLite tables number them: values of the
 * enums in sqlite_schema.h. Private to the SQLite format.
 */
#ifndef XFA_SQLITE_KINDS_H
#define XFA_SQLITE_KINDS_H

#include "analyzer/pass/event.h"

int xfa_nsys_memory_kind(unsigned memory); /* of enum xft_memory */
int xfa_nsys_copy_kind(const struct xfa_event *event);
int xfa_nsys_migration_kind(const struct xfa_event *event);

#endif
