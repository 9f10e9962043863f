/*
 * The machine profile: what `xferscope probe` measured, and the analyzer's yardstick.
 *
 * On disk it is JSON (docs/profile-format.md, schema in docs/profile.schema.json); this header is
 * the same thing in memory and the way to ask it questions. Implemented in probe/profile*.c.
 *
 * Units: bytes, nanoseconds (double: medians need not be whole), GB/s = 10^9 bytes per second.
 * Ownership: xfp_load() allocates everything; xfp_free() releases it; pointers handed out by
 * look-ups live as long as the profile.
 */
#ifndef XFERSCOPE_PROFILE_H
#define XFERSCOPE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/terms.h"

#define XFP_SCHEMA "xferscope-profile"
#define XFP_VERSION 1

/* How bytes are moved. Words in the file: copy, prefetch, demand, mapped-read, mapped-write. */
#define XFP_METHOD_LIST(X)                                                                         \
    X(XFP_COPY, 1, "copy")                 /* cudaMemcpyAsync and friends */                       \
    X(XFP_PREFETCH, 2, "prefetch")         /* cudaMemPrefetchAsync on managed memory */            \
    X(XFP_DEMAND, 3, "demand")             /* managed memory migrating on access */                \
    X(XFP_MAPPED_READ, 4, "mapped-read")   /* a kernel reading the other side's memory */          \
    X(XFP_MAPPED_WRITE, 5, "mapped-write") /* a kernel writing it */

#define XFP_ENUM_ROW(symbol, number, word) symbol = number,
enum xfp_method { XFP_METHOD_LIST(XFP_ENUM_ROW) XFP_METHOD_COUNT };
#undef XFP_ENUM_ROW

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
};

/*
 * The transfer model of van Werkhoven et al., section V: one transfer of k bytes takes
 * Lo + k G; n transfers one behind the other, k bytes in all, take Lo + k G + (n - 1) g.
 */
struct xfp_fit {
    bool valid;
    double Lo_ns;         /* L + o */
    double g_ns;          /* gap between consecutive transfers */
    double G_ns_per_byte; /* 1 / bandwidth of long transfers, in GB/s */
    double max_error;     /* largest relative error over the points from fit_min_bytes on */
    uint64_t fit_min_bytes;
};

struct xfp_path {
    char *name; /* e.g. "copy/pinned/h2d/gpu0": what --filter and --list speak of */
    enum xfp_method method;
    enum xft_direction direction;
    struct xfp_place src, dst;
    bool blocking;     /* the synchronous form of the call was measured */
    bool device_timed; /* median_ns comes from device events */
    size_t point_count;
    struct xfp_point *points; /* ascending bytes */
    struct xfp_fit fit;
};

struct xfp_gpu {
    char *name;
    char *uuid; /* "GPU-..." as nvidia-smi prints it */
    char *pci;
    uint64_t memory_bytes;
    int numa; /* node it is attached to, -1 = not known */
    int copy_engines;
};

struct xfp_machine {
    char *hostname;
    char *machine_id; /* hash of /etc/machine-id: tells machines apart, reveals nothing */
    char *cpu;
    int cpus, numa_nodes;
    int driver_version; /* 13000 = CUDA 13.0 */
    bool simulated;
    size_t gpu_count;
    struct xfp_gpu *gpus;
};

struct xfp_profile {
    char *created;  /* ISO 8601, UTC */
    char *producer; /* "xferscope 0.1.0" */
    struct xfp_machine machine;
    size_t path_count;
    struct xfp_path *paths;
    size_t warning_count;
    char **warnings; /* what makes the figures less trustworthy, one line each */
};

/*
 * Reads a profile. On failure returns NULL and writes one line that says what is wrong (file name
 * included) to error. Unknown keys are ignored; a higher XFP_VERSION is an error.
 */
struct xfp_profile *xfp_load(const char *path, char *error, size_t error_bytes);
struct xfp_profile *xfp_parse(const char *text, size_t bytes, char *error, size_t error_bytes);
void xfp_free(struct xfp_profile *profile);

/* Writes path atomically (a temporary file, then rename). Returns 0, or -1 with the line. */
int xfp_save(const struct xfp_profile *profile, const char *path, char *error, size_t error_bytes);

/*
 * The path between two places, or NULL. A query's device or numa of -1 matches any; among several
 * matches the one whose place fits best, then the first. P2P paths are directed.
 */
const struct xfp_path *xfp_find(const struct xfp_profile *profile, enum xfp_method method,
                                struct xfp_place src, struct xfp_place dst, bool blocking);

enum xfp_basis {
    XFP_UNKNOWN = 0,      /* no measurement speaks about this: there is no figure */
    XFP_MEASURED = 1,     /* this size was measured */
    XFP_INTERPOLATED = 2, /* between two measured sizes, linear in bytes */
    XFP_MODELLED = 3,     /* beyond the largest measured size, by the fit */
};

struct xfp_estimate {
    enum xfp_basis basis;
    double ns;
    double error; /* relative: the interval of the measurement; of the neighbours and half the
                     disagreement of the model with them when interpolated; the fit's largest
                     error when modelled */
};

/* Time of one transfer of `bytes` over the path: of the copy itself, or as a blocking caller
 * sees it. Below the smallest measured size the smallest is the answer (latency dominates). */
struct xfp_estimate xfp_time(const struct xfp_path *path, uint64_t bytes);
struct xfp_estimate xfp_blocking_time(const struct xfp_path *path, uint64_t bytes);

/* Fits the model to the points of a path (xfp_fit above says which). g is taken as given, from a
 * measurement of consecutive small transfers; 0 leaves it unknown (NAN). */
struct xfp_fit xfp_fit_points(const struct xfp_point *points, size_t count, double g_ns);

const char *xfp_method_word(enum xfp_method method);
const char *xfp_basis_word(enum xfp_basis basis);

static inline double xfp_gbps(uint64_t bytes, double ns)
{
    return ns > 0 ? (double)bytes / ns : 0;
}

#endif
