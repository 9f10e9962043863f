/* Messages of the members of a team, merged; and their times, once all are there. */
#include "analyzer/sums/messages.h"

#include <stddef.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

/* ---- limits ---------------------------------------------------------------------------------- */

static double part(size_t count, size_t most)
{
    return (double)count / (double)most;
}

double xfa_messages_filled(const void *self)
{
    const struct xfa_messages *messages = self;
    const struct xfa_kept_calls *nccl = &messages->nccl.kept;
    double rows =
        part(messages->rows.count, messages->most ? messages->most : XFA_MAX_MESSAGE_ROWS);
    double members = part(messages->members.count, XFA_MAX_MEMBERS_KNOWN);
    double calls = nccl->mask || messages->nccl.beyond ? 1 : part(nccl->count, nccl->most);
    return fmax(rows, fmax(members, calls));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_good(const void *of, const void *item)
{
    const struct xfa_run *run = of;
    const struct xfa_message_row *row = item;
    return row->key.site < xfa_run_site_count(run) && row->key.function < run->functions.count &&
           row->met.process < run->process_count && row->last < run->process_count;
}

static void add(void *item, const void *more)
{
    struct xfa_message_row *into = item;
    const struct xfa_message_row *from = more;
    if (into->calls == 0 || from->last > into->last) {
        into->last = from->last;
        into->size = from->size;
    }
    into->calls += from->calls;
    into->failed += from->failed;
    into->sent = xfa_add(into->sent, from->sent);
    into->arrived = xfa_add(into->arrived, from->arrived);
    into->kernel_bytes = xfa_add(into->kernel_bytes, from->kernel_bytes);
    xfa_exact_merge(&into->time, &from->time);
    xfa_exact_merge(&into->wait_time, &from->wait_time);
    xfa_exact_merge(&into->kernel_time, &from->kernel_time);
}

static const struct xfa_met_table of_rows = {offsetof(struct xfa_message_row, met), is_good, add};

/* ---- calls that are kept --------------------------------------------------------------------- */

static struct xfa_kept_message *kept_at(const struct xfa_messages *messages, size_t i)
{
    return (struct xfa_kept_message *)messages->kept.all + i;
}

/* The rows of calls from there on, by where these rows lie now. */
static void place_rows(struct xfa_messages *messages, size_t from, const uint32_t *rows,
                       size_t count, bool *bad)
{
    for (size_t i = from; i < messages->kept.count && !*bad; i++) {
        struct xfa_kept_message *one = kept_at(messages, i);
        *bad = one->row >= count;
        one->row = *bad ? 0 : rows[one->row];
    }
}

/* The same of NCCL's, of which some are in no row. */
static void place_nccl_rows(struct xfa_messages *messages, size_t from, const uint32_t *rows,
                            size_t count, bool *bad)
{
    struct xfa_nccl_call *calls = messages->nccl.kept.all;
    for (size_t i = from; i < messages->nccl.kept.count && !*bad; i++) {
        bool one = calls[i].row != XFA_NO_MESSAGE_ROW;
        *bad = calls[i].own_row >= count || (one && calls[i].row >= count);
        calls[i].own_row = *bad ? 0 : rows[calls[i].own_row];
        if (one)
            calls[i].row = *bad ? 0 : rows[calls[i].row];
    }
}

/* ---- which process has which rank ------------------------------------------------------------ */

static void take_members(struct xfa_messages *messages, struct xfa_unpacking *from)
{
    size_t count = xfa_unpack_count(from, sizeof(struct xfa_message_member));
    for (size_t i = 0; i < count; i++) {
        struct xfa_message_member more;
        xfa_unpack_bytes(from, &more, sizeof more);
        from->bad = from->bad || more.process >= messages->run->process_count;
        if (from->bad)
            return;
        struct xfa_message_member *member = xfa_table_put(&messages->members, &more.key);
        member->process = more.process > member->process ? more.process : member->process;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void xfa_messages_give(const struct xfa_messages *messages, struct xfa_parcel *parcel)
{
    xfa_met_give(&messages->rows, parcel);
    xfa_calls_give(&messages->kept, parcel);
    xfa_calls_give(&messages->nccl.kept, parcel);
    xfa_list_give(messages->members.items, messages->members.count,
                  sizeof(struct xfa_message_member), parcel);
    xfa_parcel_number(parcel, messages->calls);
    xfa_parcel_number(parcel, messages->all_sent);
    xfa_parcel_number(parcel, messages->not_kept);
    xfa_parcel_put(parcel, &messages->time, sizeof messages->time);
}

void xfa_messages_empty(struct xfa_messages *messages)
{
    struct xfa_messages empty = {.run = messages->run,
                                 .most = messages->most,
                                 .most_folded = messages->most_folded,
                                 .nccl.kept.most = messages->nccl.kept.most};
    xfa_messages_free(messages);
    *messages = empty;
    xfa_messages_observer(messages);
}

void xfa_messages_take(struct xfa_messages *messages, struct xfa_unpacking *from)
{
    const struct xfa_run *run = messages->run;
    size_t rows = 0, before = messages->kept.count, nccl = messages->nccl.kept.count;
    uint32_t *places = xfa_met_take_places(&messages->rows, &of_rows, run, from, &rows);
    xfa_calls_take(&messages->kept, from, run->process_count);
    place_rows(messages, before, places, rows, &from->bad);
    xfa_calls_take(&messages->nccl.kept, from, run->process_count);
    place_nccl_rows(messages, nccl, places, rows, &from->bad);
    free(places);
    take_members(messages, from);
    messages->calls += xfa_unpack_number(from);
    messages->all_sent = xfa_add(messages->all_sent, xfa_unpack_number(from));
    messages->not_kept += xfa_unpack_number(from);
    struct xfa_exact time;
    xfa_unpack_bytes(from, &time, sizeof time);
    xfa_exact_merge(&messages->time, &time);
}

void xfa_messages_taken(struct xfa_messages *messages)
{
    uint32_t *places = xfa_met_sort_places(&messages->rows, &of_rows);
    bool bad = false;
    place_rows(messages, 0, places, messages->rows.count, &bad);
    place_nccl_rows(messages, 0, places, messages->rows.count, &bad);
    free(places);
    xfa_calls_taken(&messages->kept);
    xfa_calls_taken(&messages->nccl.kept);
}

void xfa_messages_finish(struct xfa_messages *messages)
{
    messages->ns = xfa_exact_value(&messages->time);
    for (size_t i = 0; i < messages->rows.count; i++) {
        struct xfa_message_row *row = xfa_message_row(messages, i);
        row->ns = xfa_exact_value(&row->time);
        row->wait_ns = xfa_exact_value(&row->wait_time);
        row->kernel_ns = xfa_exact_value(&row->kernel_time);
    }
}
