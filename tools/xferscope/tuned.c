#include "tools/xferscope/tuned.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "preload/apply/job.h"
#include "xferscope/profile.h"

#define SMALLEST                                                                                   \
    (UINT64_C(1) << 20) /* trials tell no smaller sizes apart (preload/apply/site.h)               \
                         */
#define LARGEST (UINT64_C(64) << 20)
#define WORTH 0.9 /* as preload/apply/proof.c has it */
#define AHEAD 1.5 /* the link takes memory's bandwidth, too, while threads copy */

/* ---- what the profile has -------------------------------------------------------------------- */

static const struct xfp_path *path_of(const struct xfp_profile *profile, enum xft_memory memory,
                                      bool up)
{
    struct xfp_place host = {memory, -1, -1}, device = {XFT_MEM_DEVICE, 0, -1};

    return up ? xfp_find(profile, XFP_COPY, host, device, true)
              : xfp_find(profile, XFP_COPY, device, host, true);
}

/* Copies within the host, by threads; on several nodes the first that was measured. */
static const struct xfp_table *host_copies(const struct xfp_profile *profile)
{
    static const char name[] = "host-copy/pageable/h2h/";

    for (size_t i = 0; i < profile->table_count; i++) {
        const struct xfp_table *table = &profile->tables[i];
        if (strncmp(table->name, name, sizeof name - 1) == 0 && table->row_count && table->bytes)
            return table;
    }
    return NULL;
}

/* ns; NAN: not known. */
static double blocking(const struct xfp_path *path, uint64_t bytes)
{
    return path ? xfp_blocking_time(path, bytes).ns : NAN;
}

/* ---- threads --------------------------------------------------------------------------------- */

static double per_byte(const struct xfp_table *table, size_t row)
{
    return xfp_table_at(table, table->rows[row].at).ns / (double)table->bytes;
}

static size_t fastest(const struct xfp_table *table)
{
    size_t best = 0;

    for (size_t i = 1; i < table->row_count; i++)
        if (per_byte(table, i) < per_byte(table, best))
            best = i;
    return best;
}

/* The row of the fewest threads that keep ahead of the link; else of the fastest. */
static size_t best_row(const struct xfp_table *table, const struct xfp_path *link)
{
    double wanted = blocking(link, LARGEST) / (double)LARGEST / AHEAD;

    for (size_t i = 0; i < table->row_count; i++)
        if (per_byte(table, i) <= wanted)
            return i;
    return fastest(table);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Threads and link work at the same time, but for the first piece. */
static double ours(const struct xfp_path *link, double copied_per_byte, uint64_t bytes)
{
    double copied = copied_per_byte * (double)bytes;

    return fmax(blocking(link, bytes), copied) + copied / XFS_JOB_SLOTS;
}

/* The smallest size from which on it should gain; 0: none, or not known. */
static uint64_t least(const struct xfp_path *asked, const struct xfp_path *link, double per_byte)
{
    uint64_t from = 0;

    for (uint64_t bytes = LARGEST; bytes >= SMALLEST; bytes /= 2) {
        if (!(ours(link, per_byte, bytes) < WORTH * blocking(asked, bytes)))
            break;
        from = bytes;
    }
    return from;
}

struct tuned tuned_by(const struct xfp_profile *profile)
{
    const struct xfp_table *table = host_copies(profile);
    const struct xfp_path *up = path_of(profile, XFT_MEM_PINNED, true);
    const struct xfp_path *down = path_of(profile, XFT_MEM_PINNED, false);
    struct tuned tuned = {0};

    if (!table || !up)
        return tuned;
    size_t row = best_row(table, up);
    uint64_t sent = least(path_of(profile, XFT_MEM_PAGEABLE, true), up, per_byte(table, row));
    uint64_t fetched = least(path_of(profile, XFT_MEM_PAGEABLE, false), down, per_byte(table, row));
    tuned.threads = (unsigned)table->rows[row].at;
    tuned.least = sent && (!fetched || sent < fetched) ? sent : fetched;
    return tuned;
}
