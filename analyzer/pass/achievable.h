/*
 * What the machine could have achieved, by the profile, for one kind of transfer.
 *
 * A host-device transfer is compared with the best page-locked memory that was measured (pinned,
 * write-combined, mapped, registered) in the same direction on the same GPU, of each kind that on
 * the NUMA node that is best for the GPU (below); D2D and P2P against that copy. GPUs of run and
 * profile are matched by uuid, else by the ordinal in the process that named them first. Times are
 * ns.
 */
#ifndef XFA_ACHIEVABLE_H
#define XFA_ACHIEVABLE_H

#include "analyzer/pass/profile_tables.h"
#include "analyzer/run/run.h"
#include "xferscope/profile.h"

enum xfa_match { XFA_MATCH_UNKNOWN, XFA_MATCH_YES, XFA_MATCH_NO };

struct xfa_achievable {
    const struct xfp_profile *profile; /* borrowed; NULL: what is achievable is not known */
    struct xfa_profile_tables *tables; /* of the profile */
    const struct xfa_run *run;
    enum xfa_match match; /* was the profile measured on the machine of all processes? */
    char *mismatch;       /* one line when not, with the first difference */
    char *difference;     /* that alone */
};

void xfa_achievable_init(struct xfa_achievable *achievable, const struct xfp_profile *profile,
                         const struct xfa_run *run);
void xfa_achievable_free(struct xfa_achievable *achievable);

/* Is it the machine of this process too? Once per process, as they are opened. */
void xfa_achievable_match(struct xfa_achievable *achievable, const struct xfa_process *process);

/* The profile's ordinal of a GPU of the run; the same number where the run knows nothing of it, and
 * without a profile the one it had in its process. */
int xfa_achievable_gpu(const struct xfa_achievable *achievable, int gpu);

/* The shortest time of one transfer, basis XFP_UNKNOWN when there is none; host time of submitting
 * it asynchronously, NAN = not measured. */
struct xfa_achieved {
    struct xfp_estimate time;
    double submit_ns;
};

/* Host time to submit a transfer over a path: at the measured size nearest above, else at the
 * largest one, since it hardly depends on the size; NAN = not measured. */
double xfa_submit_time(const struct xfp_path *path, uint64_t bytes);

/* One kind of transfer. */
struct xfa_achievable_path {
    const struct xfp_path *paths[4];
    size_t path_count;
    const struct xfp_fit *fit; /* of the path that is best for long transfers, NULL = none */
    int src_node, dst_node;    /* NUMA nodes of the GPUs, -1 = not known or no GPU */
    bool asked;                /* the answer before, often asked for again */
    uint64_t last_bytes;
    struct xfa_achieved last;
};

/* GPUs are the run's numbers, -1 = not known or not a GPU. */
void xfa_achievable_path(struct xfa_achievable_path *path, const struct xfa_achievable *achievable,
                         enum xft_direction direction, int src_gpu, int dst_gpu);
/* The same of the profile's ordinals. */
void xfa_achievable_path_like(struct xfa_achievable_path *path,
                              const struct xfa_achievable *achievable, enum xft_direction direction,
                              int src_like, int dst_like);

struct xfa_achieved xfa_achievable_ask(const struct xfa_achievable_path *path, uint64_t bytes);
/* The same, kept for the next time: for one thread. */
struct xfp_estimate xfa_achievable_time(struct xfa_achievable_path *path, uint64_t bytes);
double xfa_achievable_submit(struct xfa_achievable_path *path, uint64_t bytes);

/* ---- the best NUMA node ---------------------------------------------------------------------- */

/*
 * Which NUMA node's memory is best for a GPU, by a profile that has copies from (or to) several
 * nodes. Nodes are measured apart for each kind of memory and direction; GPUs are the profile's
 * ordinals.
 */

/* Host memory of one kind and node, and a GPU: where the same would be copied faster. */
struct xfa_near {
    int node;                           /* the best one; -1 = it is there, or nothing is known */
    const struct xfp_path *here, *near; /* copies with memory where it is, and on that node */
};

/*
 * The node from which the largest copy was fastest; the GPU's own one when none was faster by more
 * than the errors of both. -1 when not two nodes were measured.
 */
int xfa_near_node(const struct xfp_profile *profile, enum xft_direction direction,
                  enum xft_memory memory, int gpu);

/* node: where the memory is, -1 = not known. */
struct xfa_near xfa_near_of(const struct xfp_profile *profile, enum xft_direction direction,
                            enum xft_memory memory, int node, int gpu);

#endif
