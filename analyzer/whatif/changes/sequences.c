#include "analyzer/whatif/changes/sequences.h"

#include <stddef.h>
#include <string.h>

#define BITS_BEHIND (64 / XFW_SEQUENCE_BEHIND)

/* ---- what comes behind what ------------------------------------------------------------------ */

static size_t slot_of(uint64_t number)
{
    return (number * 0x9e3779b97f4a7c15u >> 40) % XFW_SEQUENCE_SLOTS;
}

/* It came behind that the last time. */
static bool repeats(const struct xfw_sequence_slot *slots, uint64_t behind, uint64_t what)
{
    const struct xfw_sequence_slot *slot = &slots[slot_of(behind)];
    return slot->times > 0 && slot->behind == behind && slot->what == what;
}

static void learn(struct xfw_sequence_slot *slots, uint64_t behind, uint64_t what)
{
    struct xfw_sequence_slot *slot = &slots[slot_of(behind)];
    if (!repeats(slots, behind, what))
        *slot = (struct xfw_sequence_slot){.behind = behind, .what = what};
    slot->times++;
}

/* The last XFW_SEQUENCE_BEHIND calls: each moves those before it out by some bits. */
static uint64_t shifted(uint64_t behind, uint64_t what)
{
    return (behind << BITS_BEHIND) ^ xfw_sequence_mix(1, what) >> (64 - BITS_BEHIND) ^ 1;
}

static uint64_t given_of(const struct xfw_submission *call)
{
    return xfw_sequence_mix(call->what, call->with);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static bool has_stream(const struct xfw_submitting *stretch, uint64_t stream)
{
    for (unsigned i = 0; i < stretch->stream_count; i++)
        if (stretch->streams[i] == stream)
            return true;
    return false;
}

/* A graph that is long enough ends where it would begin anew. */
static bool is_round(const struct xfw_submitting *stretch, uint64_t begins)
{
    return stretch->nodes >= XFW_GRAPH_MOST_NODES ||
           (stretch->nodes >= XFW_GRAPH_NODES && stretch->begins == begins);
}

static bool is_full(const struct xfw_submitting *stretch, uint64_t stream)
{
    return !has_stream(stretch, stream) && stretch->stream_count == XFW_SEQUENCE_STREAMS;
}

static struct xfw_graph_size *size_of(struct xfw_sequences *sequences, uint64_t begins)
{
    struct xfw_graph_size *size = &sequences->sizes[slot_of(begins)];
    if (size->begins != begins)
        *size = (struct xfw_graph_size){.begins = begins};
    return size;
}

static void end_graph(struct xfw_sequences *sequences, struct xfw_submitting *stretch)
{
    if (stretch->nodes > 0)
        size_of(sequences, stretch->begins)->last = stretch->kernels;
    stretch->nodes = stretch->kernels = 0;
}

static void begin_graph(struct xfw_sequences *sequences, struct xfw_submitting *stretch,
                        uint64_t begins)
{
    stretch->begins = begins;
    stretch->stream_count = 0;
    stretch->few = size_of(sequences, begins)->last < XFW_GRAPH_LEAST;
}

/* Has no graph that begins so had as many nodes? */
static bool grows(struct xfw_sequences *sequences, const struct xfw_submitting *stretch)
{
    struct xfw_graph_size *size = size_of(sequences, stretch->begins);
    if (stretch->few || stretch->nodes <= size->most)
        return false;
    size->most = stretch->nodes;
    return true;
}

static struct xfw_place_in_graph place(struct xfw_sequences *sequences,
                                       struct xfw_submitting *stretch,
                                       const struct xfw_submission *call)
{
    struct xfw_place_in_graph place = {0};
    uint64_t begins = xfw_sequence_mix(stretch->behind, call->what);
    if (is_round(stretch, begins) || is_full(stretch, call->stream))
        end_graph(sequences, stretch);
    bool more = stretch->few && stretch->kernels == XFW_GRAPH_LEAST;
    if (more)
        end_graph(sequences, stretch);
    if (stretch->nodes == 0)
        begin_graph(sequences, stretch, begins);
    stretch->few = stretch->few && !more;
    stretch->nodes++;
    stretch->kernels += call->launches;
    place.is = !stretch->few;
    place.begins = !has_stream(stretch, call->stream);
    if (place.begins)
        stretch->streams[stretch->stream_count++] = call->stream;
    place.grown = grows(sequences, stretch);
    place.changed = !repeats(sequences->given, stretch->behind_given, given_of(call));
    return place;
}

struct xfw_place_in_graph xfw_sequences_next(struct xfw_sequences *sequences, uint32_t thread,
                                             const struct xfw_submission *call)
{
    struct xfw_place_in_graph at = {0};
    if (thread >= XFW_SEQUENCE_THREADS)
        return at;
    struct xfw_submitting *stretch = &sequences->threads[thread];
    if (stretch->behind && stretch->gpu != call->gpu)
        xfw_sequences_break(sequences, thread);
    stretch->gpu = call->gpu;
    if (repeats(sequences->calls, stretch->behind, call->what))
        at = place(sequences, stretch, call);
    else
        end_graph(sequences, stretch);
    learn(sequences->calls, stretch->behind, call->what);
    learn(sequences->given, stretch->behind_given, given_of(call));
    stretch->behind = shifted(stretch->behind, call->what);
    stretch->behind_given = shifted(stretch->behind_given, given_of(call));
    return at;
}

bool xfw_sequences_goes_on(const struct xfw_sequences *sequences, uint32_t thread,
                           const struct xfw_submission *call)
{
    if (thread >= XFW_SEQUENCE_THREADS)
        return false;
    const struct xfw_submitting *stretch = &sequences->threads[thread];
    return stretch->nodes > 0 && !stretch->few && stretch->gpu == call->gpu &&
           has_stream(stretch, call->stream) &&
           repeats(sequences->calls, stretch->behind, call->what) &&
           !is_round(stretch, xfw_sequence_mix(stretch->behind, call->what));
}

void xfw_sequences_break(struct xfw_sequences *sequences, uint32_t thread)
{
    if (thread >= XFW_SEQUENCE_THREADS)
        return;
    end_graph(sequences, &sequences->threads[thread]);
    sequences->threads[thread] = (struct xfw_submitting){0};
}
