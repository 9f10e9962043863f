/*
 * Kernels that only make what the host looks at, for the change that looks less often
 * (look_less.c). Which those are, findings/look_feeders.h says.
 */
#ifndef XFW_FEEDERS_H
#define XFW_FEEDERS_H

#include "analyzer/base/marks.h"
#include "analyzer/base/table.h"

/* Kernels, with what they are given, that only make what the host looks at: they go with the next
 * look, those that are not sure to do no more than that only at best. */
struct xfw_feeder {
    uint32_t process, name, arguments; /* key; name, arguments: the trace's ids */
    uint32_t class;                    /* of its looks */
    bool sure;
};
struct xfw_feeders {
    struct xfa_table table;
    struct xfw_marks looks; /* all copies that are looks, by process and number in it */
};
void xfw_feeders_free(struct xfw_feeders *feeders);
struct xfw_feeder *xfw_feeder_put(struct xfw_feeders *feeders, const struct xfw_feeder *key);

#endif
