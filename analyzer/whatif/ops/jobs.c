#include "analyzer/whatif/ops/jobs.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/table.h"
#include "analyzer/whatif/ops/recorded.h"
#include "xferscope/trace.h"

static const struct {
    unsigned least_times;
    double least_ns, alike;
} guess = {
    .least_times = 4,  /* guess: so often a thread has waited, before it is believed */
    .least_ns = 10000, /* guess: own time beyond the usual that may be a wait */
    .alike = 0.1,      /* guess: so much of a job's time jobs leave unexplained, at most */
};

#define SITES 16    /* of functions; further ones have no jobs */
#define PAIRS 32    /* of sites of waits with these */
#define SAMPLES 256 /* of each, the first */
#define PLAIN 256   /* call stacks, by hash: own time before their calls */
#define THREADS 64  /* whose last calls are remembered */
#define MOST_LAG 3  /* functions that were called since the one whose job is waited for */
#define RECENT 8    /* functions that are remembered, a power of two */

/* A function that a stream called. */
struct function {
    uint64_t number;  /* of the op, + 1; 0: none */
    uint32_t site, k; /* its place among the sites; which of that site's */
    double done;      /* its job, as recorded; split alone */
};

struct stream {
    uint32_t stream; /* key */
    double end;      /* of its work */
    struct function last;
};
struct behind {           /* an event */
    uint32_t event;       /* key: of the process */
    struct function last; /* what is before it in its stream */
};
struct thread {
    uint32_t thread;    /* key */
    uint32_t stack;     /* its last call was a wait, from here, */
    double end;         /* until then, */
    struct function of; /* behind this function; */
    bool device;        /* it was for all of the device */
};

struct jobs_site {
    uint32_t stack; /* of the calls */
    unsigned count;
    double called[SAMPLES];
    double job_ns; /* 0: they hand nothing on that anybody waits for */
    unsigned took_count, unknown;
    double took[SAMPLES]; /* their own time, where it is known, and of how many it is not */
    double took_ns;       /* what is usual; 0: not known, or it need not be */
    unsigned believed;    /* samples that say so */
};

struct pair {
    uint32_t stack, site; /* of the waits, and the functions' place */
    bool believed, device;
    unsigned lag;    /* of waits for the device: so many functions were called since */
    double later_ns; /* so long behind the job they go on */
    unsigned count;
    struct sample {
        uint32_t k, next; /* which function; the stack of the call behind the wait */
        double from, to;  /* own time */
    } samples[SAMPLES];
};

struct xfw_jobs {
    struct xfa_table streams, events, threads;
    struct function last;           /* of any stream */
    struct function recent[RECENT]; /* a ring */
    unsigned called;                /* so many */
    struct jobs_site *sites;        /* NULL: no stream has called a function so far */
    unsigned site_count;
    struct pair *pairs;
    unsigned pair_count;
    double idle, calls_idle; /* the jobs' thread, the driver's, from then on; split alone */
    struct plain {
        uint32_t stack;
        unsigned count;
        double sum;
    } plain[PLAIN];
    struct last { /* calls, by thread */
        uint32_t thread, stack;
        bool behind; /* it was a wait behind a function */
    } calls[THREADS];
};

/* Where the call was made. Of a transfer its class stands for the site, so that it has no `stack`;
 * launches are recorded without: their kernel stands for it. 0: not known. */
static uint32_t stack_of(const struct xfw_op *op)
{
    const uint32_t of_kernel = (uint32_t)1 << 31;
    if (!op->stack && !op->from && op->what == XFW_KERNEL && op->name)
        return of_kernel | op->name;
    return op->stack ? op->stack : op->from;
}

static void begin_course(struct xfw_jobs *jobs)
{
    xfa_table_init(&jobs->streams, sizeof(uint32_t), sizeof(struct stream));
    xfa_table_init(&jobs->events, sizeof(uint32_t), sizeof(struct behind));
    xfa_table_init(&jobs->threads, sizeof(uint32_t), sizeof(struct thread));
    jobs->last = (struct function){0};
    jobs->called = 0;
    jobs->idle = jobs->calls_idle = 0;
}

static void end_course(struct xfw_jobs *jobs)
{
    xfa_table_free(&jobs->streams);
    xfa_table_free(&jobs->events);
    xfa_table_free(&jobs->threads);
}

struct xfw_jobs *xfw_jobs_new(void)
{
    struct xfw_jobs *jobs = xfa_alloc(sizeof *jobs);
    begin_course(jobs);
    return jobs;
}

void xfw_jobs_free(struct xfw_jobs *jobs)
{
    if (!jobs)
        return;
    end_course(jobs);
    free(jobs->pairs);
    free(jobs->sites);
    free(jobs);
}

/* ---- functions, and waits behind them -------------------------------------------------------- */

static struct jobs_site *site_of(struct xfw_jobs *jobs, uint32_t stack)
{
    for (unsigned i = 0; i < jobs->site_count; i++)
        if (jobs->sites[i].stack == stack)
            return &jobs->sites[i];
    if (jobs->site_count == SITES || !stack)
        return NULL;
    if (!jobs->sites)
        jobs->sites = xfa_alloc(SITES * sizeof *jobs->sites);
    jobs->sites[jobs->site_count].stack = stack;
    return &jobs->sites[jobs->site_count++];
}

/* When the stream called it: NAN where it is none that is followed. */
static double note_function(struct xfw_jobs *jobs, struct stream *stream, const struct xfw_op *op)
{
    const struct jobs_site *site = site_of(jobs, stack_of(op));
    double called =
        isnan(op->device_start_ns) ? xfw_max(op->start_ns, stream->end) : op->device_start_ns;
    stream->last = (struct function){0};
    if (!site)
        return NAN;
    stream->last.number = op->number + 1;
    stream->last.site = (uint32_t)(site - jobs->sites);
    return called;
}

/* Which function the wait is behind. */
static struct function waited_for(const struct xfw_jobs *jobs, const struct xfw_op *op)
{
    const struct stream *stream = NULL;
    const struct behind *behind = NULL;
    if (op->awaits == XFW_AWAITS_DEVICE)
        return jobs->last;
    if (op->awaits == XFW_AWAITS_STREAM)
        stream = xfa_table_get(&jobs->streams, &op->stream);
    else if (op->awaits == XFW_AWAITS_EVENT)
        behind = xfa_table_get(&jobs->events, &op->event);
    return stream ? stream->last : behind ? behind->last : (struct function){0};
}

static void note_stream(struct xfw_jobs *jobs, const struct xfw_op *op)
{
    if (op->stream == XFW_NONE)
        return;
    struct stream *stream = xfa_table_put(&jobs->streams, &op->stream);
    if (op->what == XFW_RECORD && op->event != XFW_NONE)
        ((struct behind *)xfa_table_put(&jobs->events, &op->event))->last = stream->last;
    else if (!isnan(op->device_end_ns))
        stream->end = xfw_max(stream->end, op->device_end_ns);
}

static void note_thread(struct xfw_jobs *jobs, struct thread *thread, const struct xfw_op *op)
{
    bool waits = op->kind == XFT_EVENT_SYNC;
    thread->of = waits ? waited_for(jobs, op) : (struct function){0};
    thread->stack = stack_of(op);
    thread->end = op->end_ns;
    thread->device = op->awaits == XFW_AWAITS_DEVICE;
}

/* ---- as recorded ----------------------------------------------------------------------------- */

static struct plain *plain_of(struct xfw_jobs *jobs, uint32_t stack)
{
    return &jobs->plain[stack * 2654435761u >> 24];
}

static bool is_plain(struct xfw_jobs *jobs, uint32_t stack)
{
    const struct plain *plain = plain_of(jobs, stack);
    return stack && plain->count && plain->stack == stack;
}

static double plain_ns(struct xfw_jobs *jobs, uint32_t stack)
{
    const struct plain *plain = plain_of(jobs, stack);
    return plain->sum / plain->count;
}

static struct pair *pair_of(struct xfw_jobs *jobs, uint32_t stack, uint32_t site)
{
    for (unsigned i = 0; i < jobs->pair_count; i++)
        if (jobs->pairs[i].stack == stack && jobs->pairs[i].site == site)
            return &jobs->pairs[i];
    return NULL;
}

static void add_sample(struct xfw_jobs *jobs, const struct thread *thread, const struct xfw_op *op)
{
    struct pair *pair = pair_of(jobs, thread->stack, thread->of.site);
    if (!pair && jobs->pair_count < PAIRS) {
        if (!jobs->pairs)
            jobs->pairs = xfa_alloc(PAIRS * sizeof *jobs->pairs);
        pair = &jobs->pairs[jobs->pair_count++];
        pair->stack = thread->stack;
        pair->site = thread->of.site;
        pair->device = thread->device;
    }
    if (pair && pair->count < SAMPLES && thread->of.k < SAMPLES)
        pair->samples[pair->count++] =
            (struct sample){thread->of.k, stack_of(op), thread->end, op->start_ns};
}

static void note_took(struct jobs_site *site, const struct xfw_op *op)
{
    site->unknown += isnan(op->device_end_ns);
    if (op->duration_ns > XFW_CALLED_NS && site->took_count < SAMPLES)
        site->took[site->took_count++] = op->duration_ns;
}

/* Own time before the call, where it is not behind a wait that may be for a job, and not one of
 * several in a row. */
static void note_plain(struct xfw_jobs *jobs, const struct xfw_op *op)
{
    struct last *last = &jobs->calls[op->thread % THREADS];
    uint32_t stack = stack_of(op);
    struct plain *plain = plain_of(jobs, stack);
    bool known = last->thread == op->thread + 1 && !last->behind && last->stack != stack;
    if (known && stack && (!plain->count || plain->stack == stack)) {
        plain->stack = stack;
        plain->sum += op->gap_ns;
        plain->count++;
    }
    *last = (struct last){.thread = op->thread + 1, .stack = stack};
}

static void note_call(struct xfw_jobs *jobs, const struct xfw_op *op)
{
    struct stream *stream = xfa_table_put(&jobs->streams, &op->stream);
    double called = note_function(jobs, stream, op);
    struct jobs_site *site = isnan(called) ? NULL : &jobs->sites[stream->last.site];
    if (site) {
        stream->last.k = site->count++;
        if (stream->last.k < SAMPLES)
            site->called[stream->last.k] = called;
        note_took(site, op);
    }
    jobs->last = stream->last;
}

void xfw_jobs_note(struct xfw_jobs *jobs, const struct xfw_op *op)
{
    bool calls = op->what == XFW_HOST_FUNCTION && op->stream != XFW_NONE;
    note_plain(jobs, op);
    if (!jobs->sites && !calls)
        return;
    struct thread *thread = xfa_table_put(&jobs->threads, &op->thread);
    if (thread->of.number)
        add_sample(jobs, thread, op);
    note_thread(jobs, thread, op);
    jobs->calls[op->thread % THREADS].behind = thread->of.number > 0;
    if (calls)
        note_call(jobs, op);
    note_stream(jobs, op);
}

/* ---- what is believed ------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

/* The end of the thread's wait, if it waited: without its own work. */
static double until(struct xfw_jobs *jobs, const struct sample *sample)
{
    return sample->to - plain_ns(jobs, sample->next);
}

static bool may_have_waited(struct xfw_jobs *jobs, const struct sample *sample)
{
    return until(jobs, sample) - sample->from > guess.least_ns;
}

/* Behind which the thread made a call that it made nowhere else: how much of its time is its own is
 * not known. */
static void leave_out_unknown(struct xfw_jobs *jobs, struct pair *pair)
{
    unsigned left = 0;
    for (unsigned i = 0; i < pair->count; i++)
        if (is_plain(jobs, pair->samples[i].next))
            pair->samples[left++] = pair->samples[i];
    pair->count = left;
}

/* How long a job takes, by those that the thread has waited for, where it is known when they began:
 * when they were called, or when the one before was done. The mean of such as are alike, since jobs
 * behind each other add up what one is off. */
static double job_of(struct xfw_jobs *jobs, const struct pair *pair, unsigned *times)
{
    const struct jobs_site *site = &jobs->sites[pair->site];
    double ns[SAMPLES], sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < pair->count; i++) {
        const struct sample *sample = &pair->samples[i], *before = i ? sample - 1 : NULL;
        double began = site->called[sample->k];
        bool behind = before && before->k + 1 == sample->k;
        if (!may_have_waited(jobs, sample) || (sample->k > 0 && !behind))
            continue;
        if (behind && may_have_waited(jobs, before))
            began = xfw_max(began, until(jobs, before));
        else if (behind && before->from > began)
            continue;
        if (until(jobs, sample) > began)
            ns[count++] = until(jobs, sample) - began;
    }
    double usual = count ? median(ns, count) : 0;
    *times = 0;
    for (unsigned i = 0; i < count; i++) {
        bool alike = fabs(ns[i] - usual) <= guess.alike * usual;
        sum += alike ? ns[i] : 0;
        *times += alike;
    }
    return *times ? sum / *times : 0;
}

/* What is left of own time, in all, by such jobs: all of them end *later_ns behind that, since when
 * a function was called is not recorded. */
static double left_by_jobs(struct xfw_jobs *jobs, const struct pair *pair, double job_ns,
                           double *later_ns)
{
    const struct jobs_site *site = &jobs->sites[pair->site];
    double done[SAMPLES], later[SAMPLES], idle = 0, left = 0;
    unsigned times = 0;
    for (unsigned k = 0; k < site->count && k < SAMPLES; k++)
        done[k] = idle = xfw_max(idle, site->called[k]) + job_ns;
    for (unsigned i = 0; i < pair->count; i++)
        if (may_have_waited(jobs, &pair->samples[i]))
            later[times++] = until(jobs, &pair->samples[i]) - done[pair->samples[i].k];
    *later_ns = times ? median(later, times) : 0;
    for (unsigned i = 0; i < pair->count; i++) {
        const struct sample *sample = &pair->samples[i];
        double ends = xfw_max(sample->from, done[sample->k] + *later_ns);
        left += fabs(until(jobs, sample) - ends);
    }
    return left;
}

/* By how much later each wait ends than the one before, beyond what such jobs take: the second half
 * is compared with the first. */
static double drift(struct xfw_jobs *jobs, const struct pair *pair, double job_ns)
{
    const struct jobs_site *site = &jobs->sites[pair->site];
    unsigned half = pair->count / 2;
    double done[SAMPLES], idle = 0, sums[2] = {0, 0};
    for (unsigned k = 0; k < site->count && k < SAMPLES; k++)
        done[k] = idle = xfw_max(idle, site->called[k]) + job_ns;
    for (unsigned i = 0; i < 2 * half; i++)
        sums[i / half] += until(jobs, &pair->samples[i]) - done[pair->samples[i].k];
    return half ? (sums[1] - sums[0]) / half / half : 0;
}

/* The same by work that takes as long behind each wait. */
static double left_by_work(struct xfw_jobs *jobs, const struct pair *pair)
{
    double ns[SAMPLES], left = 0;
    for (unsigned i = 0; i < pair->count; i++)
        ns[i] = until(jobs, &pair->samples[i]) - pair->samples[i].from;
    double usual = median(ns, pair->count);
    for (unsigned i = 0; i < pair->count; i++)
        left += fabs(ns[i] - usual);
    return left;
}

/* Most of the site's functions do so, for half as long as the job would take. */
static bool works_itself(struct jobs_site *site, double job_ns)
{
    return 2 * site->took_count > site->count && 2 * median(site->took, site->took_count) > job_ns;
}

/* What jobs explain of a pair's own time. */
struct explained {
    bool believed;
    unsigned lag, times;
    double job_ns, later_ns, left;
};

static struct explained explain(struct xfw_jobs *jobs, const struct pair *pair)
{
    struct explained by = {.lag = pair->lag};
    by.job_ns = job_of(jobs, pair, &by.times);
    if (by.times < guess.least_times || works_itself(&jobs->sites[pair->site], by.job_ns))
        return by;
    by.left = left_by_jobs(jobs, pair, by.job_ns, &by.later_ns);
    double more_ns = drift(jobs, pair, by.job_ns), later_ns;
    double left_then = left_by_jobs(jobs, pair, by.job_ns + more_ns, &later_ns);
    if (left_then < by.left) {
        by.job_ns += more_ns;
        by.later_ns = later_ns;
        by.left = left_then;
    }
    by.believed =
        by.left <= left_by_work(jobs, pair) && by.left < guess.alike * by.job_ns * pair->count;
    return by;
}

/* Behind a wait for the device, which is for all functions, the job of an earlier one may be what
 * the thread needs: of a step before, in another stream. */
static void take_earlier(struct pair *pair)
{
    unsigned left = 0;
    for (unsigned i = 0; i < pair->count; i++) {
        struct sample sample = pair->samples[i];
        if (sample.k-- > 0)
            pair->samples[left++] = sample;
    }
    pair->count = left;
    pair->lag++;
}

static struct explained explain_best(struct xfw_jobs *jobs, const struct pair *pair)
{
    struct explained best = explain(jobs, pair);
    struct pair earlier = *pair;
    while (pair->device && earlier.lag < MOST_LAG) {
        take_earlier(&earlier);
        struct explained by = explain(jobs, &earlier);
        double less = guess.alike * by.job_ns; /* later ones of equal jobs explain as much */
        if (by.believed && (!best.believed || by.left + less < best.left))
            best = by;
    }
    return best;
}

bool xfw_jobs_decide(struct xfw_jobs *jobs)
{
    bool any = false;
    for (unsigned i = 0; i < jobs->pair_count; i++) {
        struct pair *pair = &jobs->pairs[i];
        struct jobs_site *site = &jobs->sites[pair->site];
        leave_out_unknown(jobs, pair);
        const struct explained by = explain_best(jobs, pair);
        if (!by.believed)
            continue;
        any = pair->believed = true;
        pair->later_ns = by.later_ns;
        pair->lag = by.lag;
        if (by.times > site->believed) {
            site->believed = by.times;
            site->job_ns = by.job_ns;
        }
    }
    for (unsigned i = 0; i < jobs->site_count; i++) {
        struct jobs_site *site = &jobs->sites[i];
        if (site->job_ns > 0 || site->took_count < guess.least_times || site->unknown == 0)
            continue;
        site->took_ns = median(site->took, site->took_count);
        any = true;
    }
    return any;
}

/* ---- once more ------------------------------------------------------------------------------- */

void xfw_jobs_again(struct xfw_jobs *jobs)
{
    end_course(jobs);
    begin_course(jobs);
}

/* Where nobody had to wait for it, it takes what is usual of its call site, as far as it was done
 * in time; one behind such in the driver's thread began when these were done. */
static void split_took(struct xfw_jobs *jobs, const struct stream *stream,
                       const struct jobs_site *site, struct xfw_op *op)
{
    double ready = xfw_max(op->start_ns, stream->end) + xfw_called_after(op);
    if (!isnan(op->device_end_ns)) {
        double start = xfw_max(op->device_start_ns, xfw_min(jobs->calls_idle, op->device_end_ns));
        op->duration_ns = xfw_max(0, op->duration_ns - (start - op->device_start_ns));
        op->device_start_ns = start;
    } else if (!isnan(op->done_ns)) {
        double start = xfw_max(ready, jobs->calls_idle);
        double took = xfw_min(site->took_ns, op->done_ns - start);
        if (took < XFW_CALLED_NS)
            return;
        op->engine = XFW_CALLS;
        op->exclusive = true;
        op->latency_ns = op->space_ns = xfw_called_after(op);
        op->device_start_ns = start;
        op->device_end_ns = start + took;
        op->duration_ns = took;
    }
    if (!isnan(op->device_end_ns))
        jobs->calls_idle = xfw_max(jobs->calls_idle, op->device_end_ns);
}

/* The function is called, and its job waits for its turn. */
static void split_function(struct xfw_jobs *jobs, struct xfw_op *op)
{
    struct stream *stream = xfa_table_put(&jobs->streams, &op->stream);
    const struct jobs_site *site = site_of(jobs, stack_of(op));
    if (site && site->took_ns > 0)
        split_took(jobs, stream, site, op);
    double called = note_function(jobs, stream, op);
    double job_ns = isnan(called) ? 0 : jobs->sites[stream->last.site].job_ns;
    if (job_ns > 0)
        stream->last.done = jobs->idle = xfw_max(jobs->idle, called) + job_ns;
    op->job_ns = job_ns;
    jobs->last = jobs->recent[jobs->called++ % RECENT] = stream->last;
}

/* The function of the last one's site that was called so many before it. */
static struct function earlier(const struct xfw_jobs *jobs, struct function last, unsigned lag)
{
    for (unsigned back = 1; back <= jobs->called && back <= RECENT; back++) {
        struct function function = jobs->recent[(jobs->called - back) % RECENT];
        if (function.site == last.site && lag-- == 0)
            return function;
    }
    return (struct function){0};
}

static void split_wait(const struct thread *thread, const struct pair *pair, struct xfw_op *op)
{
    double own_ns = op->start_ns - xfw_max(thread->end, thread->of.done + pair->later_ns);
    op->gap_ns = xfw_max(0, xfw_min(op->gap_ns, own_ns));
    op->woken_by = XFW_NONE;
    op->joins = op->within_call = false;
    op->woken_by_stream = thread->of.number;
    op->woken_after_ns = pair->later_ns;
    op->for_job = true;
}

void xfw_jobs_split(struct xfw_jobs *jobs, struct xfw_op *op)
{
    struct thread *thread = xfa_table_put(&jobs->threads, &op->thread);
    const struct pair *pair =
        thread->of.number ? pair_of(jobs, thread->stack, thread->of.site) : NULL;
    if (pair && pair->believed && thread->of.done > 0)
        split_wait(thread, pair, op);
    note_thread(jobs, thread, op);
    pair = thread->of.number ? pair_of(jobs, thread->stack, thread->of.site) : NULL;
    if (pair && pair->lag > 0)
        thread->of = earlier(jobs, thread->of, pair->lag);
    if (op->what == XFW_HOST_FUNCTION && op->stream != XFW_NONE)
        split_function(jobs, op);
    note_stream(jobs, op);
}
