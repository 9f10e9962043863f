/*
 * Call sites of waits of the host: how many of them are more than is needed. For the kinds of
 * finding that ask it (overbroad_wait.c, result_wait.c, order_wait.c, unneeded_wait.c); and of the
 * functions that streams call (host_function.c), of which needed are those that the stream needs.
 * The sums are whole or exact, so that the members of a team may divide them (divided.h).
 */
#ifndef XFA_WAIT_SITES_H
#define XFA_WAIT_SITES_H

#include "analyzer/base/exact.h"
#include "analyzer/base/met.h"
#include "analyzer/base/table.h"
#include "analyzer/findings/finding.h"

struct xfa_wait_site {
    uint32_t site; /* key: number */
    uint32_t function;
    uint64_t times, needed; /* waits that are more than is needed, and others */
    uint64_t bytes;         /* copies that those were behind of */
    struct xfa_exact ns;    /* in those */
    struct xfa_wait_count {
        uint64_t times, bytes;
        struct xfa_exact ns;
    } orders,   /* those of `needed` of which the host needs that streams are in order, no more */
        idle,   /* further waits: what they are for is not known */
        pieces; /* launches for further pieces (launch_sites.h) */
    uint64_t whole; /* further ones, of which the host needs all */
    struct xfa_met met;
    uint32_t last; /* process whose wait named the function */
};

/* A table of them; xfa_table_free() frees it. */
void xfa_wait_sites_init(struct xfa_table *sites);

/* That of a wait with a stack: made where it is new. Valid until the next one is made. */
struct xfa_wait_site *xfa_wait_site_of(struct xfa_table *sites, const struct xfa_event *event);
/* One that was made, by its number. */
struct xfa_wait_site *xfa_wait_site_at(struct xfa_table *sites, uint32_t site);
/* One more that is more than is needed. */
void xfa_wait_site_add(struct xfa_wait_site *site, uint64_t bytes, double ns);
void xfa_wait_count_add(struct xfa_wait_count *count, uint64_t bytes, double ns);

/* As a finding has it. */
struct xfa_finding_site xfa_wait_site_found(const struct xfa_analysis *analysis,
                                            const struct xfa_wait_site *waits,
                                            enum xfa_reckoning reckoning);

/* Adds a site to the finding like `like` where most of its waits, two or more, are more than is
 * needed, and they take more than the thresholds. */
void xfa_wait_sites_find(const struct xfa_analysis *analysis, const struct xfa_table *sites,
                         const struct xfa_finding *like, enum xfa_reckoning reckoning,
                         struct xfa_findings *findings);

/* The same of the waits that order streams: is most of what the site waits for that; or, where
 * others of the run do it, may it be? */
bool xfa_wait_site_is_order(const struct xfa_wait_site *site);
void xfa_wait_sites_find_orders(const struct xfa_analysis *analysis, const struct xfa_table *sites,
                                const struct xfa_finding *like, struct xfa_findings *findings);

/* The same of waits of which it is not known what they are for. */
void xfa_wait_sites_find_idle(const struct xfa_analysis *analysis, const struct xfa_table *sites,
                              const struct xfa_finding *like, struct xfa_findings *findings);

/* The sites of xfa_kind_result_wait's sums. */
const struct xfa_table *xfa_result_wait_sites(const void *sums);

/* How members' tables are merged. */
extern const struct xfa_met_table xfa_wait_sites;

#endif
