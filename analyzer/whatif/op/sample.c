#include "analyzer/whatif/op/sample.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "xferscope/trace.h"

#define HEAD 16           /* batches that are all played */
#define GROUPS 20         /* of the others, at the first level */
#define LEAST_IN_GROUP 10 /* batches: else nothing is gained */
#define IN_LAST_GROUP 20  /* at the last level, at least, if there are several: all is kept */
#define LEAST_GROUPS 14   /* to know how far they differ */
#define IN_SAMPLE 4       /* batches, behind the one that leads in to them */
#define OFTEN 4           /* so often such an op was played before */
#define TIMES 3           /* so many times the time of a batch before it is much more or less */
#define MEAN_OF 16        /* batches, of late */
#define MOST_NEW 4096     /* batches that are played since they have something new */

enum { SEEN_BITS = 17, SEEN = 1 << SEEN_BITS, SEEN_MOST = SEEN / 4 * 3, PAGE_BITS = 12 };

/* Keys, and how often they were played. */
struct seen {
    struct seen_item {
        uint64_t key; /* 0: free */
        uint32_t times;
    } * items;
    size_t count;
};

/* Ops that came, and how many more each level plays. */
struct counts {
    uint64_t came;
    uint32_t played[XFW_SAMPLE_LEVELS];
};

struct xfw_sample {
    uint64_t group_batches, batches; /* in a group; so far */
    unsigned level, last_level;      /* now; of which the groups are */
    uint32_t counted;                /* batches with something new */
    bool leaves;                     /* any batch so far, at any level */
    struct xfw_stretch *stretches;
    size_t count, capacity;
    struct seen shapes, pages;
    double end;                 /* as recorded, of what came */
    double mean_ns, mean_on_ns; /* of batches that were played: as recorded, on devices */
    struct counts all, *classes;
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
    while (sample->last_level + 1 < XFW_SAMPLE_LEVELS &&
           (batches - HEAD) / (GROUPS * (uint64_t)2 << sample->last_level) >= IN_LAST_GROUP)
        sample->last_level++;
    sample->group_batches = (batches - HEAD) / (GROUPS * (uint64_t)1 << sample->last_level);
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

/* All that changes ask of an op but its times, its addresses, and whose it is; sizes by their
 * order. */
static uint64_t shape_of(const struct xfw_op *op)
{
    uint64_t size = op->bytes ? 64 - (uint64_t)__builtin_clzll(op->bytes) : 0;
    uint64_t what = op->what | (uint64_t)op->kind << 8 | (uint64_t)op->engine << 16 |
                    (uint64_t)op->memory << 24 | (uint64_t)op->pooled << 32 |
                    (uint64_t)op->stream_kind << 33 | size << 40 |
                    (uint64_t)(uint8_t)op->gpu << 48 | (uint64_t)(uint8_t)op->peer << 56;
    uint32_t from = op->stack ? op->stack : op->site;
    uint64_t which = from | (uint64_t)(op->what == XFW_KERNEL ? op->name : op->class) << 32;
    return mixed(mixed(what) + which) | 1;
}

/* Whose it is: of all that one of several threads does, each need not be met in each of them. */
static uint64_t lane_of(const struct xfw_op *op)
{
    uint64_t where = op->thread | (uint64_t)op->stream << 32;
    return mixed(mixed(op->what | (uint64_t)op->engine << 8) + where) | 1;
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
        !was_seen(&sample->shapes, shape_of(op), OFTEN) ||
        !was_seen(&sample->shapes, lane_of(op), OFTEN))
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
        see(&sample->shapes, lane_of(&ops[i]));
        if (has_addresses(&ops[i])) {
            see(&sample->pages, page_of(ops[i].src));
            see(&sample->pages, page_of(ops[i].dst));
        }
    }
}

/* ---- what becomes of a batch ----------------------------------------------------------------- */

/* The first level that plays the group's stretch: each level before the last one has one of two
 * groups side by side of the level behind it, by chance. */
static uint8_t level_of(const struct xfw_sample *sample, uint64_t group)
{
    unsigned up = 0;
    while (up < sample->last_level &&
           (mixed((group >> (up + 1) << 8) + up + 1) >> 32 & 1) == (group >> up & 1))
        up++;
    return (uint8_t)(sample->last_level - up);
}

/* By its place alone, at the last level. */
static enum xfw_part planned(const struct xfw_sample *sample, struct xfw_stretch *stretch)
{
    if (sample->batches < HEAD)
        return XFW_COUNTED;
    uint64_t number = (sample->batches - HEAD) / sample->group_batches;
    uint64_t at = (sample->batches - HEAD) % sample->group_batches;
    uint64_t first = mixed(number + 1) % (sample->group_batches - IN_SAMPLE);
    stretch->group = (uint32_t)number;
    stretch->level = level_of(sample, number);
    if (at < first || at > first + IN_SAMPLE)
        return XFW_LEFT;
    return at == first ? XFW_WARMING : XFW_SAMPLED;
}

/* What becomes of it at the level. */
static void decide(const struct xfw_sample *sample, struct xfw_stretch *stretch)
{
    bool later = xfw_stretch_is_apart(stretch) && stretch->level > sample->level;
    stretch->part = later ? XFW_LEFT : stretch->kept;
}

/* What a change would not know of memory if it did not come. */
static bool must_come(const struct xfw_op *op)
{
    return op->kind == XFT_EVENT_ALLOC || op->kind == XFT_EVENT_FREE ||
           op->kind == XFT_EVENT_REGISTER || op->kind == XFT_EVENT_UNREGISTER ||
           op->kind == XFT_EVENT_GRAPH_CALL;
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

/* ---- where the tape is cut ------------------------------------------------------------------- */

static struct xfw_last *last_of(struct xfw_cuts *cuts, uint32_t thread)
{
    cuts->lasts =
        xfa_grown(cuts->lasts, &cuts->capacity, &cuts->count, thread, sizeof *cuts->lasts);
    return &cuts->lasts[thread];
}

/* The first op of its thread behind a cut. */
static void join(struct xfw_cuts *cuts, struct xfw_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct xfw_op *op = &ops[i];
        struct xfw_last *last = last_of(cuts, op->thread);
        op->anew = cuts->ns > last->cut_ns;
        if (last->end > 0 && cuts->ns > last->cut_ns)
            op->gap_ns = xfw_max(0, op->start_ns - (op->what == XFW_QUERY ? op->polled_ns : 0) -
                                        last->end - (cuts->ns - last->cut_ns));
        last->cut_ns = cuts->ns;
        last->end = xfw_max(last->end, op->end_ns);
    }
}

size_t xfw_cuts_take(struct xfw_cuts *cuts, const struct xfw_stretch *stretch, struct xfw_op *ops,
                     size_t count)
{
    if (stretch->part == XFW_LEFT) {
        cuts->at = cuts->cut ? cuts->at : stretch->begins_ns;
        cuts->cut = true;
        return leave_out(ops, count);
    }
    if (count == 0)
        return 0;
    if (cuts->cut)
        cuts->ns += xfw_max(0, stretch->begins_ns - cuts->at);
    cuts->cut = false;
    join(cuts, ops, count);
    return count;
}

void xfw_cuts_free(struct xfw_cuts *cuts)
{
    free(cuts->lasts);
    *cuts = (struct xfw_cuts){0};
}

/* ---- the next batch -------------------------------------------------------------------------- */

static void count_ops(struct counts *counts, const struct xfw_stretch *stretch, uint32_t count)
{
    counts->came += count;
    if (stretch->kept != XFW_LEFT)
        counts->played[xfw_stretch_is_apart(stretch) ? stretch->level : 0] += count;
}

static void count_classes(struct xfw_sample *sample, const struct xfw_op *ops, size_t count,
                          const struct xfw_stretch *stretch)
{
    count_ops(&sample->all, stretch, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        if (ops[i].class == XFW_NONE)
            continue;
        sample->classes = xfa_grown(sample->classes, &sample->class_capacity, &sample->class_count,
                                    ops[i].class, sizeof *sample->classes);
        count_ops(&sample->classes[ops[i].class], stretch, 1);
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
    struct xfw_stretch stretch = {.begins_ns = count > 0 ? ops[0].start_ns : sample->end};
    double end = sample->end;
    for (size_t i = 0; i < count; i++) {
        end = xfw_max(end, ops[i].end_ns);
        stretch.memory = stretch.memory || must_come(&ops[i]);
    }
    stretch.recorded_ns = end - sample->end;
    sample->end = end;
    stretch.kept = (uint8_t)planned(sample, &stretch);
    if (stretch.kept != XFW_COUNTED &&
        (last || (sample->counted < MOST_NEW &&
                  !is_like_others(sample, ops, count, stretch.recorded_ns)))) {
        stretch.kept = XFW_COUNTED;
        sample->counted++;
    }
    sample->leaves = sample->leaves || stretch.kept != XFW_COUNTED;
    count_classes(sample, ops, count, &stretch);
    if (stretch.kept != XFW_LEFT && count > 0)
        note_played(sample, ops, count, stretch.recorded_ns);
    stretch.ops = (uint16_t)(stretch.kept == XFW_LEFT ? leave_out(ops, count) : count);
    decide(sample, &stretch);
    note_stretch(sample, &stretch);
    sample->batches++;
    sample->stretches = xfa_room(sample->stretches, &sample->capacity, sample->count + 1,
                                 sizeof *sample->stretches);
    sample->stretches[sample->count] = stretch;
    if (last)
        forget_seen(sample);
    return &sample->stretches[sample->count++];
}

void xfw_sample_at_level(struct xfw_sample *sample, unsigned level)
{
    sample->level = level < sample->last_level ? level : sample->last_level;
    sample->skipped = 0;
    for (size_t i = 0; i < sample->groups_count; i++)
        sample->groups[i] = 0;
    for (size_t i = 0; i < sample->count; i++) {
        decide(sample, &sample->stretches[i]);
        note_stretch(sample, &sample->stretches[i]);
    }
}

bool xfw_sample_has_more(const struct xfw_sample *sample)
{
    return sample->level < sample->last_level;
}

void xfw_sample_free(struct xfw_sample *sample)
{
    if (!sample)
        return;
    forget_seen(sample);
    free(sample->stretches);
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

static struct xfw_share share_at(const struct counts *counts, unsigned level)
{
    struct xfw_share share = {.came = counts->came};
    for (unsigned i = 0; i <= level; i++)
        share.played += counts->played[i];
    return share;
}

struct xfw_share xfw_sample_share(const struct xfw_sample *sample)
{
    return share_at(&sample->all, sample->level);
}

bool xfw_sample_stopped(const struct xfw_sample *sample)
{
    return sample->counted >= MOST_NEW;
}

bool xfw_sample_has_left(const struct xfw_sample *sample)
{
    return sample->leaves;
}

double xfw_sample_weight(const struct xfw_sample *sample, uint32_t class)
{
    if (class >= sample->class_count)
        return 1;
    struct xfw_share share = share_at(&sample->classes[class], sample->level);
    return share.played > 0 ? (double)share.came / (double)share.played : 1;
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

/* Batches that lead in to others have been played as well. */
static bool plays_all(const struct xfw_sample *sample)
{
    struct xfw_share share = xfw_sample_share(sample);
    return share.played == share.came;
}

double xfw_sample_rest(const struct xfw_sample *sample, const struct xfw_measured *measured)
{
    double recorded = sum(sample->groups, sample->groups_count);
    if (!(recorded > 0) || plays_all(sample))
        return 0;
    double ratio = sum(measured->groups, measured->count) / recorded;
    return ratio * sample->skipped - measured->skipped;
}

static double took(const struct xfw_measured *measured, size_t group)
{
    return measured && group < measured->count ? measured->groups[group] : 0;
}

/* Groups that follow each other are alike: how far these differ is what a stretch is off from its
 * group, at most (Cochran, 5A.12). */
double xfw_sample_error(const struct xfw_sample *sample, const struct xfw_measured *measured,
                        const struct xfw_measured *other)
{
    double recorded = sum(sample->groups, sample->groups_count), squares = 0, all = 0, before = 0;
    size_t groups = 0;
    if (!(sample->skipped > 0) || plays_all(sample))
        return 0;
    for (size_t i = 0; i < sample->groups_count; i++)
        all += took(measured, i) - took(other, i);
    for (size_t i = 0; i < sample->groups_count; i++) {
        double r = sample->groups[i], off = took(measured, i) - took(other, i) - all / recorded * r;
        if (!(r > 0))
            continue;
        squares += groups++ > 0 ? (off - before) * (off - before) / 2 : 0;
        before = off;
    }
    if (groups < LEAST_GROUPS)
        return INFINITY;
    double mean = recorded / (double)groups;
    double spread = sqrt(squares / (double)(groups - 1) / (double)groups);
    return 2 * sample->skipped / mean * spread;
}
