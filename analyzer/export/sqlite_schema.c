#include "analyzer/export/sqlite_schema.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/export/columns.h"

#define WORK                                                                                       \
    "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, "          \
    "greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "

const char *const xfa_sqlite_schema =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, "
    "localTime TEXT);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, "
    "isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, "
    "clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, "
    "cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, "
    "numMultiprocessors INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, "
    "eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, "
    "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (" WORK
    "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, "
    "dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, "
    "dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (" WORK
    "value INTEGER, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" WORK
    "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
    "launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER, "
    "gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
    "staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, "
    "localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, "
    "sharedMemoryLimitConfig INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (" WORK
    "syncType INTEGER NOT NULL, eventId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
    "rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
    "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
    "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, "
    "floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);"
#define XFA_NSYS_ENUM(table)                                                                       \
    "CREATE TABLE " #table " (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
#define XFA_NSYS_VALUE(table, id, name, label)                                                     \
    "INSERT INTO " #table " VALUES (" #id ",'" #name "','" label "');"
#define XFA_NSYS_LABEL(table, id, label) "INSERT INTO " #table " VALUES (" #id ",NULL,'" label "');"
#include "analyzer/export/sqlite_enums.def"
    ;

/* ---- transfers ------------------------------------------------------------------------------- */

static bool is_text(const struct xfa_transfer_column *column)
{
    return column->kind == XFA_VALUE_TEXT || column->kind == XFA_VALUE_WORD;
}

static const char *sql_type(const struct xfa_transfer_column *column)
{
    return column->kind == XFA_VALUE_REAL ? "REAL" : "INTEGER";
}

/* To the end of a text that it takes the place of. */
static void append(char **text, char *more)
{
    char *longer = xfa_print("%s%s", *text, more);
    free(*text);
    free(more);
    *text = longer;
}

struct xfa_sqlite_transfers xfa_sqlite_transfers(void)
{
    char *table = xfa_text("CREATE TABLE XFERSCOPE_TRANSFER (id INTEGER PRIMARY KEY");
    char *view = xfa_text("CREATE VIEW XFERSCOPE_TRANSFERS AS SELECT id");
    char *insert = xfa_text("INSERT INTO XFERSCOPE_TRANSFER VALUES (NULL");
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        const struct xfa_transfer_column *column = &xfa_transfer_columns[i];
        const char *name = column->name;
        append(&table, xfa_print(", %s %s", name, sql_type(column)));
        append(&view, is_text(column) ? xfa_print(", (SELECT value FROM StringIds AS s "
                                                  "WHERE s.id = t.%s) AS %s",
                                                  name, name)
                                      : xfa_print(", %s", name));
        append(&insert, xfa_text(",?"));
    }
    append(&insert, xfa_text(")"));
    struct xfa_sqlite_transfers transfers = {
        .create = xfa_print("%s); %s FROM XFERSCOPE_TRANSFER AS t;", table, view),
        .insert = insert,
    };
    free(table);
    free(view);
    return transfers;
}
