/*
 * A kernel with its input and its output, by four methods: how long each takes, and which is best.
 * van Werkhoven, Maassen, Seinstra, Bal: "Performance models for CPU-GPU data transfers", figure 7
 * (equations 1 to 6); section V for what a transfer takes, section VI for the number of streams.
 *
 *   explicit  copy all of the input, run the kernel, copy all of the output (sections III, VII)
 *   implicit  the kernel uses mapped host memory for both                   (equation 6)
 *   streams   cut into parts, each copied in, computed and copied out in a stream of its own
 *             (equations 1 and 2, 3 and 4, 5, by the GPU's category; of two scenarios, dominant
 *             kernel and dominant transfers, the one that dominates is the one that takes longer)
 *   hybrid    input as in streams, output by the kernel into mapped memory  (equation 5, any GPU)
 *
 * Beyond the paper: what transfers in both directions cost each other counts while both go on, no
 * longer (table II has one G for all of the time); arrays (several copies per part and direction);
 * no L+o and no gap for a direction that moves nothing.
 *
 * A reference: the analyzer replays runs (analyzer/whatif/whatif.h) and has none of these
 * equations. Tests compare them with the paper (overlap_test.c) and a GPU
 * (tests/gpu/overlap_models.cu).
 *
 * Pure functions. Bytes, ns. What is not known is NAN, and is never the best.
 */
#ifndef XFA_OVERLAP_H
#define XFA_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/profile.h"

/* One direction: section V's L+o, g, G; and its G while the other direction moves as well (table
 * II), NAN or less than G: they do not slow each other. A g that is not known counts as 0. */
struct xfa_overlap_way {
    struct xfp_fit fit; /* not valid: a method that needs it is not known */
    double both_G;      /* ns per byte */
};

struct xfa_overlap_link {
    struct xfa_overlap_way in, out; /* host to device, device to host */
};

struct xfa_overlap_machine {
    int category;                   /* struct xfp_overlap's, section IV; else streams: not known */
    struct xfa_overlap_link copies; /* explicit and streams: copies in both directions */
    struct xfa_overlap_link mapped; /* implicit: kernels read and write mapped memory */
    struct xfa_overlap_link hybrid; /* copies to the device, kernels write mapped memory */
};

struct xfa_overlap_work {
    uint64_t in_bytes, out_bytes;
    uint32_t in_arrays, out_arrays; /* copies that they take, per part; 0 = 1 */
    double kernel_ns;               /* of all parts together, its data in the device's memory */
    /* How often the bytes pass the link when the kernel finds them in mapped memory (section VI:
     * B becomes larger if elements are used several times); 0 = once. */
    double mapped_in_times, mapped_out_times;
};

enum xfa_overlap_method {
    XFA_OVERLAP_EXPLICIT,
    XFA_OVERLAP_IMPLICIT,
    XFA_OVERLAP_STREAMS,
    XFA_OVERLAP_HYBRID,
    XFA_OVERLAP_METHODS
};

const char *xfa_overlap_word(enum xfa_overlap_method method); /* "explicit", ... */

/* ns of a method with so many streams (from 1 on; explicit and implicit have none). NAN: what it
 * needs of the machine is not known. */
double xfa_overlap_ns(const struct xfa_overlap_machine *machine,
                      const struct xfa_overlap_work *work, enum xfa_overlap_method method,
                      uint32_t streams);

struct xfa_overlap_limits {
    uint32_t most_streams; /* 0 = 1 */
    uint64_t least_part;   /* bytes; no cut that makes a copy of the larger direction smaller */
    double tolerance;      /* the fewest streams whose time is within this share of the least */
};

struct xfa_overlap_choice {
    bool known;                            /* of at least one method */
    enum xfa_overlap_method best;          /* the simplest one in a tie */
    double ns[XFA_OVERLAP_METHODS];        /* with the number of streams below; NAN = not known */
    uint32_t streams[XFA_OVERLAP_METHODS]; /* 1 for explicit and implicit */
};

/* The best number of streams for each method that has them, then the best method. */
struct xfa_overlap_choice xfa_overlap_choose(const struct xfa_overlap_machine *machine,
                                             const struct xfa_overlap_work *work,
                                             struct xfa_overlap_limits limits);

/* What a profile knows of a GPU and of host memory on a NUMA node (-1: any). Parts that it does not
 * speak about are left not known. (machine.c says which figures are taken.) */
struct xfa_overlap_machine xfa_overlap_of_profile(const struct xfp_profile *profile, int gpu,
                                                  int node);

#endif
