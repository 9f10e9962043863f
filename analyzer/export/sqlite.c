/*
 * SQLite: Nsight Systems' tables and our own (sqlite_schema.h), in one transaction.
 *
 * Times are ns since the session's start, which is when the first process began to be recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/path.h"
#include "analyzer/export/columns.h"
#include "analyzer/export/sqlite_file.h"
#include "analyzer/export/sqlite_kinds.h"
#include "analyzer/export/sqlite_schema.h"

#define MOST_STRINGS                                                                               \
    (1u << 20) /* that are told apart from each other; further ones lie there anew */

enum statement {
    INSERT_STRING,
    INSERT_CALL,
    INSERT_COPY,
    INSERT_MEMSET,
    INSERT_KERNEL,
    INSERT_SYNC,
    INSERT_RANGE,
    END_RANGE,
    INSERT_PROCESS,
    INSERT_GPU,
    INSERT_DEVICE,
    INSERT_TRANSFER,
    STATEMENTS
};

static const char *const statements[STATEMENTS] = {
    [INSERT_STRING] = "INSERT INTO StringIds VALUES (?,?)",
    [INSERT_CALL] = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?,NULL)",
    [INSERT_COPY] =
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start,end,deviceId,streamId,correlationId,"
        "globalPid,bytes,copyKind,srcKind,dstKind,srcDeviceId,dstDeviceId,migrationCause,"
        "virtualAddress) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [INSERT_MEMSET] =
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start,end,deviceId,streamId,correlationId,"
        "globalPid,bytes,memKind) VALUES (?,?,?,?,?,?,?,?)",
    [INSERT_KERNEL] =
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,streamId,correlationId,"
        "globalPid,demangledName,shortName,mangledName) VALUES (?,?,?,?,?,?,?,?,?)",
    [INSERT_SYNC] = "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start,end,deviceId,streamId,"
                    "correlationId,globalPid,syncType) VALUES (?,?,?,?,?,?,?)",
    [INSERT_RANGE] = "INSERT INTO NVTX_EVENTS (start,eventType,rangeId,text,globalTid,domainId) "
                     "VALUES (?,?,?,?,?,?)",
    [END_RANGE] = "UPDATE NVTX_EVENTS SET end = ?, endGlobalTid = ? WHERE rowid = ?",
    [INSERT_PROCESS] = "INSERT INTO PROCESSES VALUES (?,?,?)",
    [INSERT_GPU] = "INSERT INTO TARGET_INFO_GPU (vmId,id,name,uuid,cuDevice) VALUES (?,?,?,?,?)",
    [INSERT_DEVICE] =
        "INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId,cudaId,pid,uuid) VALUES (?,?,?,?)",
};

struct kernel_names {
    uint64_t id; /* key: in the process */
    int64_t demangled, brief, mangled;
};

struct database {
    struct xfa_sqlite_file file;
    sqlite3 *sql;
    sqlite3_stmt *statements[STATEMENTS];
    int64_t base_ns; /* the session's start */
    int64_t global;  /* of the process at hand: its globalPid */
    struct xfa_table strings, kernels;
    int64_t string_count;
    int64_t *range_rows; /* by slot (ranges.h) */
    size_t row_count, row_capacity;
};

/* ---- statements ------------------------------------------------------------------------------ */

static void fail(struct xfa_export *export)
{
    struct database *database = export->self;
    xfa_export_fail(export, database->file.error ? database->file.error : EIO);
}

static void execute(struct xfa_export *export, const char *text)
{
    struct database *database = export->self;
    if (database->sql && sqlite3_exec(database->sql, text, NULL, NULL, NULL) != SQLITE_OK)
        fail(export);
}

/* Runs it with what was bound, and forgets that. */
static void run(struct xfa_export *export, enum statement which)
{
    struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[which];
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail(export);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_known(sqlite3_stmt *statement, int at, bool known, int64_t value)
{
    if (known)
        sqlite3_bind_int64(statement, at, value);
}

/* ---- texts ----------------------------------------------------------------------------------- */

struct known_string {
    uint64_t hash; /* key */
    int64_t id;
};

/* 0: no text. */
static int64_t string_id(struct xfa_export *export, const char *text)
{
    struct database *database = export->self;
    struct known_string *known = NULL, other;
    if (!text)
        return 0;
    uint64_t hash = XXH3_64bits(text, strlen(text));
    if (database->strings.count < MOST_STRINGS || xfa_table_get(&database->strings, &hash))
        known = xfa_table_put(&database->strings, &hash);
    else
        *(known = &other) = (struct known_string){0};
    if (known->id)
        return known->id;
    known->id = ++database->string_count;
    sqlite3_bind_int64(database->statements[INSERT_STRING], 1, known->id);
    bind_text(database->statements[INSERT_STRING], 2, text);
    run(export, INSERT_STRING);
    return known->id;
}

/* "vectorized_elementwise_kernel" of "void at::native::vectorized_elementwise_kernel<4, ...>(...)"
 */
static char *brief_name(const char *name)
{
    size_t start = 0, end = 0;
    int depth = 0;
    for (; name[end]; end++) {
        char c = name[end];
        if (depth == 0 && (c == '<' || c == '(') && end > start)
            break;
        depth += (c == '<' || c == '(') - (c == '>' || c == ')');
        if (depth == 0 && (c == ' ' || c == ':' || c == ')' || c == '>'))
            start = end + 1;
    }
    return end > start ? xfa_kept(name + start, end - start) : xfa_text(name);
}

static struct kernel_names names_of(struct xfa_export *export, const struct xfa_event *event)
{
    struct database *database = export->self;
    uint64_t id = event->work.name;
    struct kernel_names *known = xfa_table_get(&database->kernels, &id);
    if (known)
        return *known;
    struct kernel_names names = {.id = id};
    const struct xfa_text *text = id ? xfa_trace_text(event->process->trace, id) : NULL;
    const char *demangled = text ? xfa_words_name(&export->words, event->process, id) : "(no name)";
    char *brief = brief_name(demangled);
    char *mangled = text ? xfa_clean(text->text, text->bytes) : NULL;
    names.demangled = string_id(export, demangled);
    names.brief = string_id(export, brief);
    names.mangled = string_id(export, mangled);
    free(brief);
    free(mangled);
    known = xfa_table_put(&database->kernels, &id);
    *known = names;
    return names;
}

/* ---- times and places ------------------------------------------------------------------------ */

static int64_t moment(const struct xfa_export *export, const struct xfa_process *process,
                      uint64_t ns)
{
    const struct database *database = export->self;
    return (int64_t)(xfa_process_wall_ns(process, ns) - (uint64_t)database->base_ns);
}

/* As Nsight packs them: 8 bits hardware, 8 bits virtual machine (here the host), 24 bits process,
 * 24 bits thread. */
static int64_t global_tid(const struct xfa_export *export, int32_t tid)
{
    const struct database *database = export->self;
    return database->global | (tid & 0xffffff);
}

static int64_t global_pid(const struct xfa_process *process)
{
    return (int64_t)(process->host & 0xff) << 48 | (int64_t)(process->pid & 0xffffff) << 24;
}

/* The eight columns that all have: start and end first. False: it has no time. */
static bool bind_work(struct xfa_export *export, enum statement which,
                      const struct xfa_event *event)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[which];
    if (!event->start_ns)
        return false;
    sqlite3_bind_int64(statement, 1, moment(export, event->process, event->start_ns));
    sqlite3_bind_int64(statement, 2,
                       moment(export, event->process,
                              event->end_ns > event->start_ns ? event->end_ns : event->start_ns));
    bind_known(statement, 3, event->gpu >= 0, event->gpu);
    bind_known(statement, 5, event->correlation, event->correlation);
    sqlite3_bind_int64(statement, 6, database->global);
    return true;
}

/* SQLite's integers have a sign. */
static int64_t whole(uint64_t count)
{
    return xfa_value_count(count).integer;
}

/* ---- what the devices did -------------------------------------------------------------------- */

static void insert_copy(struct xfa_export *export, const struct xfa_event *event, bool migrated)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_COPY];
    int from = xfa_process_gpu(event->process, event->src_place);
    int to = xfa_process_gpu(event->process, event->dst_place);
    bool between = event->direction == XFT_DIR_P2P || event->direction == XFT_DIR_D2D;
    if (!bind_work(export, INSERT_COPY, event))
        return;
    bind_known(statement, 4, !migrated, (int64_t)event->work.stream);
    sqlite3_bind_int64(statement, 7, whole(event->bytes));
    sqlite3_bind_int64(statement, 8,
                       migrated ? xfa_nsys_migration_kind(event) : xfa_nsys_copy_kind(event));
    sqlite3_bind_int64(statement, 9, xfa_nsys_memory_kind(event->src_mem));
    sqlite3_bind_int64(statement, 10, xfa_nsys_memory_kind(event->dst_mem));
    bind_known(statement, 11, between && from >= 0, from);
    bind_known(statement, 12, between && to >= 0, to);
    bind_known(statement, 13, migrated, (int64_t)event->managed.cause);
    bind_known(statement, 14, migrated, (int64_t)event->managed.address);
    run(export, INSERT_COPY);
}

static void insert_memset(struct xfa_export *export, const struct xfa_event *event)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_MEMSET];
    if (!bind_work(export, INSERT_MEMSET, event))
        return;
    sqlite3_bind_int64(statement, 4, (int64_t)event->work.stream);
    sqlite3_bind_int64(statement, 7, whole(event->bytes));
    sqlite3_bind_int64(statement, 8, xfa_nsys_memory_kind(event->dst_mem));
    run(export, INSERT_MEMSET);
}

static void insert_kernel(struct xfa_export *export, const struct xfa_event *event)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_KERNEL];
    struct kernel_names names = names_of(export, event);
    if (!bind_work(export, INSERT_KERNEL, event))
        return;
    sqlite3_bind_int64(statement, 4, (int64_t)event->work.stream);
    sqlite3_bind_int64(statement, 7, names.demangled);
    sqlite3_bind_int64(statement, 8, names.brief);
    bind_known(statement, 9, names.mangled, names.mangled);
    run(export, INSERT_KERNEL);
}

static void copied(struct xfa_export *export, const struct xfa_event *event)
{
    insert_copy(export, event, false);
}

/* ---- what the program did -------------------------------------------------------------------- */

static void insert_call(struct xfa_export *export, const struct xfa_event *event,
                        const struct xfa_function *function)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_CALL];
    int64_t name = string_id(export, xfa_words_function(&export->words, function));
    if (!event->start_ns)
        return;
    sqlite3_bind_int64(statement, 1, moment(export, event->process, event->start_ns));
    sqlite3_bind_int64(statement, 2,
                       moment(export, event->process,
                              event->end_ns > event->start_ns ? event->end_ns : event->start_ns));
    sqlite3_bind_int64(statement, 3,
                       function->level == XFT_LEVEL_DRIVER ? XFA_NSYS_DRIVER : XFA_NSYS_RUNTIME);
    sqlite3_bind_int64(statement, 4, global_tid(export, event->tid));
    bind_known(statement, 5, event->correlation, event->correlation);
    sqlite3_bind_int64(statement, 6, name);
    sqlite3_bind_int64(statement, 7, event->status);
    run(export, INSERT_CALL);
}

static void insert_sync(struct xfa_export *export, const struct xfa_event *event)
{
    static const int types[] = {0, XFA_NSYS_EVENT_SYNC, XFA_NSYS_STREAM_SYNC,
                                XFA_NSYS_CONTEXT_SYNC};
    const struct database *database = export->self;
    bool wait = event->kind == XFT_EVENT_WAIT;
    int type = wait ? XFA_NSYS_STREAM_WAIT : types[event->wait.what];
    if (!bind_work(export, INSERT_SYNC, event))
        return;
    sqlite3_bind_int64(database->statements[INSERT_SYNC], 7, type);
    run(export, INSERT_SYNC);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Of the database; 0: the range has none. */
static int64_t *row_of(struct database *database, const struct xfa_range *range)
{
    database->range_rows = xfa_grown(database->range_rows, &database->row_capacity,
                                     &database->row_count, range->slot, sizeof(int64_t));
    return &database->range_rows[range->slot];
}

static void begin_range(struct xfa_export *export, const struct xfa_event *event)
{
    struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_RANGE];
    const char *domain = xfa_words_name(&export->words, event->process, event->nvtx.domain);
    int64_t domain_id = string_id(export, domain);
    if (event->range)
        *row_of(database, event->range) = 0;
    if (!event->start_ns)
        return;
    sqlite3_bind_int64(statement, 1, moment(export, event->process, event->start_ns));
    sqlite3_bind_int64(statement, 2, event->nvtx.id ? XFA_NSYS_START_END : XFA_NSYS_PUSH_POP);
    bind_known(statement, 3, event->nvtx.id, (int64_t)event->nvtx.id);
    bind_text(statement, 4, xfa_words_name(&export->words, event->process, event->nvtx.name));
    sqlite3_bind_int64(statement, 5, global_tid(export, event->tid));
    sqlite3_bind_int64(statement, 6, domain_id);
    run(export, INSERT_RANGE);
    if (event->range)
        *row_of(database, event->range) = sqlite3_last_insert_rowid(database->sql);
}

static void end_range(struct xfa_export *export, const struct xfa_event *event)
{
    struct database *database = export->self;
    const int64_t *row = event->range ? row_of(database, event->range) : NULL;
    if (!row || !*row)
        return;
    sqlite3_stmt *statement = database->statements[END_RANGE];
    sqlite3_bind_int64(statement, 1, moment(export, event->process, event->start_ns));
    sqlite3_bind_int64(statement, 2, global_tid(export, event->tid));
    sqlite3_bind_int64(statement, 3, *row);
    run(export, END_RANGE);
}

static void event(struct xfa_export *export, const struct xfa_event *event)
{
    switch (event->kind) {
    case XFT_EVENT_KERNEL:
        insert_kernel(export, event);
        return;
    case XFT_EVENT_MEMSET:
        insert_memset(export, event);
        return;
    case XFT_EVENT_MIGRATION:
        insert_copy(export, event, true);
        return;
    case XFT_EVENT_RANGE_BEGIN:
        begin_range(export, event);
        return;
    case XFT_EVENT_RANGE_END:
        end_range(export, event);
        return;
    case XFT_EVENT_FAULT: /* no calls */
    case XFT_EVENT_CONTENT:
    case XFT_EVENT_RECORDS:
        return;
    case XFT_EVENT_SYNC:
    case XFT_EVENT_WAIT:
        insert_sync(export, event);
        break;
    default:
        break;
    }
    if (xft_event_word(event->kind))
        insert_call(export, event, xfa_function_of(event));
}

/* ---- transfers ------------------------------------------------------------------------------- */

static void create_transfers(struct xfa_export *export)
{
    struct database *database = export->self;
    struct xfa_sqlite_transfers transfers = xfa_sqlite_transfers();
    execute(export, transfers.create);
    if (sqlite3_prepare_v2(database->sql, transfers.insert, -1,
                           &database->statements[INSERT_TRANSFER], NULL) != SQLITE_OK)
        fail(export);
    free(transfers.create);
    free(transfers.insert);
}

static void bind_value(struct xfa_export *export, int at, const struct xfa_value *value)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_TRANSFER];
    switch (value->kind) {
    case XFA_VALUE_NONE:
        break;
    case XFA_VALUE_INTEGER:
    case XFA_VALUE_TRUTH:
        sqlite3_bind_int64(statement, at, value->integer);
        break;
    case XFA_VALUE_MOMENT:
        sqlite3_bind_int64(statement, at, value->integer - database->base_ns);
        break;
    case XFA_VALUE_REAL:
        sqlite3_bind_double(statement, at, value->real);
        break;
    case XFA_VALUE_WORD:
    case XFA_VALUE_TEXT:
        sqlite3_bind_int64(statement, at, string_id(export, value->text));
        break;
    }
}

static void transfer(struct xfa_export *export, const struct xfa_event *event)
{
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        struct xfa_value value = xfa_transfer_columns[i].get(export, event);
        bind_value(export, (int)i + 1, &value);
    }
    run(export, INSERT_TRANSFER);
    if (!(event->flags & XFT_GRAPH)) /* those have the times of their launch */
        insert_call(export, event,
                    xfa_row_called(xfa_analysis_row(export->analysis, event->transfer.class->row)));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void begin(struct xfa_export *export)
{
    struct database *database = export->self;
    xfa_table_init(&database->strings, sizeof(uint64_t), sizeof(struct known_string));
    xfa_table_init(&database->kernels, sizeof(uint64_t), sizeof(struct kernel_names));
    database->sql = xfa_sqlite_file_open(&database->file, fileno(export->out));
    if (!database->sql) {
        xfa_export_fail(export, ENOMEM);
        return;
    }
    execute(export, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
                    "PRAGMA cache_size = -8192; BEGIN;");
    execute(export, xfa_sqlite_schema);
    execute(export, "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'xferscope');");
    for (size_t i = 0; i < STATEMENTS && !export->failed; i++)
        if (statements[i] && sqlite3_prepare_v2(database->sql, statements[i], -1,
                                                &database->statements[i], NULL) != SQLITE_OK)
            fail(export);
    if (!export->failed)
        create_transfers(export);
}

static void insert_devices(struct xfa_export *export, const struct xfa_process *process)
{
    const struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_DEVICE];
    for (int i = 0; i < process->gpu_count; i++) {
        int gpu = process->gpus[i];
        char *uuid = (size_t)gpu < process->run->gpu_count
                         ? xfa_words_made(XFA_WORDS_SHOWN, process->run->gpus[gpu].uuid)
                         : NULL;
        sqlite3_bind_int64(statement, 1, gpu);
        sqlite3_bind_int64(statement, 2, gpu);
        sqlite3_bind_int64(statement, 3, process->pid);
        bind_text(statement, 4, uuid);
        run(export, INSERT_DEVICE);
        free(uuid);
    }
}

static void process(struct xfa_export *export, struct xfa_process *process)
{
    struct database *database = export->self;
    sqlite3_stmt *statement = database->statements[INSERT_PROCESS];
    char *name = xfa_words_made(XFA_WORDS_SHOWN, xfa_base_name(process->exe));
    if (process->number == 0)
        database->base_ns = (int64_t)xfa_process_wall_ns(process, process->start_mono_ns);
    database->global = global_pid(process);
    xfa_table_free(&database->kernels);
    xfa_table_init(&database->kernels, sizeof(uint64_t), sizeof(struct kernel_names));
    sqlite3_bind_int64(statement, 1, database->global);
    sqlite3_bind_int64(statement, 2, process->pid);
    bind_text(statement, 3, name);
    run(export, INSERT_PROCESS);
    free(name);
    insert_devices(export, process);
}

static void insert_gpus(struct xfa_export *export)
{
    const struct database *database = export->self;
    const struct xfa_run *all = export->analysis->run;
    sqlite3_stmt *statement = database->statements[INSERT_GPU];
    for (size_t i = 0; i < all->gpu_count; i++) {
        char *name = xfa_words_made(XFA_WORDS_SHOWN, all->gpus[i].name);
        char *uuid = xfa_words_made(XFA_WORDS_SHOWN, all->gpus[i].uuid);
        sqlite3_bind_int64(statement, 1, (int64_t)(all->gpus[i].host & 0xff) << 48);
        sqlite3_bind_int64(statement, 2, (int64_t)i);
        bind_text(statement, 3, name);
        bind_text(statement, 4, uuid);
        sqlite3_bind_int64(statement, 5, all->gpus[i].ordinal);
        run(export, INSERT_GPU);
        free(name);
        free(uuid);
    }
}

static void finish(struct xfa_export *export)
{
    const struct database *database = export->self;
    insert_gpus(export);
    char *start =
        xfa_print("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%lld, "
                  "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', %lld, 'unixepoch'), NULL);"
                  "INSERT INTO META_DATA_EXPORT VALUES ('SIMULATED_GPU', '%s'); COMMIT;",
                  (long long)database->base_ns, (long long)(database->base_ns / 1000000000),
                  export->analysis->simulated ? "yes" : "no");
    execute(export, start);
    free(start);
}

static void free_self(struct xfa_export *export)
{
    struct database *database = export->self;
    xfa_table_free(&database->strings);
    xfa_table_free(&database->kernels);
    free(database->range_rows);
}

/* Before the file takes its place. */
static void close_database(struct xfa_export *export)
{
    struct database *database = export->self;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(database->statements[i]);
    if (database->sql)
        xfa_sqlite_file_close(&database->file, database->sql);
    database->sql = NULL;
}

const struct xfa_export_format xfa_export_sqlite = {
    .name = "sqlite",
    .what = "a database with Nsight Systems' tables, and one of transfers",
    .regular = true,
    .words = XFA_WORDS_SHOWN,
    .kinds = UINT32_MAX,
    .self_bytes = sizeof(struct database),
    .begin = begin,
    .process = process,
    .event = event,
    .transfer = transfer,
    .copy = copied,
    .finish = finish,
    .close = close_database,
    .free = free_self,
};
