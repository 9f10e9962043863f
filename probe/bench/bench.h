/*
 * The benchmarks: one file per family, one table of families, one named benchmark per path.
 *
 * To add a family: write bench_NAME.c with its two functions and add its row in families.def
 * (docs/CONTRIBUTING.md). Names read METHOD/MEMORY/DIRECTION/PLACES, e.g. copy/pinned/h2d/gpu0.
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
    int variant;                 /* a family's own */
    char result[XFP_NAME_BYTES]; /* of its results the one that tells that it was measured; "": the
                                    one that bears its name */
};

struct xfp_bench_list {
    size_t count, room;
    struct xfp_bench *items;
};

struct xfp_family {
    const char *name;
    const char *summary; /* for --list */
    const char *needs; /* what a machine must have that this may apply to; NULL: nothing special */
    enum xfp_method method;
    /* Seconds for one benchmark, usually and when quick; 0: as for a sweep of copies. */
    double budget_s, quick_budget_s;
    /* Appends the benchmarks that apply to this machine. */
    void (*enumerate)(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list);
    /* Measures into path (places and name are set), or adds to another part of the profile and
     * counts that in the session's results. 0, or -1 with the session's error; points measured
     * before a failure stay and count. Where it turns out that there is nothing to measure here, 0
     * with the reason in the session's absent. */
    int (*run)(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path);
};

#define XFP_FAMILY(name) extern const struct xfp_family xfp_family_##name;
#include "probe/bench/families.def"
#undef XFP_FAMILY

/* All benchmarks that apply and match the options; 0, or -1 with the session's error when the
 * filter is no regular expression. The caller frees list->items. */
int xfp_bench_select(struct xfp_session *s, struct xfp_bench_list *list);

void xfp_bench_add(struct xfp_bench_list *list, const struct xfp_bench *bench);

/*
 * The nodes to which a family's host memory is bound in turn: the only one; or each of several, and
 * last -1, not bound at all. Returns how many, at most room.
 */
#define XFP_MOST_NODES 64
size_t xfp_host_nodes(const struct xfp_session *s, int *nodes, size_t room);

/* How names speak of it: "node1-", or "" when there is one node only or none is bound to. */
#define XFP_NODE_TEXT 24
const char *xfp_node_text(const struct xfp_session *s, int node, char text[XFP_NODE_TEXT]);

/* Runs one benchmark and appends its path to the profile when at least one size was measured. */
int xfp_bench_run(struct xfp_session *s, const struct xfp_bench *bench);

struct xfp_copy;

/* What the copy families share: sweeps the sizes, checks the data, fits the model. The buffers
 * hold most_bytes each. */
int xfp_sweep_copy(struct xfp_session *s, const struct xfp_copy *copy, struct xfp_path *path,
                   size_t most_bytes);

#endif
