#include "analyzer/whatif/schedule/callers.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/op/op.h"

_Static_assert(XFW_CALLERS <= 64, "op.h: under_way has a bit for each");

#define BUCKETS 256 /* of times, eight to a factor of two */
#define LEAST_ALONE 16
#define LOADS_NS 100000.0 /* the first launch of a kernel takes longer: the driver loads it */
#define MOST_NAMES 65536  /* of kernels; others are taken to be loaded */

/* ---- who is in the driver -------------------------------------------------------------------- */

void xfw_callers_free(struct xfw_callers *callers)
{
    if (callers->named)
        xfa_table_free(&callers->names);
    *callers = (struct xfw_callers){0};
}

/* The first launch of a kernel, and a long one. */
static bool loads(struct xfw_callers *callers, const struct xfw_call *call)
{
    if (call->kind != XFT_EVENT_LAUNCH || !call->name)
        return false;
    if (!callers->named)
        xfa_table_init(&callers->names, sizeof(uint64_t), sizeof(uint64_t));
    callers->named = true;
    if (callers->names.count >= MOST_NAMES || xfa_table_get(&callers->names, &call->name))
        return false;
    xfa_table_put(&callers->names, &call->name);
    return call->end_ns - call->start_ns > LOADS_NS;
}

static struct xfw_caller *caller_of(struct xfw_callers *callers, int32_t tid)
{
    for (unsigned i = 0; i < callers->count; i++)
        if (callers->items[i].tid == tid)
            return &callers->items[i];
    return NULL;
}

/* Of a thread that is not there: where there is no room, in the place of one that is not in the
 * driver, the one whose last call ended first. NULL: all are. */
static struct xfw_caller *place_of(struct xfw_callers *callers, double start_ns)
{
    if (callers->count < XFW_CALLERS)
        return &callers->items[callers->count++];
    struct xfw_caller *oldest = &callers->items[0];
    for (unsigned i = 1; i < callers->count; i++)
        oldest = callers->items[i].end_ns < oldest->end_ns ? &callers->items[i] : oldest;
    return oldest->end_ns > start_ns ? NULL : oldest;
}

const struct xfw_caller *xfw_callers_of(struct xfw_callers *callers, int32_t tid)
{
    return caller_of(callers, tid);
}

/* Of another thread, that is in the driver then; of several the one that ends last; the thread's
 * own place into *own. */
static const struct xfw_caller *before_of(struct xfw_callers *callers, const struct xfw_call *call,
                                          struct xfw_caller **own)
{
    const struct xfw_caller *before = NULL;
    *own = NULL;
    for (unsigned i = 0; i < callers->count; i++) {
        struct xfw_caller *other = &callers->items[i];
        if (other->tid == call->tid)
            *own = other;
        else if (other->holds && other->end_ns > call->start_ns &&
                 (!before || other->end_ns > before->end_ns))
            before = other;
    }
    return before;
}

const struct xfw_caller *xfw_callers_add(struct xfw_callers *callers, const struct xfw_call *call)
{
    struct xfw_caller *own;
    const struct xfw_caller *before = before_of(callers, call, &own);
    double gap = own ? xfw_max(0, call->start_ns - own->end_ns) : 0;
    if (!own)
        own = place_of(callers, call->start_ns);
    if (own)
        *own = (struct xfw_caller){
            .tid = call->tid,
            .kind = call->kind,
            .holds = call->submits || xfw_holds(call->kind),
            .loads = loads(callers, call),
            .start_ns = call->start_ns,
            .end_ns = call->end_ns,
            .gap_ns = gap,
        };
    callers->last = own;
    return before;
}

void xfw_callers_meet(struct xfw_callers *callers, struct xfw_op *op)
{
    const struct xfw_call call = {.tid = op->tid,
                                  .kind = op->kind,
                                  .name = op->name,
                                  .start_ns = op->start_ns,
                                  .end_ns = op->end_ns,
                                  .submits = xfw_op_submits(op) || xfw_op_waits_for_copy(op)};
    op->under_way = 0;
    op->caller = 0;
    if (!xfw_op_is_call(op))
        return;
    const struct xfw_caller *before = xfw_callers_add(callers, &call);
    const struct xfw_caller *own = callers->last;
    if (!own)
        return;
    op->caller = (uint8_t)(own - callers->items + 1);
    for (unsigned i = 0; before && !before->loads && !own->loads && i < callers->count; i++) {
        const struct xfw_caller *other = &callers->items[i];
        bool in = other != own && other->holds && other->end_ns > op->start_ns;
        op->under_way |= (uint64_t)in << i;
    }
}

double xfw_caller_rest_ns(const struct xfw_caller *caller, double start_ns, double alone_ns)
{
    double left = caller->end_ns - start_ns;
    if (!caller->holds || left <= 0)
        return 0;
    return isfinite(alone_ns) ? alone_ns + xfw_min(alone_ns, caller->gap_ns) : left;
}

/* ---- what calls take alone ------------------------------------------------------------------- */

struct xfw_call_times {
    struct xfw_callers callers;
    struct last { /* call of a thread, which has the same place in both lists */
        bool counts, crowded;
        uint8_t kind;
        double ns;
    } last[XFW_CALLERS];
    struct kind {
        uint32_t all[BUCKETS], alone[BUCKETS];
        uint64_t all_count, alone_count;
    } kinds[XFW_KINDS];
};

static unsigned bucket_of(double ns)
{
    double place = 8 * log2(fmax(1, ns));
    return place < BUCKETS - 1 ? (unsigned)place : BUCKETS - 1;
}

static double quantile(const uint32_t *buckets, uint64_t count, double part)
{
    uint64_t before = 0, wanted = (uint64_t)(part * (double)count);
    unsigned i = 0;
    while (i + 1 < BUCKETS && before + buckets[i] <= wanted)
        before += buckets[i++];
    return exp2((i + 0.5) / 8);
}

static double alone_of(const struct kind *kind)
{
    if (kind->alone_count >= LEAST_ALONE)
        return quantile(kind->alone, kind->alone_count, 0.5);
    return kind->all_count >= LEAST_ALONE ? quantile(kind->all, kind->all_count, 0.1) : INFINITY;
}

/* All of it is known: the thread makes its next call, or the process ends. */
static void add_last(struct xfw_call_times *times, const struct last *last)
{
    struct kind *kind = &times->kinds[last->kind];
    unsigned bucket = bucket_of(last->ns);
    if (!last->counts)
        return;
    kind->all[bucket]++;
    kind->all_count++;
    if (!last->crowded) {
        kind->alone[bucket]++;
        kind->alone_count++;
    }
}

struct xfw_call_times *xfw_call_times_new(void)
{
    return xfa_alloc(sizeof(struct xfw_call_times));
}

void xfw_call_times_free(struct xfw_call_times *times)
{
    if (times)
        xfw_callers_free(&times->callers);
    free(times);
}

const struct xfw_caller *xfw_call_times_add(struct xfw_call_times *times,
                                            const struct xfw_call *call)
{
    struct xfw_callers *callers = &times->callers;
    const struct xfw_caller *of = caller_of(callers, call->tid);
    if (!of && callers->count == XFW_CALLERS)
        return NULL;
    struct last *last = &times->last[of ? (size_t)(of - callers->items) : callers->count];
    if (of)
        add_last(times, last);
    const struct xfw_caller *before = xfw_callers_add(callers, call);
    *last = (struct last){
        .counts = call->submits && !call->captured, .kind = call->kind, .ns = call->ns};
    for (unsigned i = 0; i < callers->count; i++) {
        struct last *other = &times->last[i];
        if (other != last && callers->items[i].end_ns > call->start_ns)
            last->crowded = other->crowded = true;
    }
    return before;
}

double *xfw_call_times_end(struct xfw_call_times *times)
{
    if (times->callers.count < 2)
        return NULL;
    double *alone_ns = xfa_alloc(XFW_KINDS * sizeof *alone_ns);
    for (unsigned i = 0; i < times->callers.count; i++)
        add_last(times, &times->last[i]);
    for (unsigned i = 0; i < XFW_KINDS; i++)
        alone_ns[i] = alone_of(&times->kinds[i]);
    return alone_ns;
}
