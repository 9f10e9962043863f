/*
 * The tables of an export to SQLite: those of Nsight Systems' exporter (its documentation, "SQLite
 * Schema Reference"; names of tables and columns, and the numbers in ENUM_ tables, are facts of
 * that format) as far as the meaning is the same, and our own, whose names begin with XFERSCOPE_.
 *
 * A table is a list of columns; from it come CREATE and INSERT, and what is inserted. Columns that
 * Nsight has and a trace cannot tell are there, so that queries run, and are NULL. Memory kinds
 * count 0 pageable, 1 pinned, 2 device ..., unlike CUPTI's. Private to the SQLite format.
 */
#ifndef XFA_SQLITE_TABLES_H
#define XFA_SQLITE_TABLES_H

#include "analyzer/export/columns.h"

/* What is inserted for one event. */
enum xfa_sqlite_table {
    XFA_SQLITE_CALLS,
    XFA_SQLITE_COPIES,
    XFA_SQLITE_MEMSETS,
    XFA_SQLITE_KERNELS,
    XFA_SQLITE_SYNCS,
    XFA_SQLITE_RANGES,
    XFA_SQLITE_CPU_FAULTS, /* groups of faults, as they were recorded */
    XFA_SQLITE_GPU_FAULTS,
    /* Of MPI: made when the first message comes, since scripts look whether they are there. */
    XFA_SQLITE_SENT, /* one table with the next */
    XFA_SQLITE_RECEIVED,
    XFA_SQLITE_COLLECTIVES,
    XFA_SQLITE_MPI_WAITS,
    XFA_SQLITE_MPI_OTHERS,
    XFA_SQLITE_MPI_RANKS, /* of a thread: as of its first message */
    XFA_SQLITE_TABLES
};
#define XFA_SQLITE_OF_MPI XFA_SQLITE_SENT /* the first of these */

struct xfa_sqlite_column {
    const char *name, *type;
    /* NULL: a trace cannot tell. Moments count from 1970, texts are stored as such. */
    struct xfa_value (*get)(struct xfa_export *export, const struct xfa_event *event);
};

extern const struct xfa_sqlite_layout {
    const char *name;
    const struct xfa_sqlite_column *columns;
    size_t count;
} xfa_sqlite_layouts[XFA_SQLITE_TABLES];

/* Statements: the tables of the run, of what numbers mean, and what META_DATA_EXPORT says of the
 * file: the schema's version, MAJOR.MINOR.MICRO, is of the Nsight Systems whose columns the tables
 * above have (2025.4). */
extern const char *const xfa_sqlite_schema, *const xfa_sqlite_enums, *const xfa_sqlite_about;

/* As Nsight packs them: 8 bits hardware, 8 bits virtual machine (here the host), 24 bits process,
 * 24 bits thread (0: the process). */
static inline int64_t xfa_sqlite_global(const struct xfa_process *process, int32_t tid)
{
    return (int64_t)(process->host & 0xff) << 48 | (int64_t)(process->pid & 0xffffff) << 24 |
           (tid & 0xffffff);
}

#endif
