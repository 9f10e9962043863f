/*
 * What was found of a transfer is counted in its row, and marked for the replay.
 */
#include "analyzer/base/alloc.h"
#include "analyzer/sums/contents_judge.h"

static struct xfa_same_row *row_of(struct xfa_contents *contents, uint32_t row)
{
    contents->rows = xfa_grown(contents->rows, &contents->row_capacity, &contents->row_count, row,
                               sizeof *contents->rows);
    return &contents->rows[row];
}

static void count(struct xfa_contents *contents, const struct xfa_found *found,
                  const struct xfa_content *item, bool sampled)
{
    struct xfa_contents_process *now = contents->now;
    now->found = true;
    struct xfa_same_sum *sum = &row_of(contents, item->row)->same[found->same];
    xfa_timed_add(&sum->moved, item->bytes, item->achieved_ns, item->by_device);
    sum->sampled += sampled;
    sum->straight += found->straight;
    sum->presumed += found->evidence == XFA_UNSEEN && now->given.recorded && !found->straight;
    sum->by_evidence[found->evidence]++;
    if (sum->earlier == 0 &&
        found->earlier != UINT32_MAX) /* the first time leads to where it began */
        sum->earlier = now->moved[found->earlier].row + 1;
}

static void mark(struct xfa_contents *contents, const struct xfa_found *found,
                 const struct xfa_content *item)
{
    const struct xfa_contents_process *now = contents->now;
    xfw_mark(&contents->marks[found->same][found->evidence], now->process, item->transfer);
    if (found->copied)
        xfw_mark(&contents->copied, now->process, item->transfer);
    if (found->same != XFA_SAME_RETURNED || item->direction != XFT_DIR_H2D)
        return;
    /* Sent back to where it is: it was fetched for the host, as it seems. */
    enum xfa_evidence evidence = found->copied ? found->evidence : XFA_PERHAPS;
    if (evidence == XFA_SURE) /* whether the host reads it is not known */
        evidence = XFA_UNSEEN;
    xfw_mark(&contents->fetched[evidence], now->process, now->moved[found->earlier].transfer);
}

void xfa_contents_found(struct xfa_contents *contents, const struct xfa_found *found,
                        const struct xfa_content *item, bool sampled)
{
    count(contents, found, item, sampled);
    mark(contents, found, item);
}
