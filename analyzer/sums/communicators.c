#include "analyzer/sums/communicators.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"

/* ---- lists of ranks -------------------------------------------------------------------------- */

static bool take_number(const char **at, const char *end, uint32_t *number)
{
    uint64_t value = 0;
    const char *from = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        value = 10 * value + (uint64_t)(**at - '0');
        if (value >= XFT_RANK_ANY)
            return false;
    }
    *number = (uint32_t)value;
    return *at > from;
}

/* "7" or "0-3" */
static bool take_range(const char **at, const char *end, uint32_t *first, uint32_t *last)
{
    if (!take_number(at, end, first))
        return false;
    *last = *first;
    if (*at == end || **at != '-')
        return true;
    (*at)++;
    return take_number(at, end, last) && *last >= *first;
}

uint32_t *xfa_ranks_of_text(const char *text, size_t bytes, size_t most, size_t *count)
{
    const char *at = text, *end = text + bytes;
    uint32_t *ranks = NULL, first, last;
    size_t capacity = 0;
    *count = 0;
    while (at < end) {
        if (!take_range(&at, end, &first, &last) || (at < end && *at != ',')) {
            free(ranks);
            return NULL;
        }
        at += at < end;
        for (uint32_t rank = first; rank <= last && *count < most; rank++) {
            ranks = xfa_room(ranks, &capacity, *count + 1, sizeof *ranks);
            ranks[(*count)++] = rank;
        }
    }
    return ranks;
}

/* ---- communicators --------------------------------------------------------------------------- */

void xfa_communicators_begin(struct xfa_communicators *communicators)
{
    xfa_table_init(&communicators->known, sizeof(uint32_t), sizeof(struct xfa_known_communicator));
}

void xfa_communicators_end(struct xfa_communicators *communicators)
{
    for (size_t i = 0; i < communicators->known.count; i++)
        free(((struct xfa_known_communicator *)xfa_table_at(&communicators->known, i))->ranks);
    xfa_table_free(&communicators->known);
}

static void take_ranks(struct xfa_known_communicator *known, const struct xfa_event *event)
{
    size_t count = 0;
    const struct xfa_text *text =
        event->process->trace ? xfa_trace_text(event->process->trace, event->communicator.ranks)
                              : NULL;
    free(known->ranks);
    known->ranks = NULL;
    known->rank_count = 0;
    if (!text)
        return;
    known->ranks = xfa_ranks_of_text(text->text, text->bytes, XFA_MAX_MEMBERS, &count);
    known->rank_count = (uint32_t)count;
}

void xfa_communicators_add(struct xfa_communicators *communicators, const struct xfa_event *event)
{
    const struct xfa_communicator *event_says = &event->communicator;
    struct xfa_table *known = &communicators->known;
    if (!xfa_table_get(known, &event_says->number) && known->count >= XFA_MAX_COMMUNICATORS)
        return;
    struct xfa_known_communicator *one = xfa_table_put(known, &event_says->number);
    one->shared = event_says->id != 0;
    one->id = event_says->id ? event_says->id
                             : ~((uint64_t)event->process->number << 32 | event_says->number);
    one->size = event_says->size <= UINT32_MAX ? (uint32_t)event_says->size : 0;
    one->rank = event_says->rank < one->size ? (uint32_t)event_says->rank : XFT_RANK_ANY;
    take_ranks(one, event);
}

struct xfa_known_communicator *xfa_communicators_of(const struct xfa_communicators *communicators,
                                                    uint32_t number)
{
    return number ? xfa_table_get(&communicators->known, &number) : NULL;
}

uint32_t xfa_communicator_rank(const struct xfa_known_communicator *communicator, uint32_t rank)
{
    if (rank >= XFT_RANK_ANY)
        return rank;
    return communicator && rank < communicator->rank_count ? communicator->ranks[rank]
                                                           : XFT_RANK_ANY;
}

/* ---- channels -------------------------------------------------------------------------------- */

uint64_t xfa_communicator_channel(const struct xfa_known_communicator *communicator, uint32_t from,
                                  uint32_t to, uint32_t tag)
{
    const struct {
        uint64_t id;
        uint32_t from, to, tag, reserved;
    } key = {communicator->id, from, to, tag, 0};
    return XXH3_64bits(&key, sizeof key);
}

uint64_t xfa_communicator_mixed(uint64_t channel, uint32_t n)
{
    uint64_t of = channel ^ n * UINT64_C(0x9e3779b97f4a7c15);
    return XXH3_64bits(&of, sizeof of);
}
