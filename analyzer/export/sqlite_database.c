#include "analyzer/export/sqlite_database.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"

/* ---- statements ------------------------------------------------------------------------------ */

static void fail(struct xfa_export *export)
{
    struct xfa_sqlite *database = export->self;
    xfa_export_fail(export, database->file.error ? database->file.error : EIO);
}

void xfa_sqlite_execute(struct xfa_export *export, const char *text)
{
    struct xfa_sqlite *database = export->self;
    if (database->sql && sqlite3_exec(database->sql, text, NULL, NULL, NULL) != SQLITE_OK)
        fail(export);
}

/* As sqlite3_mprintf() has it: %Q is a text or NULL. */
void xfa_sqlite_executef(struct xfa_export *export, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    xfa_sqlite_execute(export, text ? text : "");
    sqlite3_free(text);
}

void xfa_sqlite_prepare(struct xfa_export *export, unsigned which, const char *text)
{
    struct xfa_sqlite *database = export->self;
    if (database->sql && sqlite3_prepare_v2(database->sql, text, -1, &database->statements[which],
                                            NULL) != SQLITE_OK)
        fail(export);
}

/* Runs it with what was bound, which stays. */
void xfa_sqlite_run(struct xfa_export *export, unsigned which)
{
    struct xfa_sqlite *database = export->self;
    if (sqlite3_step(database->statements[which]) != SQLITE_DONE || database->strings.failed)
        fail(export);
    sqlite3_reset(database->statements[which]);
}

void xfa_sqlite_bind(struct xfa_export *export, unsigned which, int at,
                     const struct xfa_value *value)
{
    const struct xfa_sqlite *database = export->self;
    sqlite3_stmt *statement = database->statements[which];
    switch (value->kind) {
    case XFA_VALUE_NONE:
        sqlite3_bind_null(statement, at);
        break;
    case XFA_VALUE_INTEGER:
    case XFA_VALUE_TRUTH:
        sqlite3_bind_int64(statement, at, value->integer);
        break;
    case XFA_VALUE_MOMENT:
        sqlite3_bind_int64(statement, at,
                           (int64_t)((uint64_t)value->integer - (uint64_t)database->base_ns));
        break;
    case XFA_VALUE_REAL:
        sqlite3_bind_double(statement, at, value->real);
        break;
    case XFA_VALUE_WORD:
    case XFA_VALUE_TEXT:
        sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC);
        break;
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

/* "CREATE TABLE t (a INTEGER, b TEXT)", "INSERT INTO t (a) VALUES (?)": of columns with values. */
void xfa_sqlite_create(struct xfa_export *export, enum xfa_sqlite_table table)
{
    const struct xfa_sqlite_layout *layout = &xfa_sqlite_layouts[table];
    char *columns = xfa_text(""), *names = xfa_text(""), *values = xfa_text("");
    for (size_t i = 0; i < layout->count; i++) {
        const struct xfa_sqlite_column *column = &layout->columns[i];
        columns = xfa_append(columns, "%s%s %s", i ? ", " : "", column->name, column->type);
        if (!column->get)
            continue;
        names = xfa_append(names, "%s%s", *names ? ", " : "", column->name);
        values = xfa_append(values, "%s", *values ? ",?" : "?");
    }
    char *insert = xfa_print("INSERT INTO %s (%s) VALUES (%s)", layout->name, names, values);
    xfa_sqlite_executef(export, "CREATE TABLE IF NOT EXISTS %s (%s)", layout->name, columns);
    xfa_sqlite_prepare(export, table, insert);
    free(columns);
    free(names);
    free(values);
    free(insert);
}

/* A trace has no names of threads: the first one is called as its program, as Linux does. */
void xfa_sqlite_thread(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    const struct xfa_process *process = event->process;
    int64_t thread = xfa_sqlite_global(process, event->tid);
    size_t count = database->threads.count;
    if (!event->tid || thread == database->last_thread)
        return;
    database->last_thread = thread;
    xfa_table_put(&database->threads, &thread);
    if (database->threads.count == count)
        return;
    char *name = event->tid == process->pid
                     ? xfa_words_made(XFA_WORDS_SHOWN, xfa_base_name(process->exe))
                     : xfa_print("thread %d", event->tid);
    struct xfa_value values[] = {xfa_value_if(true, xfa_sqlite_string(export, name)),
                                 xfa_value_if(true, thread)};
    for (int i = 0; i < 2; i++)
        xfa_sqlite_bind(export, XFA_SQLITE_INSERT_THREAD, i + 1, &values[i]);
    xfa_sqlite_run(export, XFA_SQLITE_INSERT_THREAD);
    free(name);
}

/* Nothing that has no time. */
void xfa_sqlite_insert(struct xfa_export *export, enum xfa_sqlite_table table,
                       const struct xfa_event *event)
{
    const struct xfa_sqlite_layout *layout = &xfa_sqlite_layouts[table];
    if (!event->start_ns)
        return;
    if (table == XFA_SQLITE_CALLS || table == XFA_SQLITE_RANGES)
        xfa_sqlite_thread(export, event);
    for (size_t i = 0, at = 1; i < layout->count; i++) {
        if (!layout->columns[i].get)
            continue;
        struct xfa_value value = layout->columns[i].get(export, event);
        xfa_sqlite_bind(export, table, (int)at++, &value);
    }
    xfa_sqlite_run(export, table);
}
