/*
 * Profiles whose figures can be worked out by hand, for tests of what a change would save:
 * measured_profile() is of a machine with one GPU, with errors of 0 and everything linear in bytes;
 * measured_begin() and measured_end() put the frame around figures that a test writes itself.
 */
#ifndef MEASURED_H
#define MEASURED_H

#include <stdint.h>
#include <stdio.h>

#include "xferscope/profile.h"

#define MIB ((uint64_t)1 << 20)

/* Per MiB. Registered memory, and pinned; pageable memory takes as long blocking as on the device.
 */
#define PINNED_NS 20000.0
#define PAGEABLE_NS 100000.0
#define SUBMIT_NS_OF_COPY 1000.0
#define BLOCKING_MORE_NS 6000.0 /* than on the device */
#define REGISTER_NS 50000.0     /* registering and undoing it, per MiB, and BASE for each */
#define REGISTER_BASE_NS 40000.0
#define HOST_COPY_NS 80000.0 /* one thread; 4 threads a fourth of it, 8 no less */
#define RECORD_EVENT_NS 800.0
#define SYNC_EVENT_NS 300.0

/* A ring of 8 MiB, registered, and threads that nobody measured. */
#define SET_UP_NS(threads) (REGISTER_BASE_NS + 8 * REGISTER_NS + 50000.0 * (threads))

enum measured_parts { MEASURED_REGISTER = 1, MEASURED_HOST_COPY = 2, MEASURED_ALL = 3 };

/* Freed with xfp_free(). */
struct xfp_profile *measured_profile(unsigned parts);

/* One more path, of so many ns per MiB; one more scalar; one more table of costs by bytes, from 1
 * MiB to 64 MiB. */
void measured_path(struct xfp_profile *profile, enum xfp_method method,
                   enum xft_direction direction, struct xfp_place src, struct xfp_place dst,
                   double ns_per_mib);
void measured_scalar(struct xfp_profile *profile, const char *name, double ns);
void measured_table(struct xfp_profile *profile, const char *name, double ns_per_mib);

struct measured_machine {
    const char *id;
    int gpus;
    const int *nodes; /* the NUMA node of each GPU, -1: not said; NULL: said of none */
    int numa_nodes;   /* 0: 1 */
    int cpus;         /* 0: 4 */
};

struct measured_text {
    FILE *out; /* the test's figures, as members: ", \"paths\": [...]" */
    char *text;
    size_t length;
};

/* Ends the test program when memory is used up, or the text is no profile. Freed with xfp_free().
 */
void measured_begin(struct measured_text *text, const struct measured_machine *machine);
struct xfp_profile *measured_end(struct measured_text *text);

#endif
