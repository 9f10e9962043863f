#include "tools/xferscope/tuned.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "preload/apply/team/job.h"
#include "xferscope/profile.h"

#define SMALLEST                                                                                   \
    (UINT64_C(1) << 20) /* trials tell no smaller sizes apart (preload/apply/site/site.h)          \
                         */
#define LARGEST (UINT64_C(64) << 20)
#define WORTH 0.9 /* as preload/apply/site/proof.c has it */
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

/* ---- uploads by way of another GPU ----------------------------------------------------------- */

#define RELAYED_FROM (UINT64_C(8) << 20)

/* The smallest size from which on it pays; 0: none, or not measured. */
static uint64_t relayed_from(const struct xfp_profile *profile, const struct xfp_table *table,
                             int to)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, -1}, device = {XFT_MEM_DEVICE, to, -1};
    const struct xfp_path *straight = xfp_find(profile, XFP_COPY, host, device, true);
    uint64_t from = 0;

    for (size_t i = table && straight ? table->row_count : 0; i-- > 0;) {
        uint64_t bytes = table->rows[i].at;
        if (bytes < RELAYED_FROM ||
            !(xfp_table_at(table, bytes).ns < WORTH * blocking(straight, bytes)))
            break;
        from = bytes;
    }
    return from;
}

static const struct xfp_table *relay_table(const struct xfp_profile *profile, size_t by, size_t to)
{
    char name[80];

    snprintf(name, sizeof name, "relayed/pinned/h2d/gpu%zu-gpu%zu", by, to);
    return by == to ? NULL : xfp_find_table(profile, name);
}

/* At the largest size. */
static double relayed_ns(const struct xfp_table *table)
{
    return xfp_table_at(table, table->rows[table->row_count - 1].at).ns;
}

/* The GPU by which it is fastest, of those that pay; the number of GPUs: none. */
static size_t best_relay(const struct xfp_profile *profile, size_t to, uint64_t *from)
{
    size_t count = profile->machine.gpu_count, best = count;

    for (size_t by = 0; by < count; by++) {
        const struct xfp_table *table = relay_table(profile, by, to);
        uint64_t pays = relayed_from(profile, table, (int)to);
        if (pays == 0 ||
            (best < count && relayed_ns(table) >= relayed_ns(relay_table(profile, best, to))))
            continue;
        best = by;
        *from = pays;
    }
    return best;
}

void tuned_relays(const struct xfp_profile *profile, char *text, size_t bytes)
{
    const struct xfp_gpu *gpus = profile->machine.gpus;
    size_t used = 0;

    text[0] = '\0';
    for (size_t to = 0; to < profile->machine.gpu_count; to++) {
        char line[160];
        uint64_t from = 0;
        size_t by = best_relay(profile, to, &from);
        if (by == profile->machine.gpu_count || !gpus[to].uuid || !gpus[by].uuid)
            continue;
        int length = snprintf(line, sizeof line, "%s%s<%s:%" PRIu64, used ? "," : "", gpus[to].uuid,
                              gpus[by].uuid, from);
        if ((size_t)length >= sizeof line || used + (size_t)length >= bytes)
            return;
        memcpy(text + used, line, (size_t)length + 1);
        used += (size_t)length;
    }
}
