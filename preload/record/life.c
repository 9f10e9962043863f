#include "preload/record/life.h"
#include "preload/record/recorder.h"

struct xfs_life *_Atomic xfs_life;
XFS_TLS struct xfs_lane *xfs_self;
char xfs_held;
XFS_TLS bool xfs_holding;
XFS_TLS bool xfs_entered;

struct xfs_recorder *xfs_recorder_current(void)
{
    struct xfs_life *l = atomic_load_explicit(&xfs_life, memory_order_acquire);
    return l ? atomic_load_explicit(&l->current, memory_order_acquire) : NULL;
}

bool xfs_recording(void)
{
    return xfs_recorder_current() != NULL;
}

void xfs_record_stop(struct xfs_recorder *recorder)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    struct xfs_recorder *current = recorder;
    if (l)
        atomic_compare_exchange_strong(&l->current, &current, NULL);
}

/* ---- losses ------------------------------------------------------------------------------- */

/* Raises the header's field to the count. Threads may do so in any order: the largest stays. */
static void tell_count(uint64_t *field, atomic_ullong *count)
{
    uint64_t counted = atomic_load(count);
    uint64_t stated = __atomic_load_n(field, __ATOMIC_SEQ_CST);
    while (stated < counted && !__atomic_compare_exchange_n(field, &stated, counted, false,
                                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

static void tell(struct xfs_recorder *recorder, struct xft_file_header *header, enum xft_loss loss)
{
    tell_count(xft_loss_at(header, loss), &recorder->lost[loss]);
}

static void tell_calls_after_end(struct xfs_recorder *recorder, struct xft_file_header *header)
{
    tell_count(&header->calls_after_end, &recorder->calls_after_end);
}

/* The header may be exchanged at any moment, and the new one gets the counts so far: either they
 * include `n`, or the new header is the one read here. */
void xfs_count_lost(struct xfs_recorder *recorder, enum xft_loss loss, uint64_t n)
{
    atomic_fetch_add(&recorder->lost[loss], n);
    tell(recorder, atomic_load(&recorder->header), loss);
}

void xfs_losses_exchange_header(struct xfs_recorder *recorder, struct xft_file_header *header)
{
    atomic_store(&recorder->header, header);
    for (int i = 0; i < XFT_LOSS_COUNT; i++)
        tell(recorder, header, (enum xft_loss)i);
    tell_calls_after_end(recorder, header);
}

void xfs_losses_note(struct xfs_recorder *recorder)
{
    for (int i = 0; i < XFT_LOSS_COUNT; i++)
        *xft_loss_at(&recorder->file.made, (enum xft_loss)i) = atomic_load(&recorder->lost[i]);
    recorder->file.made.calls_after_end = atomic_load(&recorder->calls_after_end);
}

void xfs_count_calls_after_end(struct xfs_recorder *recorder, uint64_t n)
{
    atomic_fetch_add(&recorder->calls_after_end, n);
    tell_calls_after_end(recorder, atomic_load(&recorder->header));
}

XFS_COLD void xfs_lose(enum xft_loss loss, uint64_t n)
{
    struct xfs_life *l = atomic_load(&xfs_life);
    struct xfs_recorder *recorder = xfs_recorder_current();
    if (recorder == NULL && l)
        recorder = atomic_load(&l->closed);
    if (recorder)
        xfs_count_lost(recorder, loss, n);
}

void xfs_count_device_lost(uint64_t n)
{
    xfs_lose(XFT_LOSS_DEVICE, n);
}
