/*
 * What memory of the host costs that is new, by the machine's profile: the system finds, clears and
 * maps each page as it is touched first, and takes all of them back when the memory is given back.
 */
#ifndef XFW_NEW_MEMORY_H
#define XFW_NEW_MEMORY_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_PAGE 4096u
#define XFW_HUGE_PAGE ((uint64_t)2 << 20)
#define XFW_OF_HUGE 0.25 /* of what as many ordinary pages take: a guess */

/* So many bytes of it; ns at worst, as likely and at best of what can be saved. Processes differ by
 * more than one of them does: by a quarter at least. */
struct xfw_new_cost {
    bool known;
    double ns[XFW_CERTAINTIES];
};

/* What a blocking copy from or to pageable memory takes longer. */
struct xfw_new_cost xfw_new_copy(const struct xfa_achievable *achievable,
                                 enum xft_direction direction, bool huge, int gpu, uint64_t bytes);
/* What the same copy takes where the pages are there; NAN: not measured. */
double xfw_kept_copy_ns(const struct xfa_achievable *achievable, enum xft_direction direction,
                        bool huge, int gpu, uint64_t bytes);

/* A blocking copy of memory of which hardly a page was there: it took so long, with its page
 * faults.
 */
struct xfw_new_call {
    const struct xfa_achievable *achievable;
    enum xft_direction direction;
    int gpu;
    uint64_t bytes;
    bool huge; /* huge pages */
    double took_ns;
    double kept_ns; /* such a copy where the pages are there; NAN: not known */
};
/* The same, by the profile; NAN: not known. */
double xfw_kept_by_profile_ns(const struct xfw_new_call *call);
/* Of the call, page faults. The call itself and the profile both say what they took. At worst it is
 * the less, as likely what the call says, as far as the profile has page faults that take as long;
 * at best all that the call took longer: in this run they may have taken more. Without figures of
 * them a part of the call that an estimate has. */
double xfw_new_within_ns(const struct xfw_new_call *call, enum xfw_certainty certainty);

/* Touched by the program: mapping it and writing to each page, in a process of which so many
 * threads do that (at best each waits for all others); and giving it back. */
struct xfw_new_cost xfw_new_touched(const struct xfa_achievable *achievable, bool huge,
                                    unsigned threads, uint64_t bytes);
/* What touching so many bytes once costs, at worst the most; by an estimate, where there is no
 * figure. */
double xfw_touching_ns(const struct xfa_achievable *achievable, uint64_t bytes,
                       enum xfw_certainty certainty);
/* What is left of page faults' time, where so many threads touch a part each. */
double xfw_touching_part(const struct xfa_achievable *achievable, unsigned threads);
struct xfw_new_cost xfw_new_released(const struct xfa_achievable *achievable, bool huge,
                                     uint64_t bytes);

#endif
