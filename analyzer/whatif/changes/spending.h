/*
 * What `xferscope apply` may spend on finding out whether uploads can be left out
 * (preload/apply/leave_out/leave_out.c): hashes, and a comparison before the first one is left out,
 * cost no more than a hundredth of the time since the site's first upload, and what was saved.
 */
#ifndef XFW_SPENDING_H
#define XFW_SPENDING_H

#include <stdbool.h>

#include "analyzer/base/table.h"
#include "analyzer/whatif/op/op.h"

enum xfw_spent {
    XFW_AS_ASKED,
    XFW_HASHED,   /* and copied */
    XFW_COMPARED, /* hashed, compared with what is there, and left out */
    XFW_LEFT_OUT  /* hashed, and left out */
};

/* What one upload takes, ns. */
struct xfw_upload_costs {
    double asked, hash, compare;
};

struct xfw_spending {
    struct xfa_table sites;
};

void xfw_spending_init(struct xfw_spending *spending);
void xfw_spending_free(struct xfw_spending *spending);

/* same: what it brings is there already. */
enum xfw_spent xfw_spending_on(struct xfw_spending *spending, const struct xfw_op *op, bool same,
                               const struct xfw_upload_costs *costs);

#endif
