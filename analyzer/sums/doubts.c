#include "analyzer/sums/doubts.h"

#include <math.h>

#include "analyzer/base/alloc.h"

/* Calls of one row that may be off by alike. */
struct class_of_calls {
    struct class_key {
        uint32_t row;
        uint32_t power; /* of two, ns: off by less than that */
    } key;
    uint64_t timed, priced, bytes, priced_bytes;
    double ns, off_ns, priced_ns, achievable_ns;
    uint8_t unpriced;
};

void xfa_doubts_init(struct xfa_doubts *doubts)
{
    xfa_table_init(&doubts->classes, sizeof(struct class_key), sizeof(struct class_of_calls));
}

void xfa_doubts_free(struct xfa_doubts *doubts)
{
    xfa_table_free(&doubts->classes);
}

static uint32_t power_of(double off_ns)
{
    return off_ns < 1 ? 0 : (uint32_t)ilogb(fmin(off_ns, 0x1p62)) + 1;
}

void xfa_doubts_add(struct xfa_doubts *doubts, const struct xfa_doubted_call *call)
{
    const struct class_key key = {call->row, power_of(call->order_ns)};
    if (isnan(call->order_ns) ||
        (doubts->classes.count >= XFA_MAX_DOUBTS && !xfa_table_get(&doubts->classes, &key)))
        return;
    struct class_of_calls *of = xfa_table_put(&doubts->classes, &key);
    of->timed++;
    of->bytes = xfa_add(of->bytes, call->bytes);
    of->ns += call->ns;
    of->off_ns += call->off_ns;
    if (call->price.why != XFA_PRICED)
        of->unpriced = (uint8_t)call->price.why;
    if (call->price.time.basis == XFP_UNKNOWN)
        return;
    of->priced++;
    of->priced_bytes = xfa_add(of->priced_bytes, call->bytes);
    of->priced_ns += call->ns;
    of->achievable_ns += call->price.time.ns;
}

static int by_row(const void *a, const void *b, void *self)
{
    const struct class_of_calls *x = a, *y = b;
    (void)self;
    if (x->key.row != y->key.row)
        return x->key.row < y->key.row ? -1 : 1;
    return x->key.power < y->key.power ? -1 : x->key.power > y->key.power;
}

/* How many of a row's classes count. */
static size_t counted(const struct class_of_calls *all, size_t count)
{
    double ns = 0, off_ns = 0;
    size_t counts = 0;
    for (size_t i = 0; i < count; i++) {
        ns += all[i].ns;
        off_ns += all[i].off_ns;
        counts = off_ns <= XFA_DOUBT_PART * ns ? i + 1 : counts;
    }
    return counts;
}

static void add_to_row(struct xfa_message_row *row, const struct class_of_calls *of)
{
    row->timed += of->timed;
    row->timed_bytes = xfa_add(row->timed_bytes, of->bytes);
    row->timed_ns += of->ns;
    row->unpriced = of->unpriced ? of->unpriced : row->unpriced;
    row->priced += of->priced;
    row->priced_bytes = xfa_add(row->priced_bytes, of->priced_bytes);
    row->priced_ns += of->priced_ns;
    row->achievable_ns += of->achievable_ns;
}

void xfa_doubts_choose(struct xfa_doubts *doubts, const struct xfa_messages *messages)
{
    const size_t count = doubts->classes.count;
    xfa_table_sort(&doubts->classes, by_row, NULL);
    const struct class_of_calls *all = count ? xfa_table_at(&doubts->classes, 0) : NULL;
    for (size_t at = 0, next; at < count; at = next) {
        for (next = at + 1; next < count && all[next].key.row == all[at].key.row;)
            next++;
        struct xfa_message_row *row = xfa_message_row(messages, all[at].key.row);
        for (size_t i = 0, counts = counted(&all[at], next - at); i < counts; i++)
            add_to_row(row, &all[at + i]);
    }
}
