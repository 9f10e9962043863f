#include "analyzer/whatif/sample.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "xferscope/trace.h"

#define HEAD 64           /* batches that are all played */
#define GROUPS 48         /* of the others, at least */
#define IN_GROUP 96       /* of them, at most, up to so many groups: */
#define MOST_GROUPS 1024  /* more would not be known better, but would have to be kept */
#define LEAST_IN_GROUP 16 /* batches: else nothing is gained */
#define LEAST_GROUPS 16   /* to know how far they differ */
#define IN_SAMPLE 8       /* batches, behind the one that leads in to them */
#define OFTEN 4           /* so often such an op was played before */
#define TIMES 3           /* so many times the time of a batch before it is much more or less */
#define MEAN_OF 16        /* batches, of late */

enum { SEEN_BITS = 17, SEEN = 1 << SEEN_BITS, SEEN_MOST = SEEN / 4 * 3, PAGE_BITS = 12 };

/* Keys, and how often they were played. */
struct seen {
    struct seen_item {
        uint64_t key; /* 0: free */
        uint32_t times;
    } * items;
    size_t count;
};

/* A thread, as recorded: the end of what was played of it last. */
struct last {
    double end;
    double cut_ns; /* out of the time before that */
};

struct xfw_sample {
    uint64_t group_batches, batches; /* in a group; so far */
    struct xfw_stretch *stretches;
    size_t count, capacity;
    struct seen shapes, pages;
    double end;                 /* as recorded, of what came */
    double mean_ns, mean_on_ns; /* of batches that were played: as recorded, on devices */
    struct last *lasts;         /* by thread */
    size_t last_count, last_capacity;
    bool cut;              /* the batch before was left out */
    double cut_at, cut_ns; /* where the last cut begins; cut out so far */
    struct xfw_share share, *classes;
    size_t class_count, class_capacity;
    double skipped; /* as recorded: batches that are not counted */
    double *groups; /* as recorded: the sampled batches of each */
    size_t groups_count, groups_capacity;
};

struct xfw_sample *xfw_sample_new(uint64_t calls)
{
    uint64_t batches = calls / XFW_BATCH;
    if (batches < HEAD + GROUPS * (uint64_t)LEAST_IN_GROUP)
        return NULL;
    struct xfw_sample *sample = xfa_alloc(sizeof *sample);
    sample->group_batches = (batches - HEAD) / GROUPS;
    if (sample->group_batches > IN_GROUP)
        sample->group_batches = IN_GROUP;
    if (sample->group_batches < (batches - HEAD) / MOST_GROUPS)
        sample->group_batches = (batches - HEAD) / MOST_GROUPS;
    sample->shapes.items = xfa_alloc(SEEN * sizeof *sample->shapes.items);
    sample->pages.items = xfa_alloc(SEEN * sizeof *sample->pages.items);
    return sample;
}

/* ---- what was played before ------------------------------------------------------------------ */

static uint64_t mixed(uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
}

/* Its item, or a free one. */
static struct seen_item *seen_at(const struct seen *seen, uint64_t key)
{
    for (size_t i = (size_t)(key >> (64 - SEEN_BITS));; i++) {
        struct seen_item *item = &seen->items[i & (SEEN - 1)];
        if (item->key == key || item->key == 0)
            return item;
    }
}

static bool was_seen(const struct seen *seen, uint64_t key, uint32_t times)
{
    return seen_at(seen, key)->times >= times;
}

/* What does not fit any more is never known. */
static void see(struct seen *seen, uint64_t key)
{
    struct seen_item *item = seen_at(seen, key);
    if (item->key == 0 && seen->count == SEEN_MOST)
        return;
    seen->count += item->key == 0;
    item->key = key;
    item->times++;
}

/* All that changes ask of an op but its times and addresses; sizes by their order. */
static uint64_t shape_of(const struct xfw_op *op)
{
    uint64_t size = op->bytes ? 64 - (uint64_t)__builtin_clzll(op->bytes) : 0;
    uint64_t what = op->what | (uint64_t)op->kind << 8 | (uint64_t)op->engine << 16 |
                    (uint64_t)op->memory << 24 | (uint64_t)op->pooled << 32 |
                    (uint64_t)op->stream_kind << 33 | size << 40 |
                    (uint64_t)(uint8_t)op->gpu << 48 | (uint64_t)(uint8_t)op->peer << 56;
    uint64_t where = op->thread | (uint64_t)op->stream << 32;
    uint32_t from = op->stack ? op->stack : op->site;
    uint64_t which = from | (uint64_t)(op->what == XFW_KERNEL ? op->name : op->class) << 32;
    return mixed(mixed(mixed(what) + where) + which) | 1;
}

static uint64_t page_of(uint64_t address)
{
    return mixed(address >> PAGE_BITS) | 1;
}

static bool has_addresses(const struct xfw_op *op)
{
    return op->what == XFW_COPY || op->what == XFW_SET || op->what == XFW_PREFETCH;
}

static bool is_new(const struct xfw_sample *sample, const struct xfw_op *op)
{
    if (op->what == XFW_RANGE || xfw_has_moved(&op->demanded) || xfw_has_moved(&op->fetched) ||
        !was_seen(&sample->shapes, shape_of(op), OFTEN))
        return true;
    return has_addresses(op) && (!was_seen(&sample->pages, page_of(op->src), 1) ||
                                 !was_seen(&sample->pages, page_of(op->dst), 1));
}

static bool is_usual(double ns, double mean)
{
    return ns * TIMES >= mean && ns <= mean * TIMES;
}

static double on_devices(const struct xfw_op *ops, size_t count)
{
    double ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += ops[i].duration_ns;
    return ns;
}

static bool is_like_others(const struct xfw_sample *sample, const struct xfw_op *ops, size_t count,
                           double ns)
{
    if (!is_usual(ns, sample->mean_ns) || !is_usual(on_devices(ops, count), sample->mean_on_ns))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_new(sample, &ops[i]))
            return false;
    return true;
}

static void learn(double *mean, double ns, uint64_t before)
{
    *mean += (ns - *mean) / (double)(before < MEAN_OF ? before + 1 : MEAN_OF);
}

static void note_played(struct xfw_sample *sample, const struct xfw_op *ops, size_t count,
                        double ns)
{
    learn(&sample->mean_ns, ns, sample->batches);
    learn(&sample->mean_on_ns, on_devices(ops, count), sample->batches);
    for (size_t i = 0; i < count; i++) {
        see(&sample->shapes, shape_of(&ops[i]));
        if (has_addresses(&ops[i])) {
            see(&sample->pages, page_of(ops[i].src));
            see(&sample->pages, page_of(ops[i].dst));
        }
    }
}

/* ---- what becomes of a batch ----------------------------------------------------------------- */

/* By its place alone. */
static enum xfw_part planned(const struct xfw_sample *sample, uint32_t *group)
{
    if (sample->batches < HEAD)
        return XFW_COUNTED;
    uint64_t number = (sample->batches - HEAD) / sample->group_batches;
    uint64_t at = (sample->batches - HEAD) % sample->group_batches;
    uint64_t first = mixed(number + 1) % (sample->group_batches - IN_SAMPLE);
    *group = (uint32_t)number;
    if (at < first || at > first + IN_SAMPLE)
        return XFW_LEFT;
    return at == first ? XFW_WARMING : XFW_SAMPLED;
}

/* What a change would not know of memory if it did not come. */
static bool must_come(const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_FREE ||
           op->kind == XFT_EVENT_REGISTER || op->kind == XFT_EVENT_UNREGISTER;
}

static size_t leave_out(struct xfw_op *ops, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (!must_come(&ops[i]))
            continue;
        struct xfw_op *op = &ops[left++];
        *op = ops[i];
        op->awaits = XFW_AWAITS_NOTHING;
        op->woken_by = XFW_NONE;
        op->woken_by_stream = op->woken_by_call = 0;
        op->gap_ns = op->own_ns = op->wake_ns = op->hook_ns = op->overhead_ns = op->records_ns = 0;
    }
    return left;
}

static struct last *last_of(struct xfw_sample *sample, uint32_t thread)
{
    sample->lasts = xfa_grown(sample->lasts, &sample->last_capacity, &sample->last_count, thread,
                              sizeof *sample->lasts);
    return &sample->lasts[thread];
}

/* The first op of its thread behind a cut. */
static void join(struct xfw_sample *sample, struct xfw_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct xfw_op *op = &ops[i];
        struct last *last = last_of(sample, op->thread);
        if (last->end > 0 && sample->cut_ns > last->cut_ns)
            op->gap_ns = xfw_max(0, op->start_ns - last->end - (sample->cut_ns - last->cut_ns));
        last->cut_ns = sample->cut_ns;
        last->end = xfw_max(last->end, op->end_ns);
    }
}

static void begin_cut(struct xfw_sample *sample, const struct xfw_op *first)
{
    sample->cut_at = sample->cut ? sample->cut_at : first->start_ns;
    sample->cut = true;
}

static void end_cut(struct xfw_sample *sample, const struct xfw_op *first)
{
    if (sample->cut)
        sample->cut_ns += xfw_max(0, first->start_ns - sample->cut_at);
    sample->cut = false;
}

static void count_classes(struct xfw_sample *sample, const struct xfw_op *ops, size_t count,
                          bool played)
{
    sample->share.came += count;
    sample->share.played += played ? count : 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].class == XFW_NONE)
            continue;
        sample->classes = xfa_grown(sample->classes, &sample->class_capacity, &sample->class_count,
                                    ops[i].class, sizeof *sample->classes);
        sample->classes[ops[i].class].came++;
        sample->classes[ops[i].class].played += played;
    }
}

static void note_stretch(struct xfw_sample *sample, const struct xfw_stretch *stretch)
{
    if (stretch->part == XFW_LEFT || stretch->part == XFW_WARMING)
        sample->skipped += stretch->recorded_ns;
    if (stretch->part != XFW_SAMPLED)
        return;
    sample->groups = xfa_grown(sample->groups, &sample->groups_capacity, &sample->groups_count,
                               stretch->group, sizeof *sample->groups);
    sample->groups[stretch->group] += stretch->recorded_ns;
}

/* Of many processes only what is asked of them later is kept. */
static void forget_seen(struct xfw_sample *sample)
{
    free(sample->shapes.items);
    free(sample->pages.items);
    sample->shapes = sample->pages = (struct seen){0};
}

const struct xfw_stretch *xfw_sample_take(struct xfw_sample *sample, struct xfw_op *ops,
                                          size_t count, bool last)
{
    struct xfw_stretch stretch = {.ops = (uint16_t)count};
    double end = sample->end;
    for (size_t i = 0; i < count; i++)
        end = xfw_max(end, ops[i].end_ns);
    stretch.recorded_ns = end - sample->end;
    sample->end = end;
    stretch.part = (uint8_t)planned(sample, &stretch.group);
    if (stretch.part != XFW_COUNTED &&
        (last || !is_like_others(sample, ops, count, stretch.recorded_ns)))
        stretch.part = XFW_COUNTED;
    count_classes(sample, ops, count, stretch.part != XFW_LEFT);
    if (stretch.part == XFW_LEFT) {
        begin_cut(sample, ops);
        stretch.ops = (uint16_t)leave_out(ops, count);
    } else if (count > 0) {
        end_cut(sample, ops);
        note_played(sample, ops, count, stretch.recorded_ns);
        join(sample, ops, count);
    }
    note_stretch(sample, &stretch);
    sample->batches++;
    sample->stretches = xfa_room(sample->stretches, &sample->capacity, sample->count + 1,
                                 sizeof *sample->stretches);
    sample->stretches[sample->count] = stretch;
    if (last)
        forget_seen(sample);
    return &sample->stretches[sample->count++];
}

void xfw_sample_free(struct xfw_sample *sample)
{
    if (!sample)
        return;
    forget_seen(sample);
    free(sample->stretches);
    free(sample->lasts);
    free(sample->classes);
    free(sample->groups);
    free(sample);
}

size_t xfw_sample_count(const struct xfw_sample *sample)
{
    return sample->count;
}

const struct xfw_stretch *xfw_sample_at(const struct xfw_sample *sample, size_t i)
{
    return &sample->stretches[i];
}

struct xfw_share xfw_sample_share(const struct xfw_sample *sample)
{
    return sample->share;
}

double xfw_sample_weight(const struct xfw_sample *sample, uint32_t class)
{
    const struct xfw_share *share = &sample->classes[class];
    return class < sample->class_count && share->played > 0
               ? (double)share->came / (double)share->played
               : 1;
}

/* ---- one way of playing it ------------------------------------------------------------------- */

void xfw_measure(struct xfw_measured *measured, const struct xfw_stretch *stretch, double now)
{
    double took = now - measured->at;
    measured->at = now;
    if (stretch->part == XFW_LEFT || stretch->part == XFW_WARMING)
        measured->skipped += took;
    if (stretch->part != XFW_SAMPLED)
        return;
    measured->groups = xfa_grown(measured->groups, &measured->capacity, &measured->count,
                                 stretch->group, sizeof *measured->groups);
    measured->groups[stretch->group] += took;
}

void xfw_measured_free(struct xfw_measured *measured)
{
    free(measured->groups);
}

static double sum(const double *values, size_t count)
{
    double all = 0;
    for (size_t i = 0; i < count; i++)
        all += values[i];
    return all;
}

double xfw_sample_rest(const struct xfw_sample *sample, const struct xfw_measured *measured)
{
    double recorded = sum(sample->groups, sample->groups_count);
    if (!(recorded > 0))
        return 0;
    double ratio = sum(measured->groups, measured->count) / recorded;
    return ratio * sample->skipped - measured->skipped;
}

static double took(const struct xfw_measured *measured, size_t group)
{
    return measured && group < measured->count ? measured->groups[group] : 0;
}

double xfw_sample_error(const struct xfw_sample *sample, const struct xfw_measured *measured,
                        const struct xfw_measured *other)
{
    double recorded = sum(sample->groups, sample->groups_count), squares = 0, all = 0;
    size_t groups = 0;
    if (!(sample->skipped > 0))
        return 0;
    for (size_t i = 0; i < sample->groups_count; i++)
        all += took(measured, i) - took(other, i);
    for (size_t i = 0; i < sample->groups_count; i++) {
        double r = sample->groups[i], off = took(measured, i) - took(other, i) - all / recorded * r;
        groups += r > 0;
        squares += r > 0 ? off * off : 0;
    }
    if (groups < LEAST_GROUPS)
        return INFINITY;
    double mean = recorded / (double)groups;
    double spread = sqrt(squares / (double)(groups - 1) / (double)groups);
    return 2 * sample->skipped / mean * spread;
}
