/*
 * What memory of the host costs that is new, by the machine's profile: the system finds, clears and
 * maps each page as it is touched first, and takes all of them back when the memory is given back.
 */
#ifndef XFW_NEW_MEMORY_H
#define XFW_NEW_MEMORY_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_PAGE 4096u
#define XFW_HUGE_PAGE ((uint64_t)2 << 20)

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

/* Touched by the program: mapping it and writing to each page, in a process of which so many
 * threads do that (at best each waits for all others); and giving it back. */
struct xfw_new_cost xfw_new_touched(const struct xfa_achievable *achievable, bool huge,
                                    unsigned threads, uint64_t bytes);
struct xfw_new_cost xfw_new_released(const struct xfa_achievable *achievable, bool huge,
                                     uint64_t bytes);

#endif
