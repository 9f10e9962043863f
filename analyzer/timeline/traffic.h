/* What moved between which places: NUMA nodes of hosts and GPUs, by transfers and migrations. */
#ifndef XFA_TIMELINE_TRAFFIC_H
#define XFA_TIMELINE_TRAFFIC_H

#include "analyzer/pass/observer.h"

#define XFA_MOST_TRAFFIC 4096 /* pairs of places; what is between others is not counted */
#define XFA_SOME_GPU (-2)

struct xfa_place {
    uint32_t host; /* of the run; 0 for GPUs, whose numbers are the run's */
    int16_t gpu;   /* -1: the host's memory; XFA_SOME_GPU: it is not known which */
    int16_t node;  /* of the host's memory; -1: not known */
};

struct xfa_between {
    struct xfa_place from, to; /* the key */
    uint64_t count, bytes;
    uint64_t timed; /* of how many the time is known */
    double ns;      /* of these */
};

struct xfa_traffic {
    struct xfa_table table; /* struct xfa_between */
};

void xfa_traffic_init(struct xfa_traffic *traffic);
void xfa_traffic_free(struct xfa_traffic *traffic);
void xfa_traffic_add(struct xfa_traffic *traffic, const struct xfa_between *more);
void xfa_traffic_transfer(struct xfa_traffic *traffic, const struct xfa_event *event);
/* gpu: the run's number; -1: not known. */
void xfa_traffic_migration(struct xfa_traffic *traffic, const struct xfa_process *process,
                           const struct xfa_event *event, int gpu);

#endif
