/* What findings share whose remedy takes copies by another path (whatif/changes/times.h). */
#ifndef XFA_OTHER_PATH_H
#define XFA_OTHER_PATH_H

#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/times.h"

/* Fills in path->to, and from where it is known. False: copies of this class stay. self: the
 * caller's. */
typedef bool xfa_other_path_fn(const struct xfa_analysis *analysis, const struct xfa_class *class,
                               const void *self, struct xfw_new_path *path);

/* The change of all classes of a finding's rows; NULL: of none. */
struct xfw_change *xfa_other_path_change(const struct xfa_analysis *analysis,
                                         const struct xfa_finding *finding,
                                         xfa_other_path_fn *choose, const void *self,
                                         const struct xfw_times_terms *terms);

#endif
