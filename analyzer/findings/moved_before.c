/*
 * Bytes that had moved before, or that all have one value, by the hashes of what was moved
 * (sums/contents.h). Lost: the time of these transfers, where it is known. What kernels were given
 * meanwhile decides how certain it is that the transfers can be left out. Four kinds:
 * - repeated-transfer: to the device, the bytes that the last copy had brought to the same place;
 *   to the host, the bytes that had been fetched from the same place before.
 * - round-trip: bytes that the copy before had moved the other way.
 * - duplicate-transfer: to the device, bytes that had been sent to it before, to another place or
 *   to one that was written since. Where that was seen once or twice it is a question.
 * - constant-content: to the device, bytes that all have one value (or words of two or four bytes
 *   that programs often fill memory with), and are not there already.
 */
#include <math.h>

#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/changes.h"

/* The remedy of each kind, and the sentence on its loss: kept, or unseen where kernels may have
 * changed the memory. */
static const struct terms {
    enum xfa_remedy_kind remedy;
    enum xfa_reckoning kept, unseen;
} all_terms[XFA_SAMES] = {
    [XFA_SAME_REPEATED] = {XFA_REMEDY_KEEP, XFA_RECKONED_REPEATED, XFA_RECKONED_REPEATED_UNSEEN},
    [XFA_SAME_RETURNED] = {XFA_REMEDY_KEEP_HOME, XFA_RECKONED_RETURNED,
                           XFA_RECKONED_RETURNED_UNSEEN},
    [XFA_SAME_DUPLICATE] = {XFA_REMEDY_COPY_THERE, XFA_RECKONED_DUPLICATE,
                            XFA_RECKONED_DUPLICATE_UNSEEN},
    [XFA_SAME_CONSTANT] = {XFA_REMEDY_FILL_THERE, XFA_RECKONED_CONSTANT, XFA_RECKONED_CONSTANT},
};

/* What the saving assumes; NULL: nothing, as the hash alone proves a constant. */
static const char *assumed(const struct xfa_same_sum *found, enum xfa_same same, bool to_host)
{
    if (same == XFA_SAME_CONSTANT)
        return NULL;
    if (found->by_evidence[XFA_PERHAPS])
        return "kernels only read what they were given of this memory, or there is room to keep a "
               "copy on the device";
    if (found->by_evidence[XFA_UNSEEN] && found->by_evidence[XFA_UNSEEN] <= found->straight)
        return "the host neither reads nor writes the bytes on their way";
    if (found->by_evidence[XFA_UNSEEN] && found->by_evidence[XFA_UNSEEN] <= found->presumed)
        return "copies that were not hashed carried the bytes that the ones before and after them "
               "did, from and to the same memory";
    if (found->by_evidence[XFA_UNSEEN])
        return "no kernel changes this memory in between: what kernels were given was not recorded";
    return same == XFA_SAME_RETURNED && !to_host
               ? "the host does not look at what it fetches only to send it back"
               : "kernels reach this memory only by pointers that they were given";
}

/* Bytes that were equal so seldom may be so in this run alone, as an initial state is that is sent
 * to two places, or the one image of many that is black: the program could not count on it. A site
 * all of whose copies have one value makes it so. of: the transfers of its rows. */
#define LEAST_SEEN 3

static bool by_chance(enum xfa_same same, uint64_t transfers, uint64_t of)
{
    return transfers < LEAST_SEEN &&
           (same == XFA_SAME_DUPLICATE || (same == XFA_SAME_CONSTANT && transfers < of));
}

/* What decides, where only that is not known; the sentence of a direction. */
static const char *question(const struct xfa_same_sum *found, enum xfa_same same, bool to_host,
                            uint64_t transfers)
{
    bool chance = by_chance(same, found->moved.sum.transfers, transfers);
    if (same == XFA_SAME_CONSTANT)
        return chance ? "what {site} sends has one value in each run, and not by chance in this one"
                      : NULL;
    if (found->by_evidence[XFA_PERHAPS] == 0)
        return chance
                   ? "what {site} sends is the same as an earlier copy's in each run, and not by "
                     "chance in this one (an initial state)"
                   : NULL;
    if (same == XFA_SAME_REPEATED)
        return to_host ? "nothing on the device changes what {site} fetches before it does so again"
                       : "no kernel changes what {site} has copied, before it copies it again";
    if (same == XFA_SAME_RETURNED)
        return to_host ? "kernels leave unchanged what {site} fetches back as it was sent"
                       : "kernels leave unchanged what {site} sends back as it was fetched, or the "
                         "device has room to keep it";
    return "kernels leave unchanged the first copy of what {site} sends again, or the device has "
           "room to keep it";
}

/* What the row would gain without its transfers of this kind; false: it has none. */
static bool look(const struct xfa_analysis *analysis, size_t number, enum xfa_same same,
                 struct xfa_gain *gain)
{
    const struct xfa_same_row *sums = xfa_contents_row(&analysis->contents, (uint32_t)number);
    const struct xfa_same_sum *found = sums ? &sums->same[same] : NULL;
    if (!found || found->moved.sum.transfers == 0)
        return false;
    const struct xfa_row *row = xfa_analysis_row(analysis, number);
    const struct terms *terms = &all_terms[same];
    gain->remedy = xfa_remedy_for(row, terms->remedy);
    gain->reckoning = found->by_evidence[XFA_SURE] + found->presumed + found->straight ==
                              found->moved.sum.transfers
                          ? terms->kept
                          : terms->unseen;
    xfa_gain_of_all(gain, &found->moved);
    gain->probably = found->sampled > 0;
    gain->assumed = assumed(found, same, row->key.direction == XFT_DIR_D2H);
    gain->question =
        question(found, same, row->key.direction == XFT_DIR_D2H, analysis->rows[number].transfers);
    if (found->earlier)
        gain->earlier = xfa_analysis_row(analysis, found->earlier - 1)->site;
    return true;
}

/* Leaves them out. NULL: the time of what replaces them was not measured. */
static struct xfw_change *change(const struct xfa_analysis *analysis,
                                 const struct xfa_finding *finding, enum xfa_same same)
{
    const struct xfa_contents *contents = &analysis->contents;
    bool to_device = !finding->remedy.to_host;
    uint64_t all = 0;
    for (size_t i = 0; i < finding->site_count && to_device && same != XFA_SAME_REPEATED; i++)
        if (!xfw_leave_out_knows(analysis, finding->sites[i].row->key.dst_gpu))
            return NULL;
    for (size_t i = 0; i < finding->site_count; i++)
        all += analysis->rows[finding->sites[i].row->number].transfers;
    const struct xfw_leave_out what = {
        .marks = contents->marks[same],
        .classes = xfa_finding_classes(analysis, finding),
        .also = same == XFA_SAME_RETURNED && to_device ? contents->fetched : NULL,
        .copied = &contents->copied,
        .set = same == XFA_SAME_CONSTANT,
        .made = to_device && same != XFA_SAME_RETURNED,
        .at_best = by_chance(same, finding->transfers, all),
    };
    return xfw_change_leave_out(analysis, &what);
}

/* Uploads whose source has the bytes that the last one brought to the same place; nothing else. */
static struct xfw_change *by_apply(const struct xfa_analysis *analysis,
                                   const struct xfa_finding *finding, enum xfa_same same)
{
    if (same != XFA_SAME_REPEATED || finding->remedy.to_host)
        return NULL;
    const struct xfw_leave_out what = {
        .marks = analysis->contents.marks[same],
        .classes = xfa_finding_classes(analysis, finding),
        .by_apply = true,
    };
    return xfw_change_leave_out(analysis, &what);
}

/* ---- the kinds ------------------------------------------------------------------------------- */

#define KIND(name, same)                                                                           \
    static bool look_##name(const struct xfa_analysis *analysis, const void *sums, size_t row,     \
                            struct xfa_gain *gain)                                                 \
    {                                                                                              \
        (void)sums;                                                                                \
        return look(analysis, row, same, gain);                                                    \
    }                                                                                              \
    static struct xfw_change *change_##name(const struct xfa_analysis *analysis, const void *sums, \
                                            const struct xfa_finding *finding)                     \
    {                                                                                              \
        (void)sums;                                                                                \
        return change(analysis, finding, same);                                                    \
    }                                                                                              \
    static struct xfw_change *by_apply_##name(const struct xfa_analysis *analysis,                 \
                                              const void *sums, const struct xfa_finding *finding) \
    {                                                                                              \
        (void)sums;                                                                                \
        return by_apply(analysis, finding, same);                                                  \
    }                                                                                              \
    const struct xfa_finding_kind xfa_kind_##name = {                                              \
        .look = look_##name, .change = change_##name, .by_apply = by_apply_##name};

KIND(repeated, XFA_SAME_REPEATED)
KIND(returned, XFA_SAME_RETURNED)
KIND(duplicate, XFA_SAME_DUPLICATE)
KIND(constant, XFA_SAME_CONSTANT)
