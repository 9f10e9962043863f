/*
 * A team: processes of ours that analyze one run together, on one machine or on several. This is
 * the manual of how their results are merged.
 *
 * All members do the same steps in the same order, as if each were alone, so that whatever is
 * decided from sums (classes, findings, which ways are played) is decided alike everywhere. Each
 * opens all files of the run. What is done for each process of the run by itself is divided among
 * the members: one member does it for each process (run.h, xfa_process_is_mine()). That is reading
 * and summing up, where each sum can be merged (analysis/survey.h; findings/divided.h: sums are
 * exact, and the same whoever has which part); where some cannot, all members read all, and only
 * some sums are divided. And it is the replay, which takes longest. Where processes wait for each
 * other members give each other their calls (whatif/ops/gather.h), each plays all of them, and the
 * ways in which the run is played are divided (whatif/ways_shared.h).
 *
 * What is merged of the replay is not sums but parts: what came of one process, whole
 * (whatif/tally.h). Members exchange their parts, each gets all of them, and all add them up in the
 * order of the processes. One process alone does just that with its own parts. So the order of
 * additions does not depend on who did what, and the results are the same to the bit.
 *
 * Rules for code that merges:
 *   - an exchange is a step of all members: whether it is reached may not depend on what only some
 *     of them know. What only one member knows (a file that cannot be read, no memory left for ops)
 *     goes into its parcel, and decides for all.
 *   - a parcel says in front which step it is of: xfa_team_exchange() ends the team when members
 *     are at different ones.
 *   - numbers are put as they lie in memory: members are of one version and one machine type.
 *   - parts are put in ascending order of the process's number, and have it in front.
 *
 * A member without others is no team: NULL.
 */
#ifndef XFA_TEAM_H
#define XFA_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- parcels --------------------------------------------------------------------------------- */

/* Bytes that grow; zero to begin with, freed by xfa_parcel_free(). */
struct xfa_parcel {
    unsigned char *bytes;
    size_t count, capacity;
};
void xfa_parcel_free(struct xfa_parcel *parcel);
void xfa_parcel_put(struct xfa_parcel *parcel, const void *bytes, size_t count);
void xfa_parcel_number(struct xfa_parcel *parcel, uint64_t number);
void xfa_parcel_real(struct xfa_parcel *parcel, double real); /* to the bit */
void xfa_parcel_text(struct xfa_parcel *parcel, const char *text);

/* Reads in the order of putting; the parcel outlives it. Beyond the end there are zeros, and `bad`
 * stays set. */
struct xfa_unpacking {
    const unsigned char *at;
    size_t left;
    bool bad;
};
struct xfa_unpacking xfa_unpack(const struct xfa_parcel *parcel);
uint64_t xfa_unpack_number(struct xfa_unpacking *from);
double xfa_unpack_real(struct xfa_unpacking *from);
char *xfa_unpack_text(struct xfa_unpacking *from); /* for free(); never NULL */
void xfa_unpack_bytes(struct xfa_unpacking *from, void *into, size_t count);
/* How many items follow, of that many bytes each; 0, and `bad`: more than there are bytes for. */
size_t xfa_unpack_count(struct xfa_unpacking *from, size_t item_bytes);
/* As xfa_unpack_number(); 0, and `bad`: it is not below the limit. */
uint32_t xfa_unpack_below(struct xfa_unpacking *from, size_t limit);

/* ---- members --------------------------------------------------------------------------------- */

struct xfa_team {
    uint32_t rank, count; /* of the members; rank 0 writes the report */
    void *self;
    /* Gives `mine` to all. all: `count` zeroed parcels, by rank, for the caller to free. Returns
     * when all have given theirs; not at all when one of them is gone. */
    void (*exchange)(void *self, const struct xfa_parcel *mine, struct xfa_parcel *all);
    /* Ends the team, with one line on stderr. */
    void (*fail)(void *self, const char *why) __attribute__((noreturn));
    uint64_t steps; /* exchanges so far */
};

/* Everybody's parcels by rank, without what says which step they are of; for
 * xfa_team_free_parcels(). step: what it is, the same for all. Without a team a copy of one's own.
 */
struct xfa_parcel *xfa_team_exchange(struct xfa_team *team, const char *step,
                                     const struct xfa_parcel *mine);
void xfa_team_free_parcels(const struct xfa_team *team, struct xfa_parcel *all);

static inline uint32_t xfa_team_count(const struct xfa_team *team)
{
    return team ? team->count : 1;
}

/* Whether it is so for any member, for all members; sums over all members (without a team: as
 * given). Each is an exchange. */
bool xfa_team_any(struct xfa_team *team, bool mine);
bool xfa_team_all(struct xfa_team *team, bool mine);
uint64_t xfa_team_sum(struct xfa_team *team, uint64_t mine);
/* Has every member the same bytes? */
bool xfa_team_agrees(struct xfa_team *team, const void *bytes, size_t count);

#endif
