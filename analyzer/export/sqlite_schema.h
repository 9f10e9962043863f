/*
 * The tables of an export to SQLite: those of Nsight Systems' exporter (its documentation, "SQLite
 * Schema Reference"; names of tables and columns, and the numbers in ENUM_ tables, are facts of
 * that format) as far as the meaning is the same, and our own, whose names begin with XFERSCOPE_.
 *
 * Columns that Nsight has and a trace cannot tell are there, so that queries run, and are NULL.
 * Memory kinds count 0 pageable, 1 pinned, 2 device ..., unlike CUPTI's.
 */
#ifndef XFA_SQLITE_SCHEMA_H
#define XFA_SQLITE_SCHEMA_H

extern const char *const xfa_sqlite_schema; /* statements */

/* The transfers, a column for each of xfa_transfer_columns in that order: the table has numbers of
 * texts, the view beside it the texts. Both are the caller's to free. */
struct xfa_sqlite_transfers {
    char *create, *insert; /* insert: one parameter for each column */
};
struct xfa_sqlite_transfers xfa_sqlite_transfers(void);

enum {
    XFA_NSYS_PAGEABLE,
    XFA_NSYS_PINNED,
    XFA_NSYS_DEVICE,
    XFA_NSYS_ARRAY,
    XFA_NSYS_MANAGED,
    XFA_NSYS_UNKNOWN_MEMORY = 7,
};
enum {
    XFA_NSYS_UNKNOWN_COPY,
    XFA_NSYS_HTOD,
    XFA_NSYS_DTOH,
    XFA_NSYS_HTOA,
    XFA_NSYS_ATOH,
    XFA_NSYS_ATOA,
    XFA_NSYS_ATOD,
    XFA_NSYS_DTOA,
    XFA_NSYS_DTOD,
    XFA_NSYS_HTOH,
    XFA_NSYS_PTOP,
    XFA_NSYS_UVM_HTOD,
    XFA_NSYS_UVM_DTOH,
    XFA_NSYS_UVM_DTOD,
};
enum { XFA_NSYS_RUNTIME, XFA_NSYS_DRIVER };
enum { XFA_NSYS_EVENT_SYNC = 1, XFA_NSYS_STREAM_WAIT, XFA_NSYS_STREAM_SYNC, XFA_NSYS_CONTEXT_SYNC };
enum { XFA_NSYS_PUSH_POP = 59, XFA_NSYS_START_END };

#endif
