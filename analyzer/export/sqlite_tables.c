#include "analyzer/export/sqlite_tables.h"

#include <stdlib.h>

#include "analyzer/export/sqlite_strings.h"

/* Numbers of Nsight's ENUM_ tables (sqlite_enums.def). */
enum {
    HTOD = 1,
    DTOH,
    HTOA,
    ATOH,
    ATOA,
    ATOD,
    DTOA,
    DTOD,
    HTOH,
    PTOP,
    UVM_HTOD,
    UVM_DTOH,
    UVM_DTOD
};
enum { PAGEABLE, PINNED, DEVICE, ARRAY, MANAGED, UNKNOWN_MEMORY = 7 };
enum { EVENT_SYNC = 1, STREAM_WAIT, STREAM_SYNC, CONTEXT_SYNC };
enum { PUSH_POP = 59, START_END };
enum { MOST_ACCESSES = 4 }; /* a fault's, as CUPTI and Nsight count them */

static struct xfa_value integer(int64_t value)
{
    return xfa_value_if(true, value);
}

/* One that is not known counts as the beginning of 1970: the columns are never NULL. */
static struct xfa_value moment(const struct xfa_event *event, uint64_t ns)
{
    struct xfa_value value = integer((int64_t)xfa_process_wall_ns(event->process, ns));
    value.kind = XFA_VALUE_MOMENT;
    return value;
}

static struct xfa_value if_positive(int64_t value)
{
    return xfa_value_if(value, value);
}

/* ---- what the devices did -------------------------------------------------------------------- */

static bool is_migration(const struct xfa_event *event)
{
    return event->kind == XFT_EVENT_MIGRATION;
}

static bool is_work(const struct xfa_event *event)
{
    return event->kind == XFT_EVENT_DEVICE_COPY || event->kind == XFT_EVENT_KERNEL ||
           event->kind == XFT_EVENT_MEMSET;
}

static struct xfa_value memory_kind(unsigned memory)
{
    static const uint8_t kinds[] = {
        [XFT_MEM_UNKNOWN] = UNKNOWN_MEMORY, [XFT_MEM_PAGEABLE] = PAGEABLE,
        [XFT_MEM_PINNED] = PINNED,          [XFT_MEM_WRITE_COMBINED] = PINNED,
        [XFT_MEM_MAPPED] = PINNED,          [XFT_MEM_REGISTERED] = PINNED,
        [XFT_MEM_DEVICE] = DEVICE,          [XFT_MEM_ARRAY] = ARRAY,
        [XFT_MEM_MANAGED] = MANAGED,
    };
    return integer(memory < sizeof kinds ? kinds[memory] : UNKNOWN_MEMORY);
}

static struct xfa_value copy_kind(const struct xfa_event *event)
{
    static const uint8_t kinds[XFT_DIRECTION_COUNT][2][2] = {
        [XFT_DIR_H2D] = {{HTOD, HTOA}, {HTOD, HTOA}}, [XFT_DIR_D2H] = {{DTOH, DTOH}, {ATOH, ATOH}},
        [XFT_DIR_D2D] = {{DTOD, DTOA}, {ATOD, ATOA}}, [XFT_DIR_P2P] = {{PTOP, PTOP}, {PTOP, PTOP}},
        [XFT_DIR_H2H] = {{HTOH, HTOH}, {HTOH, HTOH}},
    };
    bool from = event->src_mem == XFT_MEM_ARRAY, to = event->dst_mem == XFT_MEM_ARRAY;
    if (is_migration(event))
        return integer(event->direction == XFT_DIR_H2D   ? UVM_HTOD
                       : event->direction == XFT_DIR_D2H ? UVM_DTOH
                                                         : UVM_DTOD);
    return integer(event->direction < XFT_DIRECTION_COUNT ? kinds[event->direction][from][to] : 0);
}

/* Of copies between two GPUs, or within one. */
static struct xfa_value gpu_at(const struct xfa_event *event, int place)
{
    bool between = event->direction == XFT_DIR_P2P || event->direction == XFT_DIR_D2D;
    int gpu = xfa_process_gpu(event->process, place);
    return xfa_value_if(between && gpu >= 0, gpu);
}

/* ---- what the program did -------------------------------------------------------------------- */

static const struct xfa_function *function_of(const struct xfa_export *export,
                                              const struct xfa_event *event)
{
    if (event->kind != XFT_EVENT_TRANSFER || !event->transfer.class)
        return xfa_function_of(event);
    return xfa_row_called(xfa_analysis_row(export->analysis, event->transfer.class->row));
}

static struct xfa_value function_name(struct xfa_export *export, const struct xfa_event *event)
{
    const char *name = xfa_words_function(&export->words, function_of(export, event));
    return integer(xfa_sqlite_string(export, name));
}

static struct xfa_value sync_type(const struct xfa_event *event)
{
    static const uint8_t types[] = {0, EVENT_SYNC, STREAM_SYNC, CONTEXT_SYNC};
    return integer(event->kind == XFT_EVENT_WAIT ? STREAM_WAIT : types[event->wait.what]);
}

static const char *name_of(struct xfa_export *export, const struct xfa_event *event, uint64_t id)
{
    return xfa_words_name(&export->words, event->process, id);
}

/* Of the program's instruction that touched managed memory; never NULL. */
static struct xfa_value fault_text(struct xfa_export *export, const struct xfa_event *event,
                                   bool module)
{
    const struct xfa_site *site = event->stack ? xfa_site_of(event) : NULL;
    const struct xfa_frame *frame = site && site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    const char *known = !frame ? NULL : module ? frame->module : frame->function;
    char *text = xfa_words_made(XFA_WORDS_SHOWN, known ? known : "[Unknown]");
    struct xfa_value value = integer(xfa_sqlite_string(export, text));
    free(text);
    return value;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Of a call that completes one request of its own later. */
static struct xfa_value request_of(const struct xfa_event *event)
{
    return xfa_value_if(event->flags & XFT_ASYNC && event->stream, (int64_t)event->stream);
}

static struct xfa_value remote_rank(uint32_t rank)
{
    return xfa_value_if(rank < XFT_RANK_ANY, rank);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* clang-format off: tables */
#define GETTER(name, value)                                                                        \
    static struct xfa_value get_##name(struct xfa_export *export, const struct xfa_event *event)   \
    {                                                                                              \
        return value;                                                                              \
    }
GETTER(start, moment(event, event->start_ns))
GETTER(end, moment(event, event->end_ns > event->start_ns ? event->end_ns : event->start_ns))
GETTER(device, xfa_value_if(event->gpu >= 0, event->gpu))
GETTER(correlation, if_positive(event->correlation))
GETTER(process, integer(xfa_sqlite_global(event->process, 0)))
GETTER(thread, integer(xfa_sqlite_global(event->process, event->tid)))
GETTER(stream, xfa_value_if(is_work(event), (int64_t)event->work.stream))
GETTER(bytes, xfa_value_count(event->bytes))
GETTER(src_kind, memory_kind(event->src_mem))
GETTER(dst_kind, memory_kind(event->dst_mem))
GETTER(copy_kind, copy_kind(event))
GETTER(src_device, gpu_at(event, event->src_place))
GETTER(dst_device, gpu_at(event, event->dst_place))
GETTER(cause, xfa_value_if(is_migration(event), (int64_t)event->managed.cause))
GETTER(address, xfa_value_if(is_migration(event), (int64_t)event->managed.address))
GETTER(demangled, integer(xfa_sqlite_names_of(export, event)->demangled))
GETTER(brief, integer(xfa_sqlite_names_of(export, event)->brief))
GETTER(mangled, if_positive(xfa_sqlite_names_of(export, event)->mangled))
GETTER(event_class, integer(function_of(export, event)->level == XFT_LEVEL_DRIVER))
GETTER(function, function_name(export, event))
GETTER(status, integer(event->status))
GETTER(sync_type, sync_type(event))
GETTER(range_type, integer(event->nvtx.id ? START_END : PUSH_POP))
GETTER(range_id, xfa_value_if(event->nvtx.id, (int64_t)event->nvtx.id))
GETTER(range_text, xfa_value_text(name_of(export, event, event->nvtx.name)))
GETTER(range_text_id,
       if_positive(xfa_sqlite_string(export, name_of(export, event, event->nvtx.name))))
GETTER(fault_address, integer((int64_t)event->managed.address))
GETTER(fault_function, fault_text(export, event, false))
GETTER(fault_module, fault_text(export, event, true))
GETTER(fault_count, xfa_value_count(event->managed.count))
GETTER(fault_access,
       integer(event->managed.cause <= MOST_ACCESSES ? (int64_t)event->managed.cause : 0))
GETTER(domain, integer(xfa_sqlite_string(export, name_of(export, event, event->nvtx.domain))))
GETTER(communicator, if_positive(event->message.communicator))
GETTER(tag, integer(event->message.tag))
GETTER(to, remote_rank(event->message.to))
GETTER(from, remote_rank(event->message.from))
GETTER(arrives, xfa_value_count(event->message.arrives))
GETTER(request, request_of(event))
GETTER(rank, integer(event->process->rank.number))

#define NEEDED "INTEGER NOT NULL"
#define NUMBER "INTEGER"
#define WORK                                                                                       \
    {"start", NEEDED, get_start}, {"end", NEEDED, get_end}, {"deviceId", NUMBER, get_device},      \
        {"contextId", NUMBER, NULL}, {"greenContextId", NUMBER, NULL},                             \
        {"streamId", NUMBER, get_stream}, {"correlationId", NUMBER, get_correlation},              \
    {                                                                                              \
        "globalPid", NUMBER, get_process                                                           \
    }

static const struct xfa_sqlite_column calls[] = {
    {"start", NEEDED, get_start},
    {"end", NEEDED, get_end},
    {"eventClass", NEEDED, get_event_class},
    {"globalTid", NUMBER, get_thread},
    {"correlationId", NUMBER, get_correlation},
    {"nameId", NEEDED, get_function},
    {"returnValue", NEEDED, get_status},
    {"callchainId", NUMBER, NULL},
};
static const struct xfa_sqlite_column copies[] = {
    WORK,
    {"bytes", NEEDED, get_bytes},
    {"copyKind", NEEDED, get_copy_kind},
    {"deprecatedSrcId", NUMBER, NULL},
    {"srcKind", NUMBER, get_src_kind},
    {"dstKind", NUMBER, get_dst_kind},
    {"srcDeviceId", NUMBER, get_src_device},
    {"srcContextId", NUMBER, NULL},
    {"dstDeviceId", NUMBER, get_dst_device},
    {"dstContextId", NUMBER, NULL},
    {"migrationCause", NUMBER, get_cause},
    {"graphNodeId", NUMBER, NULL},
    {"virtualAddress", NUMBER, get_address},
};
static const struct xfa_sqlite_column memsets[] = {
    WORK,
    {"value", NUMBER, NULL},
    {"bytes", NEEDED, get_bytes},
    {"graphNodeId", NUMBER, NULL},
    {"memKind", NUMBER, get_dst_kind},
};
static const struct xfa_sqlite_column kernels[] = {
    WORK,
    {"demangledName", NEEDED, get_demangled},
    {"shortName", NEEDED, get_brief},
    {"mangledName", NUMBER, get_mangled},
    {"launchType", NUMBER, NULL},
    {"cacheConfig", NUMBER, NULL},
    {"registersPerThread", NUMBER, NULL},
    {"gridX", NUMBER, NULL},
    {"gridY", NUMBER, NULL},
    {"gridZ", NUMBER, NULL},
    {"blockX", NUMBER, NULL},
    {"blockY", NUMBER, NULL},
    {"blockZ", NUMBER, NULL},
    {"staticSharedMemory", NUMBER, NULL},
    {"dynamicSharedMemory", NUMBER, NULL},
    {"localMemoryPerThread", NUMBER, NULL},
    {"localMemoryTotal", NUMBER, NULL},
    {"gridId", NUMBER, NULL},
    {"sharedMemoryExecuted", NUMBER, NULL},
    {"graphNodeId", NUMBER, NULL},
    {"sharedMemoryLimitConfig", NUMBER, NULL},
};
static const struct xfa_sqlite_column syncs[] = {
    WORK,
    {"syncType", NEEDED, get_sync_type},
    {"eventId", NUMBER, NULL},
};
static const struct xfa_sqlite_column ranges[] = {
    /* their ends come later */
    {"start", NEEDED, get_start},
    {"end", NUMBER, NULL},
    {"eventType", NEEDED, get_range_type},
    {"rangeId", NUMBER, get_range_id},
    {"category", NUMBER, NULL},
    {"color", NUMBER, NULL},
    {"text", "TEXT", get_range_text},
    {"globalTid", NUMBER, get_thread},
    {"endGlobalTid", NUMBER, NULL},
    {"textId", NUMBER, get_range_text_id},
    {"domainId", NUMBER, get_domain},
    {"uint64Value", NUMBER, NULL},
    {"int64Value", NUMBER, NULL},
    {"doubleValue", "REAL", NULL},
    {"uint32Value", NUMBER, NULL},
    {"int32Value", NUMBER, NULL},
    {"floatValue", "REAL", NULL},
    {"jsonTextId", NUMBER, NULL},
    {"jsonText", "TEXT", NULL},
    {"binaryData", "TEXT", NULL},
};

static const struct xfa_sqlite_column cpu_faults[] = {
    {"start", NEEDED, get_start},
    {"globalPid", NEEDED, get_process},
    {"address", NEEDED, get_fault_address},
    {"originalFaultPc", NUMBER, NULL},
    {"CpuInstruction", NEEDED, get_fault_function},
    {"module", NEEDED, get_fault_module},
    {"unresolvedFaultPc", NUMBER, NULL},
    {"sourceFile", NUMBER, NULL},
    {"sourceLine", NUMBER, NULL},
};
static const struct xfa_sqlite_column gpu_faults[] = {
    {"start", NEEDED, get_start},
    {"end", NEEDED, get_end},
    {"globalPid", NEEDED, get_process},
    {"deviceId", NEEDED, get_device},
    {"address", NEEDED, get_fault_address},
    {"numberOfPageFaults", NEEDED, get_fault_count},
    {"faultAccessType", NEEDED, get_fault_access},
};
#define OF_MPI                                                                                     \
    {"start", NEEDED, get_start}, {"end", NUMBER, get_end}, {"globalTid", NUMBER, get_thread},     \
    {                                                                                              \
        "textId", NUMBER, get_function                                                             \
    }
#define P2P(rank, bytes)                                                                           \
    OF_MPI, {"commHandle", NUMBER, get_communicator}, {"tag", NUMBER, get_tag},                    \
        {"remoteRank", NUMBER, rank}, {"size", NUMBER, bytes},                                     \
    {                                                                                              \
        "requestHandle", NUMBER, get_request                                                       \
    }
static const struct xfa_sqlite_column sent[] = {P2P(get_to, get_bytes)};
static const struct xfa_sqlite_column received[] = {P2P(get_from, get_arrives)};
static const struct xfa_sqlite_column collectives[] = {
    OF_MPI,
    {"commHandle", NUMBER, get_communicator},
    {"rootRank", NUMBER, get_to},
    {"size", NUMBER, get_bytes},
    {"recvSize", NUMBER, get_arrives},
    {"requestHandle", NUMBER, get_request},
};
static const struct xfa_sqlite_column mpi_waits[] = {OF_MPI, {"requestHandle", NUMBER, NULL}};
static const struct xfa_sqlite_column mpi_others[] = {OF_MPI};
static const struct xfa_sqlite_column mpi_ranks[] = {
    {"globalTid", NEEDED, get_thread},
    {"rank", NEEDED, get_rank},
};

#define LAYOUT(name, columns)                                                                      \
    {                                                                                              \
        name, columns, sizeof columns / sizeof *columns                                            \
    }
const struct xfa_sqlite_layout xfa_sqlite_layouts[XFA_SQLITE_TABLES] = {
    [XFA_SQLITE_CALLS] = LAYOUT("CUPTI_ACTIVITY_KIND_RUNTIME", calls),
    [XFA_SQLITE_COPIES] = LAYOUT("CUPTI_ACTIVITY_KIND_MEMCPY", copies),
    [XFA_SQLITE_MEMSETS] = LAYOUT("CUPTI_ACTIVITY_KIND_MEMSET", memsets),
    [XFA_SQLITE_KERNELS] = LAYOUT("CUPTI_ACTIVITY_KIND_KERNEL", kernels),
    [XFA_SQLITE_SYNCS] = LAYOUT("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", syncs),
    [XFA_SQLITE_RANGES] = LAYOUT("NVTX_EVENTS", ranges),
    [XFA_SQLITE_CPU_FAULTS] = LAYOUT("CUDA_UM_CPU_PAGE_FAULT_EVENTS", cpu_faults),
    [XFA_SQLITE_GPU_FAULTS] = LAYOUT("CUDA_UM_GPU_PAGE_FAULT_EVENTS", gpu_faults),
    [XFA_SQLITE_SENT] = LAYOUT("MPI_P2P_EVENTS", sent),
    [XFA_SQLITE_RECEIVED] = LAYOUT("MPI_P2P_EVENTS", received),
    [XFA_SQLITE_COLLECTIVES] = LAYOUT("MPI_COLLECTIVES_EVENTS", collectives),
    [XFA_SQLITE_MPI_WAITS] = LAYOUT("MPI_START_WAIT_EVENTS", mpi_waits),
    [XFA_SQLITE_MPI_OTHERS] = LAYOUT("MPI_OTHER_EVENTS", mpi_others),
    [XFA_SQLITE_MPI_RANKS] = LAYOUT("MPI_RANKS", mpi_ranks),
};
/* clang-format on */

const char *const xfa_sqlite_schema =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, "
    "localTime TEXT);"
    "CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER NOT NULL, "
    "startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, "
    "isDiscrete INTEGER, l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, "
    "clockRate INTEGER, smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, "
    "cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
    "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, "
    "numMultiprocessors INTEGER);";

#define ABOUT(name, value) "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_" name "', '" value "');"
const char *const xfa_sqlite_about =
    ABOUT("PRODUCT_NAME", "xferscope") ABOUT("PRODUCT_VERSION", XFERSCOPE_VERSION)
        ABOUT("SCHEMA_VERSION", "3.22.1") ABOUT("SCHEMA_VERSION_MAJOR", "3")
            ABOUT("SCHEMA_VERSION_MINOR", "22") ABOUT("SCHEMA_VERSION_MICRO", "1");

const char *const xfa_sqlite_enums =
#define XFA_NSYS_ENUM(table)                                                                       \
    "CREATE TABLE " #table " (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
#define XFA_NSYS_VALUE(table, id, name, label)                                                     \
    "INSERT INTO " #table " VALUES (" #id ",'" #name "','" label "');"
#define XFA_NSYS_LABEL(table, id, label) "INSERT INTO " #table " VALUES (" #id ",NULL,'" label "');"
#include "analyzer/export/sqlite_enums.def"
    ;
