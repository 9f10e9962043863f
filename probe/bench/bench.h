/*
 * The benchmarks: families of them, each described once, in a struct xfp_family of its file.
 *
 * A family's description has the names of its figures, what they are, and what the machine must
 * have. The tables in docs/probe.md and docs/profile-format.md are written from it, and the test
 * probe.described measures every family and compares each name in the profile with it.
 * docs/CONTRIBUTING.md has the recipe for a new family.
 *
 * Names read METHOD/MEMORY/DIRECTION/PLACES, e.g. copy/pinned/h2d/gpu0.
 */
#ifndef XFP_BENCH_H
#define XFP_BENCH_H

#include "probe/session.h"

#define XFP_NAME_BYTES 80

struct xfp_bench {
    char name[XFP_NAME_BYTES];
    const struct xfp_family *family;
    enum xft_direction direction;
    struct xfp_place src, dst;
    bool peer_access;            /* peer copies: enabled while measuring */
    enum xfp_load load;          /* of the path */
    int variant;                 /* private to the family */
    char result[XFP_NAME_BYTES]; /* name of the result that --resume looks for; "": the
                                    benchmark's own */
};

struct xfp_bench_list {
    size_t count, room;
    struct xfp_bench *items;
};

/* The part of the profile that a family's figures go to. X(symbol, key in the file). */
#define XFP_PART_LIST(X)                                                                           \
    X(XFP_PART_PATHS, "paths")                                                                     \
    X(XFP_PART_CONCURRENT, "concurrent")                                                           \
    X(XFP_PART_STREAMS, "streams")                                                                 \
    X(XFP_PART_STAGED, "staged")                                                                   \
    X(XFP_PART_OVERLAP, "overlap")                                                                 \
    X(XFP_PART_TABLES, "tables")                                                                   \
    X(XFP_PART_SCALARS, "scalars")

#define XFP_PART_ROW(symbol, key) symbol,
enum xfp_part { XFP_PART_LIST(XFP_PART_ROW) XFP_PART_COUNT };
#undef XFP_PART_ROW

/* What a machine must have. X(symbol, bit, in words). */
#define XFP_NEED_LIST(X)                                                                           \
    X(XFP_NEED_TWO_GPUS, 1, "two GPUs")                                                            \
    X(XFP_NEED_KERNELS, 2, "kernels (a build with nvcc)")                                          \
    X(XFP_NEED_MAPPED, 4, "memory that the GPU maps")                                              \
    X(XFP_NEED_MIGRATION, 8, "memory that migrates on access")                                     \
    X(XFP_NEED_PROCESS, 16, "a process of its own")

#define XFP_NEED_ROW(symbol, bit, words) symbol = bit,
enum xfp_need { XFP_NEED_LIST(XFP_NEED_ROW) };
#undef XFP_NEED_ROW

/*
 * Some of the names that a family's figures have in the profile. In the pattern `{a,b}` stands for
 * one of these words, `[nodeN-]` for that or nothing, N and M for numbers.
 */
struct xfp_names {
    const char *pattern;
    const char *what; /* tables and scalars: the cost that these figures are */
};

#define XFP_MOST_NAMES 40

struct xfp_family {
    const char *name;    /* as the symbol, with dashes */
    const char *summary; /* what is measured: --list, docs/probe.md */
    struct xfp_names
        names[XFP_MOST_NAMES]; /* ended by NULL; all or some (alloc) are also names of benchmarks */
    const char *bench_names;   /* the benchmarks' pattern, where it is not among these; else NULL */
    enum xfp_part part;
    enum xfp_by by; /* tables: what their rows count */
    uint64_t bytes; /* tables: `bytes` in the profile, at most */
    unsigned needs; /* enum xfp_need; those that are not per GPU are checked before enumerate() */
    uint64_t from_bytes; /* --sizes must reach this size */
    enum xfp_method method;
    /* Seconds for one benchmark, by default and with --quick; 0: as for a sweep of copies. */
    double budget_s, quick_budget_s;
    /* Appends the benchmarks that apply to this machine. */
    void (*enumerate)(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list);
    /* Measures into path (places and name are set), or adds to another part of the profile and
     * counts that in the session's results. 0, or -1 with the session's error; points measured
     * before a failure are kept. When there turns out to be nothing to measure here, 0 with the
     * reason in the session's absent. */
    int (*run)(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path);
};

#define XFP_FAMILY(name) extern const struct xfp_family xfp_family_##name;
#include "probe/bench/families.def"
#undef XFP_FAMILY

/* All of them, in the order in which they run; NULL ends them. */
extern const struct xfp_family *const xfp_families[];

/* What the family needs, in words: "two GPUs and sizes from 64K on"; "" for nothing. */
#define XFP_NEEDS_TEXT 160
const char *xfp_family_needs(const struct xfp_family *family, char text[XFP_NEEDS_TEXT]);

/* All benchmarks that apply and match the options; 0, or -1 with the session's error when the
 * filter is no regular expression. The caller frees list->items. */
int xfp_bench_select(struct xfp_session *s, struct xfp_bench_list *list);

void xfp_bench_add(struct xfp_bench_list *list, const struct xfp_bench *bench);

/* name/gpuN for each GPU whose managed memory migrates on access: from there to the host. */
void xfp_bench_add_managed(struct xfp_session *s, const struct xfp_family *family, const char *name,
                           struct xfp_bench_list *list);

/*
 * The NUMA nodes to which a family binds host memory in turn: the only node; or each of several,
 * and -1 (not bound) as the last. Returns their number, at most room.
 */
#define XFP_MOST_NODES 64
size_t xfp_host_nodes(const struct xfp_session *s, int *nodes, size_t room);

/* The node in a benchmark's name: "node1-"; "" on a machine with one node, or without binding. */
#define XFP_NODE_TEXT 24
const char *xfp_node_text(const struct xfp_session *s, int node, char text[XFP_NODE_TEXT]);

/* The ends of a benchmark between host and device. */
struct xfp_host_ends {
    bool to_device;
    struct xfp_place host, device;
    struct xfp_device *d;
};
static inline struct xfp_host_ends xfp_host_ends(const struct xfp_session *s,
                                                 const struct xfp_bench *bench)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    struct xfp_place device = to_device ? bench->dst : bench->src;

    return (struct xfp_host_ends){.to_device = to_device,
                                  .host = to_device ? bench->src : bench->dst,
                                  .device = device,
                                  .d = &s->sys.devices[device.device]};
}

/* Runs one benchmark and appends its path to the profile when at least one size was measured. */
int xfp_bench_run(struct xfp_session *s, const struct xfp_bench *bench);

struct xfp_copy;

/* Measures a copy at every size, checks the data, fits the model. Both buffers have at least
 * most_bytes. */
int xfp_sweep_copy(struct xfp_session *s, const struct xfp_copy *copy, struct xfp_path *path,
                   size_t most_bytes);

#endif
