/*
 * The database of an export to SQLite: its statements, and what all of its tables share. Private to
 * the SQLite format, whose self is a struct xfa_sqlite. Functions fail the export where SQLite
 * does.
 */
#ifndef XFA_SQLITE_DATABASE_H
#define XFA_SQLITE_DATABASE_H

#include "analyzer/export/sqlite_file.h"
#include "analyzer/export/sqlite_strings.h"
#include "analyzer/export/sqlite_tables.h"

/* After those that insert into the tables of events. */
enum xfa_sqlite_statement {
    XFA_SQLITE_INSERT_TRANSFER = XFA_SQLITE_TABLES,
    XFA_SQLITE_INSERT_MESSAGE,
    XFA_SQLITE_INSERT_COMMUNICATOR,
    XFA_SQLITE_SET_REQUEST,
    XFA_SQLITE_INSERT_THREAD,
    XFA_SQLITE_INSERT_DOMAIN,
    XFA_SQLITE_END_RANGE,
    XFA_SQLITE_STATEMENTS
};

struct xfa_sqlite {
    struct xfa_sqlite_strings strings; /* first, for the columns */
    struct xfa_sqlite_file file;
    sqlite3 *sql;
    sqlite3_stmt *statements[XFA_SQLITE_STATEMENTS];
    int64_t base_ns;     /* the session's start */
    int64_t *range_rows; /* by slot (ranges.h) */
    size_t row_count, row_capacity;
    struct xfa_table threads; /* by xfa_sqlite_global(): those in ThreadNames */
    int64_t last_thread;      /* of them */
    bool messages;            /* their tables are made */
    struct xfa_table ranked;  /* as threads: those in MPI_RANKS */
    int64_t last_ranked;      /* of them */
    struct xfa_table waits;   /* sqlite_messages.c: the last call of each thread that waited */
    struct xfa_table domains; /* struct known_domain: those that NVTX_EVENTS has a row of */
};

static inline bool xfa_sqlite_is_text(enum xfa_value_kind kind)
{
    return kind == XFA_VALUE_TEXT || kind == XFA_VALUE_WORD;
}

void xfa_sqlite_execute(struct xfa_export *export, const char *text);
/* As sqlite3_mprintf() has it: %Q is a text or NULL. */
void xfa_sqlite_executef(struct xfa_export *export, const char *format, ...);

/* which: of enum xfa_sqlite_table or enum xfa_sqlite_statement. */
void xfa_sqlite_prepare(struct xfa_export *export, unsigned which, const char *text);
/* `at` counts from 1; a moment is stored as ns since the session's start. */
void xfa_sqlite_bind(struct xfa_export *export, unsigned which, int at,
                     const struct xfa_value *value);
/* Runs it with what was bound, which stays. */
void xfa_sqlite_run(struct xfa_export *export, unsigned which);

/* Makes a table of events, and the statement that inserts into it. */
void xfa_sqlite_create(struct xfa_export *export, enum xfa_sqlite_table table);
/* One event; nothing where it has no time. */
void xfa_sqlite_insert(struct xfa_export *export, enum xfa_sqlite_table table,
                       const struct xfa_event *event);
/* The thread of the event is in ThreadNames. */
void xfa_sqlite_thread(struct xfa_export *export, const struct xfa_event *event);

/* In sqlite_messages.c: a MESSAGE, MESSAGE_END or COMMUNICATOR. */
void xfa_sqlite_message(struct xfa_export *export, const struct xfa_event *event);

#endif
