/*
 * Memory that a run takes and gives back, by call site, size and kind: the sums of an observer, for
 * the kinds of finding about calls that allocate or page-lock.
 */
#ifndef XFA_TAKEN_H
#define XFA_TAKEN_H

#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/changes.h"

struct xfa_taken {          /* zeroed at first */
    struct xfa_table calls; /* struct xfw_once_calls, of the run; `first`: the function's number */
    struct xfw_once_book book; /* of the process at hand: by stack, not by site */
    struct xfw_once_book any;  /* the same of any size; unless `all` */
    enum xft_event_kind takes, gives;
    bool all; /* also where none of the calls could go */
};

/* Calls of these two kinds, with a call site. all: else only where some are needless, and where a
 * site takes memory in changing sizes, its calls of any size, if blocks of the largest size save
 * more of them, and need no more than twice the memory. */
struct xfa_observer xfa_taken_observer(struct xfa_taken *taken, enum xft_event_kind takes,
                                       enum xft_event_kind gives, bool all);
void xfa_taken_free(void *taken);
/* For the kind: what members of a team give each other (divided.h). */
void xfa_taken_give(const void *taken, struct xfa_parcel *parcel);
void xfa_taken_take(void *taken, const struct xfa_analysis *analysis, struct xfa_unpacking *from);
void xfa_taken_all(void *taken);

/* The finding's calls: their places in `calls`, of those at its sites that `is` is true of (NULL:
 * of all). */
struct xfw_set xfa_taken_places(const struct xfa_taken *taken, const struct xfa_finding *finding,
                                bool (*is)(const struct xfw_once_calls *calls,
                                           const struct xfa_finding *finding));

/* Is the memory (enum xft_memory) page-locked memory of the host? */
bool xfa_taken_on_host(unsigned memory);

/* A site's sums over sizes, GPUs and processes: adds what one kind of call loses. sites: of struct
 * xfa_taken_site, by the number of the site. */
struct xfa_taken_site {
    uint32_t site; /* key */
    struct xfa_finding_site sums;
};
void xfa_taken_sites_init(struct xfa_table *sites);
void xfa_taken_add_to_site(struct xfa_table *sites, const struct xfa_analysis *analysis,
                           const struct xfw_once_calls *calls, double lost_ns);

/* Adds the sites that lose more than least_ns to the finding, with its reckoning. */
void xfa_taken_add_sites(const struct xfa_table *sites, struct xfa_findings *findings,
                         const struct xfa_finding *like, double least_ns);

#endif
