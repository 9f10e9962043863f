/*
 * SQLite: calls of MPI as Nsight Systems' tables have them, and calls of MPI and NCCL in tables of
 * our own. NCCL's own ranges, which Nsight has instead of calls, are ranges of the program
 * (NVTX_EVENTS).
 */
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/export/sqlite_database.h"

/* The last call of a thread that waited for requests. */
struct wait {
    int64_t thread; /* key */
    int64_t row;    /* in MPI_START_WAIT_EVENTS */
    uint64_t start_ns;
    uint64_t ended; /* requests that it found complete */
};

/* A table with the columns of csv-messages, of texts their numbers, and a view that has them. */
static void create_messages(struct xfa_export *export)
{
    char *table = xfa_text("id INTEGER PRIMARY KEY, event INTEGER");
    char *view = xfa_text("id, (SELECT value FROM StringIds AS s WHERE s.id = t.event) AS event");
    char *insert = xfa_text("INSERT INTO XFERSCOPE_MESSAGE VALUES (NULL,?");
    for (size_t i = 0; i < xfa_message_column_count; i++) {
        const struct xfa_message_column *column = &xfa_message_columns[i];
        table = xfa_append(table, ", %s INTEGER", column->name);
        view =
            column->text
                ? xfa_append(view, ", (SELECT value FROM StringIds AS s WHERE s.id = t.%s) AS %s",
                             column->name, column->name)
                : xfa_append(view, ", %s", column->name);
        insert = xfa_append(insert, ",?");
    }
    insert = xfa_append(insert, ")");
    xfa_sqlite_executef(
        export,
        "CREATE TABLE XFERSCOPE_MESSAGE (%s);"
        "CREATE VIEW XFERSCOPE_MESSAGES AS SELECT %s FROM XFERSCOPE_MESSAGE AS t;"
        "CREATE TABLE XFERSCOPE_COMMUNICATOR (globalPid INTEGER, commHandle INTEGER, "
        "id INTEGER, size INTEGER, rank INTEGER, ranks TEXT);",
        table, view);
    xfa_sqlite_prepare(export, XFA_SQLITE_INSERT_MESSAGE, insert);
    xfa_sqlite_prepare(export, XFA_SQLITE_INSERT_COMMUNICATOR,
                       "INSERT INTO XFERSCOPE_COMMUNICATOR VALUES (?,?,?,?,?,?)");
    free(table);
    free(view);
    free(insert);
}

static void begin_messages(struct xfa_export *export)
{
    struct xfa_sqlite *database = export->self;
    if (database->messages)
        return;
    database->messages = true;
    xfa_table_init(&database->ranked, sizeof(int64_t), sizeof(int64_t));
    xfa_table_init(&database->waits, sizeof(int64_t), sizeof(struct wait));
    for (unsigned i = XFA_SQLITE_OF_MPI; i < XFA_SQLITE_TABLES; i++)
        xfa_sqlite_create(export, i);
    xfa_sqlite_prepare(export, XFA_SQLITE_SET_REQUEST,
                       "UPDATE MPI_START_WAIT_EVENTS SET requestHandle = ? WHERE rowid = ?");
    create_messages(export);
}

static void insert_message(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_value what = xfa_value_if(true, xfa_sqlite_string(export, xfa_message_event(event)));
    xfa_sqlite_bind(export, XFA_SQLITE_INSERT_MESSAGE, 1, &what);
    for (size_t i = 0; i < xfa_message_column_count; i++) {
        struct xfa_value value = xfa_message_value(i, export, event);
        if (xfa_sqlite_is_text(value.kind))
            value = xfa_value_if(true, xfa_sqlite_string(export, value.text));
        xfa_sqlite_bind(export, XFA_SQLITE_INSERT_MESSAGE, (int)i + 2, &value);
    }
    xfa_sqlite_run(export, XFA_SQLITE_INSERT_MESSAGE);
}

static void insert_communicator(struct xfa_export *export, const struct xfa_event *event)
{
    const struct xfa_communicator *is = &event->communicator;
    struct xfa_value values[] = {
        xfa_value_if(true, xfa_sqlite_global(event->process, 0)),
        xfa_value_count(is->number),
        xfa_value_if(is->id != 0, (int64_t)is->id),
        xfa_value_if(is->size != 0, (int64_t)is->size),
        xfa_value_if(is->rank < XFT_RANK_ANY, (int64_t)is->rank),
        xfa_value_text(xfa_words_name(&export->words, event->process, is->ranks)),
    };
    for (int i = 0; i < 6; i++)
        xfa_sqlite_bind(export, XFA_SQLITE_INSERT_COMMUNICATOR, i + 1, &values[i]);
    xfa_sqlite_run(export, XFA_SQLITE_INSERT_COMMUNICATOR);
}

/* Queries join it with a call's thread. */
static void insert_rank(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    int64_t thread = xfa_sqlite_global(event->process, event->tid);
    size_t count = database->ranked.count;
    if (!event->process->rank.known || (count && thread == database->last_ranked))
        return;
    database->last_ranked = thread;
    xfa_table_put(&database->ranked, &thread);
    if (database->ranked.count > count)
        xfa_sqlite_insert(export, XFA_SQLITE_MPI_RANKS, event);
}

/* One that sends and receives is two rows, unless both are alike: as Nsight has it. */
static void insert_both(struct xfa_export *export, const struct xfa_event *event)
{
    const struct xfa_message *message = &event->message;
    bool sends = message->to != XFT_RANK_NONE, receives = message->from != XFT_RANK_NONE;
    bool alike = message->to == message->from && event->bytes == message->arrives;
    if (sends || !receives)
        xfa_sqlite_insert(export, XFA_SQLITE_SENT, event);
    if (receives && !(sends && alike))
        xfa_sqlite_insert(export, XFA_SQLITE_RECEIVED, event);
}

static void insert_wait(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    const int64_t thread = xfa_sqlite_global(event->process, event->tid);
    struct wait *wait = xfa_table_put(&database->waits, &thread);
    xfa_sqlite_insert(export, XFA_SQLITE_MPI_WAITS, event);
    wait->row = sqlite3_last_insert_rowid(database->sql);
    wait->start_ns = event->start_ns;
    wait->ended = 0;
}

/* What a call found complete comes behind it: its request, unless there are several. */
static void end_request(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_sqlite *database = export->self;
    const int64_t thread = xfa_sqlite_global(event->process, event->tid);
    struct wait *wait = xfa_table_get(&database->waits, &thread);
    if (!wait || wait->start_ns != event->start_ns || ++wait->ended > 2)
        return;
    const struct xfa_value request = xfa_value_if(wait->ended == 1, (int64_t)event->stream);
    const struct xfa_value row = xfa_value_if(true, wait->row);
    xfa_sqlite_bind(export, XFA_SQLITE_SET_REQUEST, 1, &request);
    xfa_sqlite_bind(export, XFA_SQLITE_SET_REQUEST, 2, &row);
    xfa_sqlite_run(export, XFA_SQLITE_SET_REQUEST);
}

static void insert_mpi(struct xfa_export *export, const struct xfa_event *event)
{
    if (xft_message_is_collective(event->message.what) ||
        xft_message_is_among_neighbors(event->message.what)) {
        xfa_sqlite_insert(export, XFA_SQLITE_COLLECTIVES, event);
        return;
    }
    switch (event->message.what) {
    case XFT_MESSAGE_SEND:
        xfa_sqlite_insert(export, XFA_SQLITE_SENT, event);
        break;
    case XFT_MESSAGE_RECV:
        xfa_sqlite_insert(export, XFA_SQLITE_RECEIVED, event);
        break;
    case XFT_MESSAGE_SENDRECV:
        insert_both(export, event);
        break;
    case XFT_MESSAGE_WAIT:
        insert_wait(export, event);
        break;
    default:
        xfa_sqlite_insert(export, XFA_SQLITE_MPI_OTHERS, event);
        break;
    }
}

void xfa_sqlite_message(struct xfa_export *export, const struct xfa_event *event)
{
    begin_messages(export);
    if (event->kind == XFT_EVENT_COMMUNICATOR) {
        insert_communicator(export, event);
        return;
    }
    insert_message(export, event);
    if (event->kind == XFT_EVENT_MESSAGE_END)
        end_request(export, event);
    if (event->kind != XFT_EVENT_MESSAGE)
        return;
    xfa_sqlite_thread(export, event);
    if (event->message.level != XFT_LEVEL_MPI)
        return;
    insert_rank(export, event);
    insert_mpi(export, event);
}
