/*
 * repeated-transfer, round-trip, duplicate-transfer: bytes that had moved before, by the hashes of
 * what was moved (content.h). Lost: the time these transfers took, where it is known. That they can
 * be left out is likely, not certain: what kernels did to the device's memory meanwhile is not
 * seen.
 */
#include "analyzer/findings/finding.h"

#include <math.h>

#include "analyzer/base/alloc.h"

/* As in finding_pageable.c: for the threshold only, where no time is known. */
#define STAND_IN_NS_PER_BYTE 1.0

#define CAVEAT                                                                                     \
    "kernels may have changed the device's memory in between, which is not seen; the first of "    \
    "them is not counted"
#define PROBABLY "probably (samples were compared, not all bytes): "

static bool look(const struct xfa_row *row, struct xfa_gain *gain, enum xfa_same same,
                 const char *const notes[2])
{
    const struct xfa_same_sum *found = &row->figures.same[same];
    if (found->sum.transfers == 0)
        return false;
    gain->transfers = found->sum.transfers;
    gain->bytes = found->sum.bytes;
    gain->took_ns = found->timed ? found->sum.ns : NAN;
    gain->lost_ns = gain->took_ns;
    gain->weight_ns = (double)found->sum.bytes * STAND_IN_NS_PER_BYTE;
    gain->achieved_basis = found->timed ? xfa_achieved_basis(&row->figures) : NULL;
    gain->earlier = row->earlier[same];
    gain->note = notes[found->sampled > 0];
    return true;
}

/* ---- repeated -------------------------------------------------------------------------------- */

static bool look_repeated(const struct xfa_row *row, struct xfa_gain *gain)
{
    static const char *const notes[] = {
        "time of copies of the same bytes as the copy before to (or from) the same place; " CAVEAT,
        PROBABLY
        "time of copies of the same bytes as the copy before to (or from) the same place; " CAVEAT,
    };
    if (!look(row, gain, XFA_SAME_REPEATED, notes))
        return false;
    gain->fix = xfa_text(
        row->key.direction == XFT_DIR_D2H
            ? "fetch the result once and use the host's copy until it has changed on the device"
        : row->site->pytorch
            ? "move the tensor to the device once, outside of the loop, and use it there; when it "
              "is changed there, keep a clone() on the device to start from"
            : "copy it once, and leave it on the device; when kernels change it there, keep a "
              "second copy on the device and restore it from that");
    return true;
}

const struct xfa_finding_kind xfa_finding_repeated = {
    .name = "repeated-transfer",
    .title = "the same bytes copied again to or from the same place",
    .look = look_repeated,
};

/* ---- returned -------------------------------------------------------------------------------- */

static bool look_returned(const struct xfa_row *row, struct xfa_gain *gain)
{
    static const char *const notes[] = {
        "time of copies of bytes that the copy before had moved the other way; " CAVEAT,
        PROBABLY "time of copies of bytes that the copy before had moved the other way; " CAVEAT,
    };
    if (!look(row, gain, XFA_SAME_RETURNED, notes))
        return false;
    gain->fix = xfa_text(
        row->key.direction == XFT_DIR_D2H
            ? "what comes back is what was sent: keep the host's copy and do not fetch it"
            : "what is sent had come from a device unchanged: keep it there (or copy it from "
              "device to device) and do not take it through the host");
    return true;
}

const struct xfa_finding_kind xfa_finding_returned = {
    .name = "round-trip",
    .title = "bytes that went there and back unchanged",
    .look = look_returned,
};

/* ---- duplicate ------------------------------------------------------------------------------- */

static bool look_duplicate(const struct xfa_row *row, struct xfa_gain *gain)
{
    static const char *const notes[] = {
        "time of copies of bytes that had been sent to this device before, to another place or "
        "one written since; " CAVEAT,
        PROBABLY "time of copies of bytes that had been sent to this device before, to another "
                 "place or one written since; " CAVEAT,
    };
    if (!look(row, gain, XFA_SAME_DUPLICATE, notes))
        return false;
    gain->fix = xfa_text("keep the first copy on the device and use it again, or copy it there "
                         "from device to device; a buffer of one value is better filled there "
                         "(cudaMemsetAsync())");
    return true;
}

const struct xfa_finding_kind xfa_finding_duplicate = {
    .name = "duplicate-transfer",
    .title = "the same bytes sent to a device again, to another place",
    .look = look_duplicate,
};
