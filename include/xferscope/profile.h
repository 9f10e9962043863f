/*
 * The machine profile: what `xferscope probe` measured on a machine, which the analyzer takes as
 * achievable.
 *
 * On disk it is JSON (docs/profile-format.md, schema in docs/profile.schema.json); this header is
 * the same in memory, with the queries. Implemented in probe/profile/.
 *
 * Units: bytes, nanoseconds (double: medians need not be whole), GB/s = 10^9 bytes per second.
 * Ownership: xfp_read_file() allocates everything; xfp_free() releases it; pointers that queries
 * return are valid as long as the profile.
 */
#ifndef XFERSCOPE_PROFILE_H
#define XFERSCOPE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/terms.h"

#define XFP_SCHEMA "xferscope-profile"
#define XFP_VERSION 1
/* Tables of one kernel that reads and writes mapped memory: the places follow. */
#define XFP_ONE_KERNEL "both-ways/one-kernel/mapped/"

/* How bytes are moved. Words in the file: copy, prefetch, demand, mapped-read, mapped-write. */
#define XFP_METHOD_LIST(X)                                                                         \
    X(XFP_COPY, 1, "copy")                 /* cudaMemcpyAsync and its variants */                  \
    X(XFP_PREFETCH, 2, "prefetch")         /* cudaMemPrefetchAsync on managed memory */            \
    X(XFP_DEMAND, 3, "demand")             /* managed memory migrating on access */                \
    X(XFP_MAPPED_READ, 4, "mapped-read")   /* a kernel reading the other side's memory */          \
    X(XFP_MAPPED_WRITE, 5, "mapped-write") /* a kernel writing it */

#define XFP_ENUM_ROW(symbol, number, word) symbol = number,
enum xfp_method { XFP_METHOD_LIST(XFP_ENUM_ROW) XFP_METHOD_COUNT };

/* The load on the link while a path was measured. Words in the file: alone, both-ways,
 * mapped-traffic. A plain look-up finds only `alone`. */
#define XFP_LOAD_LIST(X)                                                                           \
    X(XFP_ALONE, 0, "alone")                                                                       \
    X(XFP_BOTH_WAYS, 1, "both-ways")           /* copies in the other direction */                 \
    X(XFP_MAPPED_TRAFFIC, 2, "mapped-traffic") /* a kernel's zero-copy traffic in the other one */

enum xfp_load { XFP_LOAD_LIST(XFP_ENUM_ROW) XFP_LOAD_COUNT };

/* Whether the host's memory was in the processor's caches when the path was measured. Words in the
 * file: cold, warm. A plain look-up finds only `cold`. */
#define XFP_CACHE_LIST(X)                                                                          \
    X(XFP_COLD, 0, "cold") /* flushed from the caches, if the profile's rules say so */            \
    X(XFP_WARM, 1, "warm") /* the processor had just written it */

enum xfp_cache { XFP_CACHE_LIST(XFP_ENUM_ROW) XFP_CACHE_COUNT };

/* What `at` counts in the rows of a table. X(symbol, number, word in the file). */
#define XFP_BY_LIST(X)                                                                             \
    X(XFP_BY_BYTES, 1, "bytes") /* a size */                                                       \
    X(XFP_BY_BYTES_EACH_WAY, 2,                                                                    \
      "bytes each way")                 /* moved in each of two directions at the same time */     \
    X(XFP_BY_ROW_BYTES, 3, "row bytes") /* length of the rows that one copy consists of */         \
    X(XFP_BY_COPIES, 4, "copies")       /* number of copies */                                     \
    X(XFP_BY_THREADS, 5, "threads")     /* threads of the host that share the work */              \
    X(XFP_BY_NODES, 6, "nodes")         /* nodes of a graph */

enum xfp_by { XFP_BY_UNKNOWN = 0, XFP_BY_LIST(XFP_ENUM_ROW) XFP_BY_COUNT };
#undef XFP_ENUM_ROW

/* Under which a path was measured. */
struct xfp_conditions {
    enum xfp_load load;
    enum xfp_cache cache;
    uint64_t row_bytes; /* bytes of a row; the host's pitch is twice that; 0 = contiguous */
};

/* One end of a path. */
struct xfp_place {
    enum xft_memory memory;
    int device; /* GPU ordinal for device memory (and managed memory living there), else -1 */
    int numa;   /* NUMA node for host memory, -1 = not bound */
};

/* Statistics of one size. Times are of one transfer of `bytes`. */
struct xfp_point {
    uint64_t bytes;
    uint32_t n;       /* samples */
    double median_ns; /* between device events around the copy; host clock when !device_timed */
    double min_ns;
    double max_ns;
    double ci_low_ns; /* 95 % confidence interval of the median */
    double ci_high_ns;
    double host_ns;     /* median time until the call returned, 0 = not measured */
    double blocking_ns; /* median time from call to data there, as a blocking caller sees it; 0 =
                           not measured */
    double blocking_low_ns; /* 95 % confidence interval of blocking_ns */
    double blocking_high_ns;
    bool chosen; /* the size is that of a program's transfers, not of a sweep */
};

/*
 * The transfer model of van Werkhoven et al., section V: one transfer of k bytes takes Lo + k G; n
 * consecutive transfers of k bytes in all take Lo + k G + (n - 1) g.
 */
struct xfp_fit {
    bool valid;
    double Lo_ns;         /* L + o */
    double g_ns;          /* gap between consecutive transfers */
    double G_ns_per_byte; /* 1 / bandwidth of long transfers, in GB/s */
    double max_error;     /* largest relative error over the points from fit_min_bytes on */
    uint64_t fit_min_bytes;
};

/* What a transfer's time is shorter by when it directly follows another one: Lo - g. 0: not known.
 */
static inline double xfp_fit_lead(const struct xfp_fit *fit)
{
    double lead_ns = fit->valid ? fit->Lo_ns - fit->g_ns : 0; /* g may be NAN */
    return lead_ns > 0 ? lead_ns : 0;
}

struct xfp_path {
    char *name; /* e.g. "copy/pinned/h2d/gpu0", as --filter and --list have it */
    enum xfp_method method;
    enum xft_direction direction;
    struct xfp_place src, dst;
    bool blocking;     /* the synchronous form of the call was measured */
    bool device_timed; /* median_ns comes from device events */
    enum xfp_load load;
    enum xfp_cache cache;
    uint64_t row_bytes; /* as in struct xfp_conditions */
    bool chosen; /* all of its sizes are; it has an answer for these, and between two of which the
                    larger is at most twice the smaller */
    size_t point_count;
    struct xfp_point *points; /* ascending bytes */
    struct xfp_fit fit;
};

/*
 * Transfers at the same time: both directions of a link, one host's copies to several GPUs. Every
 * flow moves `bytes` of a point; its times run from the first start to the last end, so that
 * together they reach flow_count * bytes / median_ns GB/s.
 */
struct xfp_flow {
    enum xft_direction direction;
    struct xfp_place src, dst;
};

struct xfp_concurrent {
    char *name; /* e.g. "concurrent/peer/gpu0-gpu1" */
    size_t flow_count;
    struct xfp_flow *flows;
    size_t point_count;
    struct xfp_point *points; /* ascending bytes */
};

/* The spread of samples around a median that is given beside it; n = 0: not known (profiles of
 * older versions), and all fields are 0. */
struct xfp_spread {
    uint32_t n; /* samples */
    double min_ns, max_ns;
    double ci_low_ns, ci_high_ns; /* 95 % confidence interval of the median */
};

/*
 * One transfer cut into equal parts on several streams, compared with the model of section V:
 * fit.max_error is the largest relative error over all points (the paper's validation: 16 MB to 1
 * GB on 1 to 256 streams).
 */
struct xfp_stream_point {
    uint64_t bytes; /* of all streams together */
    uint32_t streams;
    uint32_t n; /* samples */
    double median_ns, ci_low_ns, ci_high_ns;
    double min_ns, max_ns; /* 0 = unknown */
};

struct xfp_streams {
    char *name; /* e.g. "streams/pinned/h2d/gpu0" */
    enum xft_direction direction;
    struct xfp_place src, dst;
    struct xfp_fit fit;
    size_t point_count;
    struct xfp_stream_point *points;
};

/*
 * Copies from one GPU to another through pinned host buffers, without peer access, as rCUDA's
 * versions 2B (one buffer, one step after the other), 3B (pipelined, a fixed ring of buffers) and
 * 4B (the best ring for each size); section 4 of the paper. Times are those of a blocking caller.
 */
struct xfp_staged_point {
    uint64_t bytes;
    double peer_ns;        /* cuMemcpyPeerAsync without peer access, waited for */
    double unpipelined_ns; /* 2B */
    double pipelined_ns;   /* 3B: XFP_STAGED_BUFFERS of XFP_STAGED_BUFFER_BYTES */
    double adaptive_ns;    /* 4B: with the ring below */
    uint32_t buffers;
    uint32_t streams; /* on each side: 1, or 2 by turns */
    uint64_t buffer_bytes;
    struct xfp_spread peer, unpipelined, pipelined, adaptive;
};

#define XFP_STAGED_BUFFERS 4
#define XFP_STAGED_BUFFER_BYTES (1u << 20)

/* Of managed memory that a thread of the host works on: scalars spared/managed/... */
#define XFP_SPARED_BYTES (4u << 20)

/* One ring of the grid that 4B was chosen from. */
struct xfp_staged_cell {
    uint64_t bytes, buffer_bytes;
    uint32_t buffers;
    double median_ns;
    struct xfp_spread spread;
};

struct xfp_staged {
    char *name; /* e.g. "staged/p2p/gpu0-gpu1" */
    int src_device, dst_device;
    uint64_t hybrid_bytes; /* the hybrid rule: 4B from this size on, the driver's copy below; 0:
                              the driver's copy was never slower */
    size_t point_count;
    struct xfp_staged_point *points; /* ascending bytes */
    size_t cell_count;
    struct xfp_staged_cell *cells;
};

/* What a GPU does at the same time: section IV's categories. */
struct xfp_overlap {
    char *name; /* e.g. "overlap/gpu0" */
    int device;
    int copy_engines;   /* directions in which explicit copies ran at once: 1 or 2 */
    bool implicit_sync; /* a copy waits until every kernel launched before it has started */
    int category;       /* 1, 2 or 3; 0: none of the paper's */
    uint64_t bytes;     /* of each copy below */
    double h2d_ns, d2h_ns, both_ns;
    struct xfp_spread h2d, d2h, both;
};

/* A cost that is not a transfer over a path; the struct that contains it has the unit. */
struct xfp_cost {
    uint32_t n; /* samples */
    double median, min, max;
    double ci_low, ci_high; /* 95 % confidence interval of the median */
};

struct xfp_scalar {
    char *name; /* e.g. "sync/stream/gpu0" */
    char *unit; /* "ns" */
    struct xfp_cost cost;
};

struct xfp_row {
    uint64_t at; /* what xfp_table.by says */
    struct xfp_cost cost;
};

/* A cost by size, by number or by length of a row. */
struct xfp_table {
    char *name; /* e.g. "alloc/pinned/gpu0" */
    char *by;   /* what `at` counts: a word of XFP_BY_LIST, or of a newer version (xfp_by_of()) */
    char *unit; /* "ns" */
    uint64_t bytes; /* moved by a row in all (ROW_BYTES, THREADS), by each copy (COPIES); else 0 */
    size_t row_count;
    struct xfp_row *rows; /* ascending at */
};

struct xfp_gpu {
    char *name;
    char *uuid; /* "GPU-..." as nvidia-smi prints it */
    char *pci;
    uint64_t memory_bytes;
    int numa; /* node it is attached to, -1 = not known */
    int copy_engines;
    /* PCIe generation and lanes: the most seen while it was in use, and the most that GPU and slot
     * can; 0 = not known */
    int pcie_gen, pcie_width, pcie_max_gen, pcie_max_width;
    int nvlinks, nvlink_version; /* links that are up, 0 = none; nvlinks -1 = not known */
    int ecc, mig;                /* 1 on, 0 off or not there, -1 not known */
    size_t peer_count;
    int *peers; /* GPUs whose memory it may access, ascending */
};

struct xfp_node {
    int node, cpus; /* the system's number; processors */
    uint64_t memory_bytes;
};

struct xfp_machine {
    char *hostname;
    char *machine_id; /* hash of /etc/machine-id: identifies a machine without revealing the id */
    char *cpu;
    int cpus, numa_nodes;
    int driver_version; /* 13000 = CUDA 13.0 */
    bool simulated;
    size_t gpu_count;
    struct xfp_gpu *gpus;
    /* The fields below are NULL or "" when not known. */
    char *driver_release; /* "580.159.03" */
    int toolkit_version;  /* of the CUDA toolkit installed, as driver_version; 0 = none found */
    char *kernel;         /* "Linux 6.1.0-18-amd64" */
    char *governor;       /* of the processor's frequency; "mixed" when processors differ */
    char *huge_pages;     /* transparent ones: "always", "madvise", "never" */
    char *hypervisor;     /* "none", or whose: "KVM" */
    int64_t
        memlock_bytes; /* limit on locked memory, XFP_NO_LIMIT; 0 = not known, or none allowed */
    size_t node_count;
    struct xfp_node *nodes;
};

#define XFP_NO_LIMIT (-1)

/* How the figures were measured. */
struct xfp_rules {
    bool known;     /* profiles from before these were written: false */
    bool paper;     /* each figure for at least a second, five times */
    bool flushed;   /* host memory out of the processor's caches before every explicit copy */
    bool verified;  /* data compared after copying */
    double seconds; /* measuring took */
};

struct xfp_network;

struct xfp_profile {
    char *created;  /* ISO 8601, UTC */
    char *producer; /* "xferscope 1.2.0" */
    struct xfp_machine machine;
    struct xfp_rules rules;
    size_t path_count;
    struct xfp_path *paths;
    size_t scalar_count;
    struct xfp_scalar *scalars;
    size_t table_count;
    struct xfp_table *tables;
    size_t concurrent_count;
    struct xfp_concurrent *concurrent;
    size_t streams_count;
    struct xfp_streams *streams;
    size_t staged_count;
    struct xfp_staged *staged;
    size_t overlap_count;
    struct xfp_overlap *overlap;
    struct xfp_network *network; /* between ranks (profile_network.h); NULL: not measured */
    size_t warning_count;
    char **warnings; /* what makes the figures less trustworthy, one line each */
};

/*
 * Reads a profile. On failure returns NULL and writes one line that says what is wrong (file name
 * included) to error. Unknown keys are ignored; a higher XFP_VERSION is an error.
 */
struct xfp_profile *xfp_read_file(const char *path, char *error, size_t error_bytes);
struct xfp_profile *xfp_parse(const char *text, size_t bytes, char *error, size_t error_bytes);
void xfp_free(struct xfp_profile *profile);

/* The file that a machine's profile is kept in when none is named: HOSTNAME.json, and never one
 * name for a real machine and the simulated GPU. */
void xfp_default_name(const char *hostname, bool simulated, char *name, size_t bytes);

/* How a profile's file was found when the user named none. */
enum xfp_looked_up {
    XFP_NOT_THERE = 0,
    XFP_BY_VARIABLE = 1, /* XFERSCOPE_PROFILE is set, whether the file exists or not */
    XFP_BY_NAME = 2,     /* the default name, and the file can be read */
};

/* Of the user's profiles: $XDG_DATA_HOME/xferscope, else ~/.local/share/xferscope, whether it
 * exists or not. False: neither variable says where, or the path is too long. */
bool xfp_data_directory(char *path, size_t bytes);

/* Looks for a profile when the user names none: the variable; else the default name in the working
 * directory, where `xferscope probe` writes it, or in xfp_data_directory(). hostname: NULL = this
 * machine's. path is empty when there is none. */
enum xfp_looked_up xfp_look_up(const char *hostname, bool simulated, char *path, size_t bytes);

/* Writes path as analyzer/base/files.h says: whole or not at all. Returns 0, or -1 with the line.
 */
int xfp_save(const struct xfp_profile *profile, const char *path, char *error, size_t error_bytes);

/*
 * The path between two places, or NULL. A query's device or numa of -1 matches any; among several
 * matches one that is not `chosen`, then the one whose place fits best, then the first. P2P paths
 * are directed. Only paths measured alone, with cold caches and in one piece; the second form asks
 * for one under load, the third for any.
 */
const struct xfp_path *xfp_find(const struct xfp_profile *profile, enum xfp_method method,
                                struct xfp_place src, struct xfp_place dst, bool blocking);
const struct xfp_path *xfp_find_loaded(const struct xfp_profile *profile, enum xfp_method method,
                                       struct xfp_place src, struct xfp_place dst,
                                       enum xfp_load load);
const struct xfp_path *xfp_find_under(const struct xfp_profile *profile, enum xfp_method method,
                                      struct xfp_place src, struct xfp_place dst,
                                      const struct xfp_conditions *conditions);
const struct xfp_path *xfp_find_path(const struct xfp_profile *profile, const char *name);

/* Of copies, what a plain look-up by places finds. */
static inline bool xfp_is_plain(const struct xfp_path *path)
{
    return path->load == XFP_ALONE && path->cache == XFP_COLD && path->row_bytes == 0;
}

/*
 * Adds a point that was measured separately: to the path of that name, else to a new one with the
 * name, places and conditions of `like` (its points are ignored). The point is `chosen`; it
 * replaces one of the same size. Pointers to paths and points become invalid. 0; -1 when the
 * profile has as many points or paths as a file may have, or without memory.
 */
int xfp_keep_point(struct xfp_profile *profile, const struct xfp_path *like,
                   const struct xfp_point *point);

/* By name, or NULL. docs/profile-format.md lists the names. */
const struct xfp_scalar *xfp_find_scalar(const struct xfp_profile *profile, const char *name);
const struct xfp_table *xfp_find_table(const struct xfp_profile *profile, const char *name);

enum xfp_basis {
    XFP_UNKNOWN = 0,      /* nothing was measured for this: there is no figure */
    XFP_MEASURED = 1,     /* this size was measured */
    XFP_INTERPOLATED = 2, /* between two measured sizes, linear in bytes */
    XFP_MODELLED = 3,     /* beyond the largest measured size, by the fit */
};

struct xfp_estimate {
    enum xfp_basis basis;
    double ns;    /* xfp_table_at(): in the table's unit */
    double error; /* relative: the interval of the measurement; of the neighbours and half the
                     disagreement of the model with them when interpolated; the fit's largest
                     error when modelled */
};

/* Time of one transfer of `bytes` over the path: of the copy itself, or as a blocking caller
 * sees it. Below the smallest measured size the smallest is the answer (latency dominates). */
struct xfp_estimate xfp_time(const struct xfp_path *path, uint64_t bytes);
struct xfp_estimate xfp_blocking_time(const struct xfp_path *path, uint64_t bytes);

/* A table's cost at `at`, in its unit: measured, or linear between rows. Below the first row its
 * cost is the answer; beyond the last row the line through the last two goes on (modelled). error
 * is the relative interval of the rows used. A table of one row knows only that row. */
struct xfp_estimate xfp_table_at(const struct xfp_table *table, uint64_t at);

/* Bytes that a row of the table moves in all directions together; 0 when it moves none, or when
 * the reader does not know what `at` counts. */
uint64_t xfp_table_moved(const struct xfp_table *table, uint64_t at);

/* Fits the model to the points of a path (xfp_fit above says which). g is taken as given, from a
 * measurement of consecutive small transfers; 0 leaves it unknown (NAN). */
struct xfp_fit xfp_fit_points(const struct xfp_point *points, size_t count, double g_ns);

/* Section V for k bytes in all on n streams: L+o + k G + (n - 1) g. A g not known counts as 0. */
double xfp_streams_ns(const struct xfp_fit *fit, uint64_t bytes, uint32_t streams);

/* The staged copy between two GPUs, NULL when it was not measured. */
const struct xfp_staged *xfp_find_staged(const struct xfp_profile *profile, int src, int dst);

/* What was measured at the largest size that is not above bytes (the smallest one, below all). */
const struct xfp_staged_point *xfp_staged_at(const struct xfp_staged *staged, uint64_t bytes);

const char *xfp_method_word(enum xfp_method method);
const char *xfp_load_word(enum xfp_load load);
const char *xfp_cache_word(enum xfp_cache cache);
const char *xfp_basis_word(enum xfp_basis basis);
const char *xfp_by_word(enum xfp_by by);

/* The enum of a table's word; XFP_BY_UNKNOWN for a word that this version does not know. */
enum xfp_by xfp_by_of(const char *word);

static inline double xfp_gbps(uint64_t bytes, double ns)
{
    return ns > 0 ? (double)bytes / ns : 0;
}

#endif
