/*
 * StringIds of an export to SQLite: texts by number, each once. Private to the SQLite format, whose
 * self begins with a struct xfa_sqlite_strings.
 */
#ifndef XFA_SQLITE_STRINGS_H
#define XFA_SQLITE_STRINGS_H

#include <sqlite3.h>

#include "analyzer/export/export.h"

struct xfa_sqlite_strings {
    sqlite3_stmt *insert;
    struct xfa_table known, kernels;
    int64_t count;
    bool failed; /* something could not be written; the next statement reports it */
};

void xfa_sqlite_strings_begin(struct xfa_export *export, sqlite3 *sql); /* the table is there */
void xfa_sqlite_strings_process(struct xfa_export *export);             /* another one */
void xfa_sqlite_strings_end(struct xfa_export *export); /* before the database is closed */

/* The text's number; 0: no text. */
int64_t xfa_sqlite_string(struct xfa_export *export, const char *text);

/* Numbers of a kernel's names. */
struct xfa_sqlite_names {
    uint64_t id; /* key: in the process */
    int64_t demangled, brief, mangled;
};
const struct xfa_sqlite_names *xfa_sqlite_names_of(struct xfa_export *export,
                                                   const struct xfa_event *event);

#endif
