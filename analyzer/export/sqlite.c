/*
 * SQLite: Nsight Systems' tables and our own (sqlite_tables.h), in one transaction.
 *
 * Times are ns since the session's start, which is when the first process began to be recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/export/sqlite_database.h"

struct known_domain {
    int64_t process, domain; /* key: xfa_sqlite_global(), a text's number */
};

static void copied(struct xfa_export *export, const struct xfa_event *event)
{
    xfa_sqlite_insert(export, XFA_SQLITE_COPIES, event);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Of the database; 0: the range has none. */
static int64_t *row_of(struct xfa_sqlite *database, const struct xfa_range *range)
{
    database->range_rows = xfa_grown(database->range_rows, &database->row_capacity,
                                     &database->row_count, range->slot, sizeof(int64_t));
    return &database->range_rows[range->slot];
}

/* Queries find a domain's name in the row of its creation, whose moment a trace does not have: it
 * is there once for a process, as of its first range. */
static void insert_domain(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    const char *name = xfa_words_name(&export->words, event->process, event->nvtx.domain);
    struct known_domain key = {xfa_sqlite_global(event->process, 0),
                               xfa_sqlite_string(export, name)};
    size_t count = database->domains.count;
    if (!name || !event->start_ns)
        return;
    xfa_table_put(&database->domains, &key);
    if (database->domains.count == count)
        return;
    struct xfa_value values[] = {
        xfa_value_count(xfa_process_wall_ns(event->process, event->start_ns)), xfa_value_text(name),
        xfa_value_if(true, xfa_sqlite_global(event->process, event->tid)),
        xfa_value_if(true, key.domain)};
    values[0].kind = XFA_VALUE_MOMENT;
    for (int i = 0; i < 4; i++)
        xfa_sqlite_bind(export, XFA_SQLITE_INSERT_DOMAIN, i + 1, &values[i]);
    xfa_sqlite_run(export, XFA_SQLITE_INSERT_DOMAIN);
}

static void begin_range(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    insert_domain(export, event);
    xfa_sqlite_insert(export, XFA_SQLITE_RANGES, event);
    if (event->range)
        *row_of(database, event->range) =
            event->start_ns ? sqlite3_last_insert_rowid(database->sql) : 0;
}

static void end_range(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    const int64_t *row = event->range ? row_of(database, event->range) : NULL;
    if (!row || !*row)
        return;
    struct xfa_value values[] = {
        xfa_value_count(xfa_process_wall_ns(event->process, event->start_ns)),
        xfa_value_if(true, xfa_sqlite_global(event->process, event->tid)),
        xfa_value_if(true, *row)};
    values[0].kind = XFA_VALUE_MOMENT;
    for (int i = 0; i < 3; i++)
        xfa_sqlite_bind(export, XFA_SQLITE_END_RANGE, i + 1, &values[i]);
    xfa_sqlite_run(export, XFA_SQLITE_END_RANGE);
}

/* ---- every event ----------------------------------------------------------------------------- */

static void event(struct xfa_export *export, const struct xfa_event *event)
{
    switch (event->kind) {
    case XFT_EVENT_KERNEL:
        xfa_sqlite_insert(export, XFA_SQLITE_KERNELS, event);
        return;
    case XFT_EVENT_MEMSET:
        xfa_sqlite_insert(export, XFA_SQLITE_MEMSETS, event);
        return;
    case XFT_EVENT_MIGRATION:
        xfa_sqlite_insert(export, XFA_SQLITE_COPIES, event);
        return;
    case XFT_EVENT_RANGE_BEGIN:
        begin_range(export, event);
        return;
    case XFT_EVENT_RANGE_END:
        end_range(export, event);
        return;
    case XFT_EVENT_FAULT:
        xfa_sqlite_insert(export, event->gpu >= 0 ? XFA_SQLITE_GPU_FAULTS : XFA_SQLITE_CPU_FAULTS,
                          event);
        return;
    case XFT_EVENT_MESSAGE:
    case XFT_EVENT_MESSAGE_END:
    case XFT_EVENT_COMMUNICATOR:
        xfa_sqlite_message(export, event);
        return;
    case XFT_EVENT_SYNC:
    case XFT_EVENT_WAIT:
        xfa_sqlite_insert(export, XFA_SQLITE_SYNCS, event);
        break;
    default:
        break;
    }
    if (xft_is_one_of(event->kind, XFA_EXPORTED_CALLS))
        xfa_sqlite_insert(export, XFA_SQLITE_CALLS, event);
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* A column for each of xfa_transfer_columns: the table has numbers of texts, the view beside it the
 * texts. */
static void create_transfers(struct xfa_export *export)
{
    char *table = xfa_text("id INTEGER PRIMARY KEY"), *view = xfa_text("id");
    char *insert = xfa_text("INSERT INTO XFERSCOPE_TRANSFER VALUES (NULL");
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        const struct xfa_transfer_column *column = &xfa_transfer_columns[i];
        const char *name = column->name;
        table =
            xfa_append(table, ", %s %s", name, column->kind == XFA_VALUE_REAL ? "REAL" : "INTEGER");
        view =
            xfa_sqlite_is_text(column->kind)
                ? xfa_append(view, ", (SELECT value FROM StringIds AS s WHERE s.id = t.%s) AS %s",
                             name, name)
                : xfa_append(view, ", %s", name);
        insert = xfa_append(insert, ",?");
    }
    insert = xfa_append(insert, ")");
    xfa_sqlite_executef(
        export,
        "CREATE TABLE XFERSCOPE_TRANSFER (%s);"
        "CREATE VIEW XFERSCOPE_TRANSFERS AS SELECT %s FROM XFERSCOPE_TRANSFER AS t;",
        table, view);
    xfa_sqlite_prepare(export, XFA_SQLITE_INSERT_TRANSFER, insert);
    free(table);
    free(view);
    free(insert);
}

static void transfer(struct xfa_export *export, const struct xfa_event *event)
{
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        struct xfa_value value = xfa_transfer_columns[i].get(export, event);
        if (xfa_sqlite_is_text(value.kind))
            value = xfa_value_if(true, xfa_sqlite_string(export, value.text));
        xfa_sqlite_bind(export, XFA_SQLITE_INSERT_TRANSFER, (int)i + 1, &value);
    }
    xfa_sqlite_run(export, XFA_SQLITE_INSERT_TRANSFER);
    if (!(event->flags & XFT_GRAPH)) /* those have the times of their launch */
        xfa_sqlite_insert(export, XFA_SQLITE_CALLS, event);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void begin(struct xfa_export *export)
{
    struct xfa_sqlite *database = export->self;
    database->sql = xfa_sqlite_file_open(&database->file, fileno(export->out));
    if (!database->sql) {
        xfa_export_fail(export, ENOMEM);
        return;
    }
    xfa_sqlite_execute(export, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                               "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
                               "PRAGMA cache_size = -8192; BEGIN;");
    xfa_sqlite_execute(export, xfa_sqlite_schema);
    for (unsigned i = 0; i < XFA_SQLITE_OF_MPI; i++)
        xfa_sqlite_create(export, i);
    xfa_sqlite_execute(export, xfa_sqlite_enums);
    xfa_sqlite_execute(export, xfa_sqlite_about);
    create_transfers(export);
    if (!export->failed)
        xfa_sqlite_strings_begin(export, database->sql);
    xfa_table_init(&database->threads, sizeof(int64_t), sizeof(int64_t));
    xfa_sqlite_prepare(export, XFA_SQLITE_INSERT_THREAD,
                       "INSERT INTO ThreadNames (nameId, globalTid) VALUES (?, ?)");
    xfa_table_init(&database->domains, sizeof(struct known_domain), sizeof(struct known_domain));
    xfa_sqlite_prepare(export, XFA_SQLITE_INSERT_DOMAIN,
                       "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId) "
                       "VALUES (?, 75, ?, ?, ?)"); /* ENUM_NSYS_EVENT_TYPE's NvtxDomainCreate */
    xfa_sqlite_prepare(export, XFA_SQLITE_END_RANGE,
                       "UPDATE NVTX_EVENTS SET end = ?, endGlobalTid = ? WHERE rowid = ?");
}

static void insert_devices(struct xfa_export *export, const struct xfa_process *process)
{
    for (int i = 0; i < process->gpu_count; i++) {
        int gpu = process->gpus[i];
        char *uuid = (size_t)gpu < process->run->gpu_count
                         ? xfa_words_made(XFA_WORDS_SHOWN, process->run->gpus[gpu].uuid)
                         : NULL;
        xfa_sqlite_executef(export,
                            "INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid) "
                            "VALUES (%d, %d, %d, %Q)",
                            gpu, gpu, process->pid, uuid);
        free(uuid);
    }
}

static void process(struct xfa_export *export, struct xfa_process *process)
{
    struct xfa_sqlite *database = export->self;
    char *name = xfa_words_made(XFA_WORDS_SHOWN, xfa_base_name(process->exe));
    if (process->number == 0)
        database->base_ns = (int64_t)xfa_process_wall_ns(process, process->start_mono_ns);
    xfa_sqlite_strings_process(export);
    xfa_sqlite_executef(export, "INSERT INTO PROCESSES VALUES (%lld, %d, %Q)",
                        (long long)xfa_sqlite_global(process, 0), process->pid, name);
    free(name);
    insert_devices(export, process);
}

static void insert_gpus(struct xfa_export *export)
{
    const struct xfa_run *all = export->analysis->run;
    for (size_t i = 0; i < all->gpu_count; i++) {
        char *name = xfa_words_made(XFA_WORDS_SHOWN, all->gpus[i].name);
        char *uuid = xfa_words_made(XFA_WORDS_SHOWN, all->gpus[i].uuid);
        xfa_sqlite_executef(export,
                            "INSERT INTO TARGET_INFO_GPU (vmId, id, name, uuid, cuDevice) "
                            "VALUES (%lld, %lld, %Q, %Q, %d)",
                            (long long)(all->gpus[i].host & 0xff) << 48, (long long)i, name, uuid,
                            all->gpus[i].ordinal);
        free(name);
        free(uuid);
    }
}

/* How long the run took; it begins where times are 0, on the first process's clock. */
static void insert_details(struct xfa_export *export)
{
    const struct xfa_run *run = export->analysis->run;
    const double wall = xfa_run_wall_ns(run), most = 9e18;
    uint64_t start = run->process_count ? run->processes[0]->start_mono_ns : 0;
    uint64_t lasts = wall > 0 && wall < most ? (uint64_t)wall : 0, stop = start + lasts;
    xfa_sqlite_executef(export, "INSERT INTO ANALYSIS_DETAILS VALUES (NULL, %lld, %lld, %lld)",
                        (long long)lasts, (long long)start, (long long)stop);
}

static void finish(struct xfa_export *export)
{
    const struct xfa_sqlite *database = export->self;
    insert_gpus(export);
    insert_details(export);
    xfa_sqlite_executef(export,
                        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%lld, "
                        "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', %lld, 'unixepoch'), NULL);"
                        "INSERT INTO META_DATA_EXPORT VALUES ('SIMULATED_GPU', '%s'); COMMIT;",
                        (long long)database->base_ns, (long long)(database->base_ns / 1000000000),
                        export->analysis->simulated ? "yes" : "no");
}

static void free_self(struct xfa_export *export)
{
    struct xfa_sqlite *database = export->self;
    free(database->range_rows);
    xfa_table_free(&database->threads);
    if (database->messages) {
        xfa_table_free(&database->ranked);
        xfa_table_free(&database->waits);
    }
    xfa_table_free(&database->domains);
}

/* Before the file takes its place. */
static void close_database(struct xfa_export *export)
{
    struct xfa_sqlite *database = export->self;
    for (size_t i = 0; i < XFA_SQLITE_STATEMENTS; i++)
        sqlite3_finalize(database->statements[i]);
    xfa_sqlite_strings_end(export);
    if (database->sql)
        xfa_sqlite_file_close(&database->file, database->sql);
    database->sql = NULL;
}

const struct xfa_export_format xfa_export_sqlite = {
    .name = "sqlite",
    .what = "a database with Nsight Systems' tables, and those of transfers and messages",
    .regular = true,
    .words = XFA_WORDS_SHOWN,
    .kinds = XFA_ALL_KINDS,
    .self_bytes = sizeof(struct xfa_sqlite),
    .begin = begin,
    .process = process,
    .event = event,
    .transfer = transfer,
    .copy = copied,
    .finish = finish,
    .close = close_database,
    .free = free_self,
};
