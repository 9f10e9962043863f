/* Between the files of this directory. */
#ifndef XFS_NVTX_PARTS_H
#define XFS_NVTX_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/nvtx/nvtx_abi.h"
#include "preload/record/hot.h"
#include "xferscope/trace.h"

/* ---- texts.c: names of ranges and domains --------------------------------------------------- */

/* A text the program registered: a domain's name, a string. Lives as long as the process. */
struct xfs_text {
    atomic_ullong known; /* its id in NAMES (low half), and the recording for which it holds */
    uint32_t bytes;
    char text[];
};

/* Keeps a copy. NULL when there is no room: at most XFS_TEXTS_MOST bytes are kept. */
#define XFS_TEXTS_MOST (16u << 20)
struct xfs_text *xfs_text_keep(const char *text, size_t bytes);

/* The name of a range: `text` or `kept` is set, or neither if it has none. */
struct xfs_message {
    const char *text;
    size_t bytes;
    struct xfs_text *kept;
    char converted[256]; /* wide text as UTF-8, cut to this length */
};
void xfs_message_plain(struct xfs_message *message, const char *text);
void xfs_message_wide(struct xfs_message *message, const void *text);
void xfs_message_of(struct xfs_message *message, const struct xnv_attributes *attributes);

/* Their ids in NAMES of the recording that runs; 0 without a name. */
uint32_t xfs_text_id(struct xfs_text *text);
uint32_t xfs_message_id(const struct xfs_message *message);

/* Ids of an earlier recording (the parent's) become invalid. */
void xfs_texts_new_recording(void);

/* ---- early.c: ranges open before recording begins -------------------------------------------- */

#define XFS_EARLY_MOST                                                                             \
    64 /* deeper ones are not kept, but counted, so that their ends are recognised */
#define XFS_EARLY_TEXT 128 /* bytes of a name */

/* id 0: nested in the thread. */
void xfs_early_begin(struct xfs_text *domain, const struct xfs_message *message, uint64_t id);
void xfs_early_end(struct xfs_text *domain, uint64_t id);

/* Number of threads with open ranges that began before recording and were not kept. Such a thread
 * calls xfs_early_begun() for each nested range that begins, and xfs_early_ended() for each that
 * ends: true when it is the end of a range that was not kept, which is not written. */
extern atomic_int xfs_early_beyond;
void xfs_early_begun(const struct xfs_text *domain);
bool xfs_early_ended(const struct xfs_text *domain);

/* ---- phase.c: the ranges that recording is limited to (XFERSCOPE_PHASE) ---------------------- */

/* Once, before any range. NAME or DOMAIN:NAME; "": none. */
void xfs_phase_set(const char *phase);

/* For every range, also before recording begins; id as above. */
void xfs_phase_begin(const struct xfs_text *domain, const struct xfs_message *message, uint64_t id);
void xfs_phase_end(const struct xfs_text *domain, uint64_t id);

/* In a forked child: how many its one thread has open. */
int xfs_phase_after_fork(void);

uint64_t xfs_range_first_ns(void); /* when recording began in this process; 0 = it has not */
void xfs_ranges_begin_recording(void);

/* Writes the event of a range that begins or ends. The lane that has it; NULL: none, which was
 * counted. */
static inline struct xfs_lane *xfs_range_event(enum xft_event_kind kind, uint32_t domain,
                                               uint32_t name, uint64_t id, uint64_t at_ns)
{
    struct xft_event event = {
        .start_ns = at_ns,
        .end_ns = at_ns,
        .dst = id,
        .src = domain,
        .aux = name,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
        .device = XFT_PLACE_UNKNOWN,
        .kind = (uint8_t)kind,
    };
    return xfs_event_write_now(&event);
}

/* ---- ranges.c -------------------------------------------------------------------------------- */

/* Functions by their place in NVTX's tables; NULL where there is none of ours. */
enum { XFS_CORE_PLACES = 12, XFS_CORE2_PLACES = 14 };
extern const xnv_function xfs_nvtx_core[XFS_CORE_PLACES], xfs_nvtx_core2[XFS_CORE2_PLACES];

#endif
