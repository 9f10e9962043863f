/*
 * Sentences about a profile's figures: `xferscope probe --summary`, and in the plain report those
 * about the parts that are not paths.
 */
#ifndef XFP_SUMMARY_H
#define XFP_SUMMARY_H

#include <stdio.h>

#include "xferscope/profile.h"

/*
 * The questions of Pearson et al. to every link, each answered at the largest size that both
 * sides of a comparison have, with the figures:
 *
 *   affinity    does the host memory's NUMA node matter to a GPU?
 *   binding     does memory that is bound to no node do as well as that of the GPU's own?
 *   nodes       do copies within the host slow down from one node to another?
 *   direction   is one direction faster than the other (anisotropy)?
 *   links       do links that should be alike (same kind of memory, direction and distance, GPUs
 *               of one model) perform alike?
 *
 * "Differs" means: by more than XFP_SUMMARY_PART and with confidence intervals that do not meet.
 * One line says when a question does not arise on this machine (one node, one GPU).
 * 0, or -1 on a write error.
 */
#define XFP_SUMMARY_PART 0.05

int xfp_print_summary(const struct xfp_profile *profile, FILE *out);

/* A line or two for each of: transfer model on several streams, categories, staged copies,
 * concurrent transfers, the network; nothing for what was not measured. 0, or -1 on a write error.
 */
int xfp_print_sections(const struct xfp_profile *profile, FILE *out);

#endif
