#include "analyzer/timeline/shares.h"

#include <string.h>

#include "analyzer/timeline/labels.h"
#include "analyzer/timeline/phase_shares.h"

enum { NO_GPU = XFA_SHARE_GPUS, ANY_GPU };

void xfa_shares_begin(struct xfa_shares *shares, uint32_t process)
{
    shares->process = process;
    memset(shares->times, 0, sizeof shares->times);
    shares->times[NO_GPU].used = shares->times[ANY_GPU].used = true;
}

static void draw(struct xfa_shares *shares, size_t place)
{
    struct xfa_gpu_time *time = &shares->times[place];
    if (time->ended > time->began && shares->tracks) {
        uint64_t ns = time->ended - time->began;
        struct xfa_track_key key = {.process = shares->process, .gpu = -1, .kind = XFA_TRACK_HOST};
        if (place < XFA_SHARE_GPUS) {
            key.gpu = (int16_t)place;
            key.kind = XFA_TRACK_EXPOSED;
        }
        struct xfa_slice slice = {time->began, time->ended, 1, 0, ns, XFA_NO_NAME};
        xfa_tracks_add(shares->tracks, &key, &slice);
    }
    time->began = time->ended = 0;
}

static enum xfa_share share_of(const struct xfa_gpu_time *time)
{
    const uint64_t *until = time->until;
    bool kernel = until[XFA_ACTIVE_KERNEL] > time->at;
    if (until[XFA_ACTIVE_STALL] > time->at)
        return XFA_SHARE_EXPOSED;
    if (until[XFA_ACTIVE_TRANSFER] > time->at)
        return kernel ? XFA_SHARE_HIDDEN : XFA_SHARE_EXPOSED;
    if (kernel)
        return XFA_SHARE_COMPUTE;
    if (!time->has_worked)
        return XFA_SHARE_HOST;
    if (until[XFA_ACTIVE_WAIT] > time->at)
        return XFA_SHARE_WAITS;
    return until[XFA_ACTIVE_LAUNCH] > time->at ? XFA_SHARE_LAUNCHES : XFA_SHARE_HOST;
}

/* Is it part of a stretch for a track? */
static bool is_drawn(size_t place, enum xfa_share share)
{
    if (place == ANY_GPU)
        return share == XFA_SHARE_LAUNCHES || share == XFA_SHARE_HOST;
    return place != NO_GPU && share == XFA_SHARE_EXPOSED;
}

static void advance(struct xfa_shares *shares, size_t place, uint64_t to)
{
    struct xfa_gpu_time *time = &shares->times[place];
    while (time->at < to) {
        enum xfa_share share = share_of(time);
        uint64_t next = to;
        for (unsigned i = 0; i < XFA_ACTIVITIES; i++)
            if (time->until[i] > time->at && time->until[i] < next)
                next = time->until[i];
        time->shares[share] += next - time->at;
        if (is_drawn(place, share)) {
            if (time->ended != time->at || time->ended == 0) {
                draw(shares, place);
                time->began = time->at;
            }
            time->ended = next;
        }
        time->at = next;
    }
}

/* A wait or a launch: for all GPUs. */
static bool is_of_thread(const struct xfa_span *span)
{
    return span->activity == XFA_ACTIVE_WAIT || span->activity == XFA_ACTIVE_LAUNCH;
}

static void add(struct xfa_shares *shares, size_t place, const struct xfa_span *span)
{
    struct xfa_gpu_time *time = &shares->times[place];
    if (!time->used) { /* until now it had nothing to do */
        advance(shares, NO_GPU, span->start);
        *time = shares->times[NO_GPU];
        time->began = time->ended = 0;
        if (shares->phases)
            xfa_phase_copy(shares->phases, NO_GPU, place);
    }
    advance(shares, place, span->start);
    time->has_worked |= !is_of_thread(span);
    if (span->end > time->until[span->activity])
        time->until[span->activity] = span->end;
}

static void take_phase(struct xfa_shares *shares, uint32_t phase, bool closes)
{
    for (size_t i = 0; i <= ANY_GPU; i++)
        if (shares->times[i].used)
            xfa_phase_take(shares->phases, phase, i, shares->times[i].shares, closes);
}

static void mark(struct xfa_shares *shares, const struct xfa_span *span)
{
    bool closes = span->activity == XFA_PHASE_CLOSES;
    if (closes ? !xfa_phase_closes(shares->phases, span->name)
               : !xfa_phase_opens(shares->phases, span->name))
        return;
    for (size_t i = 0; i <= ANY_GPU; i++)
        if (shares->times[i].used)
            advance(shares, i, span->start);
    take_phase(shares, span->name, closes);
}

void xfa_shares_add(struct xfa_shares *shares, const struct xfa_span *span)
{
    if (span->activity >= XFA_ACTIVITIES) {
        if (shares->phases)
            mark(shares, span);
    } else if (is_of_thread(span)) {
        for (size_t i = 0; i < XFA_SHARE_GPUS; i++)
            if (shares->times[i].used)
                add(shares, i, span);
        add(shares, NO_GPU, span);
        add(shares, ANY_GPU, span);
    } else if (span->gpu >= 0) {
        add(shares, span->gpu < XFA_SHARE_GPUS ? (size_t)span->gpu : XFA_SHARE_GPUS - 1, span);
        add(shares, ANY_GPU, span);
    }
}

void xfa_shares_end(struct xfa_shares *shares, uint64_t end)
{
    for (size_t i = 0; i <= ANY_GPU; i++) {
        struct xfa_gpu_time *time = &shares->times[i];
        if (!time->used)
            continue;
        advance(shares, i, end);
        if (i != NO_GPU)
            draw(shares, i);
        if (i >= XFA_SHARE_GPUS)
            continue;
        for (unsigned s = 0; s < XFA_SHARES; s++)
            xfa_exact_add(&shares->sums[s], (double)time->shares[s]);
        xfa_exact_add(&shares->duration, (double)time->at);
        shares->pairs++;
    }
}

void xfa_shares_give(const struct xfa_shares *shares, struct xfa_parcel *parcel)
{
    xfa_parcel_put(parcel, shares->sums, sizeof shares->sums);
    xfa_parcel_put(parcel, &shares->duration, sizeof shares->duration);
    xfa_parcel_number(parcel, shares->pairs);
}

void xfa_shares_take(struct xfa_shares *shares, struct xfa_unpacking *from)
{
    struct xfa_exact sums[XFA_SHARES], duration;
    xfa_unpack_bytes(from, sums, sizeof sums);
    xfa_unpack_bytes(from, &duration, sizeof duration);
    for (unsigned i = 0; i < XFA_SHARES; i++)
        xfa_exact_merge(&shares->sums[i], &sums[i]);
    xfa_exact_merge(&shares->duration, &duration);
    shares->pairs += xfa_unpack_number(from);
}

void xfa_shares_of_run(const struct xfa_shares *shares, double wall_ns, double of[XFA_SHARES])
{
    double pairs = shares->pairs ? (double)shares->pairs : 1;
    for (unsigned i = 0; i < XFA_SHARES; i++)
        of[i] = xfa_exact_value(&shares->sums[i]) / pairs;
    of[XFA_SHARE_HOST] += wall_ns - xfa_exact_value(&shares->duration) / pairs;
    if (of[XFA_SHARE_HOST] >= 0)
        return;
    /* A GPU had work beyond the process's end, as it is known: of a killed one its last call. */
    double longer = wall_ns - of[XFA_SHARE_HOST];
    of[XFA_SHARE_HOST] = 0;
    for (unsigned i = 0; i < XFA_SHARES; i++)
        of[i] *= wall_ns / longer;
}
